/* Gradient boosting with histograms: stumps on binned features, squared loss. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static double t_start, SECONDS;
static long SEED;
static int RANK, WORLD = 1;
static const char *NAME, *SCRATCH;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static double elapsed(void) { return now() - t_start; }

static uint64_t plan_state;
static uint64_t mix(uint64_t *s) {
    uint64_t z = (*s += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}
static double uni(uint64_t *s, double a, double b) { return a + (b - a) * (mix(s) >> 11) / 9007199254740992.0; }

static int cpus(void) {
    const char *e = getenv("SLURM_CPUS_PER_TASK");
    if (e && atoi(e) > 0) return atoi(e);
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set)) return 1;
    int n = CPU_COUNT(&set) / WORLD;
    return n < 1 ? 1 : n;
}

static void setup(int argc, char **argv) {
    t_start = now();
    NAME = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    if (argc < 3) { fprintf(stderr, "usage: %s SECONDS SEED [SCRATCH_DIR]\n", NAME); exit(2); }
    SECONDS = atof(argv[1]);
    SEED = atol(argv[2]);
    SCRATCH = argc > 3 ? argv[3] : "/tmp";
    const char *p = getenv("SLURM_PROCID"), *n = getenv("SLURM_STEP_NUM_TASKS");
    if (!n || !*n) n = getenv("SLURM_NTASKS");
    if (p) { RANK = atoi(p); if (n && atoi(n) > 0) WORLD = atoi(n); }
    plan_state = (uint64_t)SEED * 7919 + 17;
    for (const char *c = NAME; *c; c++) plan_state = plan_state * 131 + (unsigned char)*c;
    mix(&plan_state);
    setvbuf(stdout, NULL, _IOLBF, 0);
}

/* begins < 0: nothing planned; more: further members, each with a leading comma */
static void announce(double begins, double strength, const char *unit, const char *more) {
    const char *path = getenv("TRUTH_FILE");
    if (!path || RANK) return;
    FILE *f = fopen(path, "a");
    if (!f) return;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    fprintf(f, "{\"program\": \"%s\", \"seed\": %ld, \"seconds\": %g, \"tasks\": %d, \"started_unix\": %.3f, ", NAME, SEED,
            SECONDS, WORLD, t.tv_sec + 1e-9 * t.tv_nsec - elapsed());
    if (begins < 0) fprintf(f, "\"fault_begins_seconds\": null, \"strength\": null");
    else fprintf(f, "\"fault_begins_seconds\": %.2f, \"strength\": %.3f", begins, strength);
    fprintf(f, ", \"strength_unit\": \"%s\"%s}\n", unit, more);
    fclose(f);
}

#define ROWS 60000
#define FEAT 24
#define BINS 64
static unsigned char X[FEAT][ROWS];
static float y[ROWS], pred[ROWS];

int main(int argc, char **argv) {
    setup(argc, argv);
    int have = cpus(), threads = 1;
    char more[100];
    snprintf(more, sizeof more, ", \"cpus_allotted\": %d", have);
    if (have > 1) announce(0, 1.0 - 1.0 / have, "share of the CPUs without work", more);
    else announce(-1, 0, "share of the CPUs without work", ", \"note\": \"needs two CPUs for the task\"");
    uint64_t rs = SEED;
    for (int i = 0; i < ROWS; i++) {
        double v = 0;
        for (int f = 0; f < FEAT; f++) { X[f][i] = mix(&rs) % BINS; v += (f % 5 - 2) * sin(X[f][i] * (0.05 + 0.01 * f)); }
        y[i] = v + uni(&rs, -1, 1);
    }
    printf("[info] %d rows, %d features, %d bins, num_threads=%d\n", ROWS, FEAT, BINS, threads);
    for (int tree = 1; elapsed() < SECONDS; tree++) {
        double best = 0, lv = 0, rv = 0;
        int bf = 0, bb = 0;
        for (int f = 0; f < FEAT; f++) {
            double s[BINS] = {0};
            int c[BINS] = {0};
            for (int rep = 0; rep < 3; rep++)
                for (int i = 0; i < ROWS; i++) { int k = X[f][i]; s[k] += y[i] - pred[i]; c[k]++; }
            double S = 0, L = 0;
            int C = 0, l = 0;
            for (int k = 0; k < BINS; k++) { S += s[k]; C += c[k]; }
            for (int k = 0; k < BINS - 1; k++) {
                L += s[k]; l += c[k];
                if (!l || l == C) continue;
                double gain = L * L / l + (S - L) * (S - L) / (C - l);
                if (gain > best) { best = gain; bf = f; bb = k; lv = L / l; rv = (S - L) / (C - l); }
            }
        }
        double loss = 0;
        for (int i = 0; i < ROWS; i++) {
            pred[i] += 0.03 * (X[bf][i] <= bb ? lv : rv);
            double e = y[i] - pred[i];
            loss += e * e;
        }
        if (tree % 20 == 0) printf("[%d] l2: %.5f\n", tree, loss / ROWS);
    }
    return 0;
}
