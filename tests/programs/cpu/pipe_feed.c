/* Streaming ridge regression; a reader thread per trainer hands over one block at a time. */
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

#define D 64
#define ROWS 2048
struct slot {
    _Atomic int full, stop;
    float x[ROWS][D], y[ROWS];
    int id;
    double loss;
    _Atomic long steps;
};
static double wait_s;
static int passes = 1;
static float truth[D];

static void pause_for(double s) {
    struct timespec t = {(time_t)s, (long)((s - (time_t)s) * 1e9)};
    nanosleep(&t, NULL);
}

static void *reader(void *arg) {
    struct slot *s = arg;
    uint64_t rs = SEED * 7 + s->id + RANK * 31;
    while (!atomic_load(&s->stop)) {
        pause_for(wait_s * uni(&rs, 0.8, 1.2));
        while (atomic_load(&s->full) && !atomic_load(&s->stop)) usleep(500);
        for (int r = 0; r < ROWS; r++) {
            float y = uni(&rs, -.3, .3);
            for (int f = 0; f < D; f++) { float v = (mix(&rs) >> 40) * (2.0f / (1 << 24)) - 1; s->x[r][f] = v; y += v * truth[f]; }
            s->y[r] = y;
        }
        atomic_store(&s->full, 1);
    }
    return NULL;
}

static void train(struct slot *s, float *w) {
    double loss = 0;
    for (int p = 0; p < passes; p++)
        for (int r = 0; r < ROWS; r++) {
            float e = -s->y[r];
            for (int f = 0; f < D; f++) e += w[f] * s->x[r][f];
            loss += e * e;
            for (int f = 0; f < D; f++) w[f] -= 3e-7f * e * s->x[r][f];
        }
    s->loss = loss / ROWS / passes;
}

static void *trainer(void *arg) {
    struct slot *s = arg;
    float w[D] = {0};
    while (elapsed() < SECONDS) {
        while (!atomic_load_explicit(&s->full, memory_order_acquire))
            if (atomic_load(&s->stop)) return NULL;
        train(s, w);
        atomic_fetch_add(&s->steps, 1);
        atomic_store(&s->full, 0);
    }
    return NULL;
}

int main(int argc, char **argv) {
    setup(argc, argv);
    double share = uni(&plan_state, 0.4, 0.9);
    wait_s = uni(&plan_state, 0.04, 0.2);
    char more[100];
    snprintf(more, sizeof more, ", \"reader_seconds\": %.3f", wait_s);
    announce(0, share, "share of a step spent spinning", more);
    int n = cpus();
    if (n > 8) n = 8;
    struct slot *s = calloc(n, sizeof *s);
    uint64_t rs = SEED;
    for (int f = 0; f < D; f++) truth[f] = uni(&rs, -1, 1);
    float probe[D] = {0};
    double b = now();
    for (int k = 0; k < 20; k++) train(s, probe);
    passes = (int)(wait_s * (1 - share) / share / ((now() - b) / 20)) + 1;
    pthread_t rt[8], tt[8];
    for (int k = 0; k < n; k++) {
        s[k].id = k;
        pthread_create(&rt[k], NULL, reader, &s[k]);
        pthread_create(&tt[k], NULL, trainer, &s[k]);
    }
    while (elapsed() < SECONDS) {
        pause_for(1);
        long steps = 0;
        for (int k = 0; k < n; k++) steps += atomic_load(&s[k].steps);
        printf("%6.1f s: %ld blocks, loss %.4f\n", elapsed(), steps, s[0].loss);
    }
    for (int k = 0; k < n; k++) atomic_store(&s[k].stop, 1);
    for (int k = 0; k < n; k++) { pthread_join(rt[k], NULL); pthread_join(tt[k], NULL); }
    return 0;
}
