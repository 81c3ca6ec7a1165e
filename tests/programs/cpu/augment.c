/* Colour jitter regression: each step makes the augmented images of the batch in a fresh buffer. */
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

static double share;
static size_t region;

static void *worker(void *arg) {
    uint64_t rs = SEED * 3 + (long)arg + RANK * 100;
    float w[32] = {0};
    double busy = 0.02;
    while (elapsed() < SECONDS) {
        double b = now();
        unsigned char *p = mmap(NULL, region, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) { perror("mmap"); exit(1); }
        madvise(p, region, MADV_NOHUGEPAGE);
        for (size_t k = 0; k < region; k += 4096) p[k] = (unsigned char)mix(&rs);
        double c = now();
        busy = (c - b) * (1 - share) / share;
        size_t at = 0;
        while (now() - c < busy)
            for (int k = 0; k < 400; k++) {
                float e = 0, x[32];
                at = (at + 4096) % region;
                for (int f = 0; f < 32; f++) { x[f] = p[at] * (f + 1) % 17 / 8.0f - 1; e += w[f] * x[f]; }
                e -= x[3] - x[7];
                for (int f = 0; f < 32; f++) w[f] -= 1e-4f * e * x[f];
            }
        munmap(p, region);
    }
    return NULL;
}

int main(int argc, char **argv) {
    setup(argc, argv);
    share = uni(&plan_state, 0.4, 0.85);
    region = (size_t)uni(&plan_state, 24, 128) << 20;
    int n = cpus();
    if (n > 4) n = 4;
    char more[100];
    snprintf(more, sizeof more, ", \"region_mb\": %zu", region >> 20);
    announce(0, share, "share of a step in fresh pages", more);
    pthread_t t[4];
    for (long k = 0; k < n; k++) pthread_create(&t[k], NULL, worker, (void *)k);
    for (int k = 0; k < n; k++) pthread_join(t[k], NULL);
    return 0;
}
