/* Tabular Q-learning on a grid, several actors. */
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

#define G 64
static double Q[G * G][4];
struct job { int id, count; double len; };

static int move(int s, int a) {
    int x = s % G, y = s / G;
    if (a == 0 && x < G - 1) x++; else if (a == 1 && y < G - 1) y++; else if (a == 2 && x > 0) x--; else if (a == 3 && y > 0) y--;
    return y * G + x;
}

static void *actor(void *arg) {
    struct job *j = arg;
    uint64_t rs = SEED * 19 + j->id * 7919 + (uint64_t)(elapsed() * 1e6);
    long steps = 0;
    for (int e = 0; e < j->count; e++) {
        int s = mix(&rs) % (G * G);
        for (int k = 0; k < 400 && s != G * G - 1; k++, steps++) {
            int a = 0;
            if (uni(&rs, 0, 1) < 0.15) a = mix(&rs) % 4;
            else for (int b = 1; b < 4; b++) if (Q[s][b] > Q[s][a]) a = b;
            int t = move(s, a);
            double m = Q[t][0];
            for (int b = 1; b < 4; b++) if (Q[t][b] > m) m = Q[t][b];
            Q[s][a] += 0.02 * ((t == G * G - 1 ? 10 : -0.05) + 0.99 * m - Q[s][a]);
            s = t;
        }
    }
    j->len = (double)steps / j->count;
    return NULL;
}

int main(int argc, char **argv) {
    setup(argc, argv);
    double total = uni(&plan_state, 40, 130) / WORLD, begins = SECONDS * uni(&plan_state, 0, 0.5), printed = 0;
    char more[100];
    snprintf(more, sizeof more, ", \"total_mb\": %.0f", total);
    announce(begins, total / (SECONDS - begins), "MB of output per second", more);
    static char buf[1 << 16];
    setvbuf(stdout, buf, _IOFBF, sizeof buf);
    int n = cpus(), iter = 0;
    if (n > 16) n = 16;
    uint64_t rs = SEED + 5;
    while (elapsed() < SECONDS) {
        pthread_t t[16];
        struct job j[16];
        for (int k = 0; k < n; k++) { j[k] = (struct job){k, 1500, 0}; pthread_create(&t[k], NULL, actor, &j[k]); }
        double len = 0;
        for (int k = 0; k < n; k++) { pthread_join(t[k], NULL); len += j[k].len / n; }
        iter++;
        double due = total * 1e6 * (elapsed() - begins) / (SECONDS - begins);
        while (printed < due) {
            int s = mix(&rs) % (G * G), a = mix(&rs) % 4, u = move(s, a);
            printed += printf("DEBUG transition s=(%d,%d) a=%d s'=(%d,%d) q=[%.6f %.6f %.6f %.6f]\n", s % G, s / G, a, u % G, u / G,
                              Q[s][0], Q[s][1], Q[s][2], Q[s][3]);
        }
        if (iter % 20 == 0) { printf("iter %d mean_episode_length %.2f\n", iter, len); fflush(stdout); }
    }
    printf("finished %d iterations\n", iter);
    return 0;
}
