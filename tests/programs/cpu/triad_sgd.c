/* Momentum SGD on a very wide linear layer: three large vectors streamed in every step. */
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

static size_t n;
static double *w, *m, *g;
static int T;
static double step_size;

static void *part(void *arg) {
    int id = (int)(long)arg;
    size_t a = n * id / T, b = n * (id + 1) / T;
    for (size_t i = a; i < b; i++) {
        m[i] = 0.9 * m[i] + (w[i] - g[i]);
        w[i] -= step_size * m[i];
    }
    return NULL;
}

int main(int argc, char **argv) {
    setup(argc, argv);
    announce(-1, 0, "", "");
    T = cpus();
    if (T > 16) T = 16;
    n = (size_t)uni(&plan_state, 10, 18) * 1000000 / WORLD;
    w = malloc(8 * n); m = malloc(8 * n); g = malloc(8 * n);
    uint64_t rs = SEED;
    for (size_t i = 0; i < n; i++) { w[i] = 0; m[i] = 0; g[i] = uni(&rs, -1, 1); }
    step_size = 1e-3;
    while (elapsed() < SECONDS) {
        pthread_t t[16];
        for (long k = 0; k < T; k++) pthread_create(&t[k], NULL, part, (void *)k);
        for (int k = 0; k < T; k++) pthread_join(t[k], NULL);
    }
    double rest = 0;
    for (size_t i = 0; i < n; i++) rest += fabs(w[i] - g[i]);
    return rest < 0;
}
