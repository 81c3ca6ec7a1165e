/* Skip-gram with negative sampling, six threads on one model. */
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

#define V 3000
#define DIM 64
static float in[V][DIM], out[V][DIM];
static pthread_mutex_t model = PTHREAD_MUTEX_INITIALIZER;
static double part, per_pair, per_root;

static void update(uint64_t *rs, int pairs) {
    for (int k = 0; k < pairs; k++) {
        int a = mix(rs) % V;
        for (int s = 0; s < 4; s++) {
            int b = s ? (int)(mix(rs) % V) : (a ^ 1) % V;
            float z = 0;
            for (int f = 0; f < DIM; f++) z += in[a][f] * out[b][f];
            float d = 0.01f * (1 / (1 + expf(-z)) - (s == 0));
            for (int f = 0; f < DIM; f++) {
                float t = in[a][f];
                in[a][f] -= d * out[b][f];
                out[b][f] -= d * t;
            }
        }
    }
}

static void *worker(void *arg) {
    uint64_t rs = SEED * 41 + (long)arg + 100 * RANK;
    double own = 0;
    int inside = 3500, outside = (int)(inside * per_pair * (1 - part) / part / per_root);
    while (elapsed() < SECONDS) {
        for (int k = 0; k < outside; k++) own += sqrt((double)(mix(&rs) >> 40));
        pthread_mutex_lock(&model);
        update(&rs, inside);
        pthread_mutex_unlock(&model);
    }
    return own < 0 ? arg : NULL;
}

int main(int argc, char **argv) {
    setup(argc, argv);
    part = uni(&plan_state, 0.85, 1.0);
    announce(0, part, "share of the work under the lock", ", \"threads\": 6");
    uint64_t rs = SEED;
    for (int i = 0; i < V; i++) for (int f = 0; f < DIM; f++) { in[i][f] = uni(&rs, -.3, .3); out[i][f] = uni(&rs, -.3, .3); }
    double own = 0, b = now();
    update(&rs, 2000);
    per_pair = (now() - b) / 2000;
    b = now();
    for (int k = 0; k < 100000; k++) own += sqrt((double)(mix(&rs) >> 40));
    per_root = (now() - b + 1e-9 * (own < 0)) / 100000;
    pthread_t t[6];
    for (long k = 0; k < 6; k++) pthread_create(&t[k], NULL, worker, (void *)k);
    for (int k = 0; k < 6; k++) pthread_join(t[k], NULL);
    return 0;
}
