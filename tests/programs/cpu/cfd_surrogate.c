/* Surrogate model for a 2-D flow field: ridge features, SGD, gradients summed through a shared file. */
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

#define NF 256
struct shared {
    _Atomic uint32_t ready[64];
    double grad[64][NF + 1];
};

struct cell { double p, u, v; struct cell *left, *right; };

static double field(const struct cell *c) { return sin(3 * c->p) + 0.2 * c->left->u - 0.1 * c->right->v; }

static int wait_for(struct shared *sh, int r, uint32_t step, double limit) {
    double since = now();
    while (atomic_load(&sh->ready[r]) < step) {
        if (now() - since > limit) return -1;
        usleep(500);
    }
    return 0;
}

int main(int argc, char **argv) {
    setup(argc, argv);
    double at = SECONDS * uni(&plan_state, 0.2, 0.6);
    double limit = (SECONDS < 30 ? SECONDS / 30 : 1) * uni(&plan_state, 8, 20);
    int who = WORLD - 1;
    char more[100];
    snprintf(more, sizeof more, ", \"rank\": %d, \"other_gives_up_seconds\": %.2f", who, at + limit);
    announce(at, limit, "seconds the other waits", more);

    char path[4096];
    const char *j = getenv("SLURM_JOB_ID"), *s = getenv("SLURM_STEP_ID");
    snprintf(path, sizeof path, "%s/%s-%s.%s-%ld.shm", SCRATCH, NAME, j ? j : "0", s ? s : "0", SEED);
    if (RANK == 0) {
        char tmp[4200];
        snprintf(tmp, sizeof tmp, "%s.new", path);
        unlink(path);
        int fd = open(tmp, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || ftruncate(fd, sizeof(struct shared))) { perror(tmp); return 1; }
        close(fd);
        rename(tmp, path);
    }
    int fd = -1;
    usleep(RANK ? 300000 : 0);
    while ((fd = open(path, O_RDWR)) < 0 && elapsed() < 60) usleep(50000);
    if (fd < 0) { perror(path); return 1; }
    struct shared *sh = mmap(NULL, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (sh == MAP_FAILED) { perror("mmap"); return 1; }

    int n = 4096;
    struct cell *mesh = calloc(n, sizeof *mesh);
    uint64_t rs = SEED * 77 + RANK;
    for (int i = 0; i < n; i++) {
        mesh[i].p = uni(&rs, -2, 2); mesh[i].u = uni(&rs, -1, 1); mesh[i].v = uni(&rs, -1, 1);
        mesh[i].left = &mesh[(i + n - 1) % n]; mesh[i].right = &mesh[(i + 1) % n];
    }
    double w[NF] = {0}, freq[NF], ph[NF], lr = 1e-1;
    uint64_t fs = 5;
    for (int f = 0; f < NF; f++) { freq[f] = uni(&fs, -3, 3); ph[f] = uni(&fs, 0, 6.28); }
    uint32_t step = 0;
    double dt = 0;
    for (;;) {
        double g[NF + 1] = {0}, b = now();
        int count = 2000, refined = 0;
        for (int k = 0; k < count; k++) {
            int i = mix(&rs) % n;
            if (RANK == who && elapsed() > at && !refined) { mesh[i].left = NULL; refined = 1; }
            struct cell *c = &mesh[i];
            double phi[NF], y = 0, t = field(c);
            for (int f = 0; f < NF; f++) { phi[f] = cos(freq[f] * c->p + ph[f]); y += w[f] * phi[f]; }
            double e = y - t;
            g[NF] += e * e;
            for (int f = 0; f < NF; f++) g[f] += e * phi[f];
        }
        dt = now() - b;
        if (step) for (int r = 0; r < WORLD; r++)
            if (wait_for(sh, r, 2 * step, limit)) {
                fprintf(stderr, "[rank %d] step %u: no answer from rank %d for %.0f s, giving up\n", RANK, step, r, limit);
                return 1;
            }
        step++;
        memcpy(sh->grad[RANK], g, sizeof g);
        atomic_store(&sh->ready[RANK], 2 * step - 1);
        double sum[NF + 1] = {0};
        for (int r = 0; r < WORLD; r++) {
            if (wait_for(sh, r, 2 * step - 1, limit)) {
                fprintf(stderr, "[rank %d] step %u: no gradient from rank %d for %.0f s, giving up\n", RANK, step, r, limit);
                return 1;
            }
            for (int f = 0; f <= NF; f++) sum[f] += sh->grad[r][f];
        }
        atomic_store(&sh->ready[RANK], 2 * step);
        for (int f = 0; f < NF; f++) w[f] -= lr * sum[f] / (count * WORLD) / 400;
        if (step % 20 == 0 && RANK == 0)
            printf("step %u | loss %.4f | lr %.0e | %.1f ms\n", step, sum[NF] / (count * WORLD), lr, 1e3 * dt);
        if (elapsed() > SECONDS) break;
    }
    return 0;
}
