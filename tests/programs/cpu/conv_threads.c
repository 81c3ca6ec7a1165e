/* Convolution filters learned on random images, rows of the image split over the threads. */
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

#define S 256
#define KS 5
static float img[S][S], want[S][S], ker[KS][KS], truth[KS][KS];
static float gsum[64][KS * KS];
static double lsum[64];
static int T;
static _Atomic int stop;
static pthread_barrier_t gate;

static void conv_rows(int id) {
    float g[KS * KS] = {0};
    double l = 0;
    for (int rep = 0; rep < 8; rep++)
        for (int y = KS + id; y < S - KS; y += T)
            for (int x = KS; x < S - KS; x++) {
                float v = 0;
                for (int a = 0; a < KS; a++) for (int b = 0; b < KS; b++) v += ker[a][b] * img[y + a][x + b];
                float e = v - want[y][x];
                l += e * e;
                for (int a = 0; a < KS; a++) for (int b = 0; b < KS; b++) g[a * KS + b] += e * img[y + a][x + b];
            }
    memcpy(gsum[id], g, sizeof g);
    lsum[id] = l / 8;
}

static void *worker(void *arg) {
    int id = (int)(long)arg;
    for (;;) {
        pthread_barrier_wait(&gate);
        if (atomic_load(&stop)) return NULL;
        conv_rows(id);
        pthread_barrier_wait(&gate);
    }
}

int main(int argc, char **argv) {
    setup(argc, argv);
    int choice[] = {6, 8, 12, 16, 16, 16, 24};
    T = choice[mix(&plan_state) % 7];
    announce(0, T, "threads", "");
    uint64_t rs = SEED;
    for (int a = 0; a < KS; a++) for (int b = 0; b < KS; b++) truth[a][b] = uni(&rs, -1, 1);
    pthread_barrier_init(&gate, NULL, T + 1);
    pthread_t t[64];
    for (long k = 0; k < T; k++) pthread_create(&t[k], NULL, worker, (void *)k);
    double mark = now();
    for (int step = 1;; step++) {
        if (step % 10 == 1) for (int y = 0; y < S; y++) for (int x = 0; x < S; x++) img[y][x] = uni(&rs, -1, 1);
        if (step % 10 == 1) for (int y = 0; y < S - KS; y++) for (int x = 0; x < S - KS; x++) {
            float v = uni(&rs, -.3, .3);
            for (int a = 0; a < KS; a++) for (int b = 0; b < KS; b++) v += truth[a][b] * img[y + a][x + b];
            want[y][x] = v;
        }
        if (elapsed() > SECONDS) atomic_store(&stop, 1);
        pthread_barrier_wait(&gate);
        if (atomic_load(&stop)) break;
        pthread_barrier_wait(&gate);
        double l = 0;
        for (int k = 0; k < T; k++) {
            l += lsum[k];
            for (int q = 0; q < KS * KS; q++) ker[q / KS][q % KS] -= 2e-4f * gsum[k][q] / (S * S);
        }
        if (step % 50 == 0) {
            printf("step %d | loss %.4f | %d threads | %.1f ms/step\n", step, l / ((S - 2 * KS) * (S - 2 * KS)), T, 20 * (now() - mark));
            mark = now();
        }
    }
    for (int k = 0; k < T; k++) pthread_join(t[k], NULL);
    return 0;
}
