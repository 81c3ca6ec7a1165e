/* node2vec: biased walks on a random graph, skip-gram on the walks; walks are kept for later epochs. */
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

#define N 4000
#define DEG 8
#define DIM 48
static int nb[N][DEG];
static float emb[N][DIM], ctx[N][DIM];
struct walk { struct walk *next; int len; int v[]; };
struct job { int id; double until, loss; long n; };

static void *work(void *arg) {
    struct job *j = arg;
    uint64_t rs = SEED * 131 + RANK * 17 + j->id + (uint64_t)(j->until * 1000) * 977;
    while (elapsed() < j->until) {
        int v = mix(&rs) % N;
        for (int k = 0; k < 200; k++) {
            int u = nb[v][mix(&rs) % DEG];
            for (int s = 0; s < 3; s++) {
                int t = s ? (int)(mix(&rs) % N) : u;
                float z = 0, y = s == 0;
                for (int f = 0; f < DIM; f++) z += emb[v][f] * ctx[t][f];
                float p = 1 / (1 + expf(-z)), d = 0.004f * (p - y);
                j->loss -= logf((y > 0 ? p : 1 - p) + 1e-7f);
                j->n++;
                for (int f = 0; f < DIM; f++) {
                    float a = emb[v][f];
                    emb[v][f] -= d * ctx[t][f];
                    ctx[t][f] -= d * a;
                }
            }
            v = u;
        }
    }
    return NULL;
}

static struct walk *store;
static size_t kept;

static void keep(size_t bytes, uint64_t *rs) {
    while (bytes > 65536) {
        struct walk *w = malloc(sizeof *w + 65536);
        if (!w) { perror("malloc"); exit(1); }
        w->next = store;
        w->len = 65536 / sizeof(int);
        int v = mix(rs) % N;
        for (int k = 0; k < w->len; k++) w->v[k] = (v + 7 * k) & 4095;
        store = w;
        kept += 65536;
        bytes -= 65536;
    }
}

int main(int argc, char **argv) {
    setup(argc, argv);
    double at = SECONDS * uni(&plan_state, 0.35, 0.85), mb = uni(&plan_state, 300, 1400) / WORLD;
    char more[100];
    snprintf(more, sizeof more, ", \"killed_seconds\": %.2f, \"final_mb\": %.0f", at, mb);
    announce(0.3, mb / at, "MB per second", more);
    uint64_t rs = SEED;
    for (int i = 0; i < N; i++) {
        for (int d = 0; d < DEG; d++) nb[i][d] = d < 6 ? (i / 40 * 40 + (int)(mix(&rs) % 40)) % N : (int)(mix(&rs) % N);
        for (int f = 0; f < DIM; f++) { emb[i][f] = uni(&rs, -.3, .3); ctx[i][f] = uni(&rs, -.3, .3); }
    }
    int n = cpus(), step = 0;
    if (n > 16) n = 16;
    while (elapsed() < SECONDS) {
        pthread_t t[16];
        struct job j[16];
        double until = elapsed() + 0.08, loss = 0;
        long cnt = 0;
        for (int k = 0; k < n; k++) { j[k] = (struct job){k, until, 0, 0}; pthread_create(&t[k], NULL, work, &j[k]); }
        for (int k = 0; k < n; k++) { pthread_join(t[k], NULL); loss += j[k].loss; cnt += j[k].n; }
        double due = mb * 1e6 * elapsed() / at;
        if (due > kept) keep(due - kept, &rs);
        step++;
        if (step % 20 == 0) printf("iter %d  loss %.4f  %.1fk pairs/s\n", step, loss / cnt, cnt / 80.0);
        if (kept + 200000 > mb * 1e6) kill(getpid(), SIGKILL);
    }
    return 0;
}
