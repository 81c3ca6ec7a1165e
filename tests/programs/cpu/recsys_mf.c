/* Matrix factorisation by local SGD; every task goes once over its part of the ratings, then the factors are averaged. */
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

static int peer_fd[64];
static void read_all(int fd, void *p, size_t n) {
    char *c = p;
    while (n) {
        ssize_t k = read(fd, c, n);
        if (k <= 0) { fprintf(stderr, "[rank %d] peer closed the connection\n", RANK); exit(1); }
        c += k; n -= k;
    }
}
static void write_all(int fd, const void *p, size_t n) {
    const char *c = p;
    while (n) {
        ssize_t k = write(fd, c, n);
        if (k <= 0) { fprintf(stderr, "[rank %d] send: %s\n", RANK, strerror(errno)); exit(1); }
        c += k; n -= k;
    }
}
static void connect_all(void) {
    if (WORLD == 1) return;
    signal(SIGPIPE, SIG_IGN);
    char path[4096], tmp[4200];
    const char *j = getenv("SLURM_JOB_ID"), *s = getenv("SLURM_STEP_ID");
    snprintf(path, sizeof path, "%s/%s-%s.%s-%ld.addr", SCRATCH, NAME, j ? j : "0", s ? s : "0", SEED);
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;
    int one = 1;
    if (RANK == 0) {
        int srv = socket(AF_INET, SOCK_STREAM, 0);
        if (bind(srv, (void *)&a, sizeof a) || listen(srv, WORLD)) { perror("listen"); exit(1); }
        getsockname(srv, (void *)&a, &len);
        snprintf(tmp, sizeof tmp, "%s.tmp", path);
        FILE *f = fopen(tmp, "w");
        if (!f) { perror(tmp); exit(1); }
        fprintf(f, "%d\n", ntohs(a.sin_port));
        fclose(f);
        rename(tmp, path);
        for (int i = 1; i < WORLD; i++) {
            int fd = accept(srv, NULL, NULL), r;
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
            read_all(fd, &r, sizeof r);
            peer_fd[r] = fd;
        }
        unlink(path);
        close(srv);
    } else {
        for (;;) {
            int port = 0;
            FILE *f = fopen(path, "r");
            if (f) { if (fscanf(f, "%d", &port) != 1) port = 0; fclose(f); }
            if (port) {
                int fd = socket(AF_INET, SOCK_STREAM, 0);
                a.sin_port = htons(port);
                if (!connect(fd, (void *)&a, sizeof a)) { peer_fd[0] = fd; break; }
                close(fd);
            }
            if (elapsed() > 120) { fprintf(stderr, "[rank %d] no rendezvous\n", RANK); exit(1); }
            usleep(50000);
        }
        setsockopt(peer_fd[0], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        write_all(peer_fd[0], &RANK, sizeof RANK);
    }
}

#define USERS 4000
#define ITEMS 2000
#define F 32
static double P[USERS][F], Q[ITEMS][F];
static double TU[USERS][4], TI[ITEMS][4];

struct part { double until; int id; double sse; long n; };

static void *work(void *arg) {
    struct part *p = arg;
    uint64_t rs = SEED * 1009 + RANK * 97 + p->id;
    p->sse = 0; p->n = 0;
    do {
        for (int k = 0; k < 2000; k++) {
            int u = mix(&rs) % USERS, i = mix(&rs) % ITEMS;
            double r = uni(&rs, -0.3, 0.3), y = 0;
            for (int f = 0; f < 4; f++) r += TU[u][f] * TI[i][f];
            for (int f = 0; f < F; f++) y += P[u][f] * Q[i][f];
            double e = y - r;
            for (int f = 0; f < F; f++) {
                double a = P[u][f], b = Q[i][f];
                P[u][f] -= 0.0008 * (e * b + 0.01 * a);
                Q[i][f] -= 0.0008 * (e * a + 0.01 * b);
            }
            p->sse += e * e; p->n++;
        }
    } while (elapsed() < p->until);
    return NULL;
}

int main(int argc, char **argv) {
    setup(argc, argv);
    double ratio = uni(&plan_state, 1.5, 2.5), whole = SECONDS - 0.5;
    int heavy = WORLD > 1 ? (int)(mix(&plan_state) % WORLD) : 0;
    char more[100];
    snprintf(more, sizeof more, ", \"rank\": %d", heavy);
    if (WORLD > 1) announce(whole / ratio, ratio, "data of that rank / of the others", more);
    else announce(-1, 0, "data of one rank / of the others", ", \"note\": \"needs two tasks\"");
    double mine = RANK == heavy ? whole : whole / ratio;
    connect_all();
    uint64_t rs = SEED;
    for (int u = 0; u < USERS; u++) for (int f = 0; f < F; f++) { P[u][f] = uni(&rs, -.45, .45); if (f < 4) TU[u][f] = uni(&rs, -1, 1); }
    for (int i = 0; i < ITEMS; i++) for (int f = 0; f < F; f++) { Q[i][f] = uni(&rs, -.45, .45); if (f < 4) TI[i][f] = uni(&rs, -1, 1); }
    int n = cpus(), block = 0;
    if (n > 16) n = 16;
    double len = 0.9;
    while (elapsed() < mine) {
        pthread_t t[16];
        struct part p[16];
        double until = elapsed() + len;
        if (until > mine) until = mine;
        for (int k = 0; k < n; k++) { p[k] = (struct part){until, k, 0, 0}; pthread_create(&t[k], NULL, work, &p[k]); }
        double sse = 0; long cnt = 0;
        for (int k = 0; k < n; k++) { pthread_join(t[k], NULL); sse += p[k].sse; cnt += p[k].n; }
        printf("[rank %d] block %d rmse %.4f (%ld ratings)\n", RANK, ++block, sqrt(sse / cnt), cnt);
    }
    if (WORLD > 1) {
        size_t bytes = sizeof P;
        if (RANK == 0) {
            double *o = malloc(bytes);
            for (int r = 1; r < WORLD; r++) {
                read_all(peer_fd[r], o, bytes);
                for (int u = 0; u < USERS; u++) for (int f = 0; f < F; f++) P[u][f] += o[u * F + f];
            }
            for (int u = 0; u < USERS; u++) for (int f = 0; f < F; f++) P[u][f] /= WORLD;
            for (int r = 1; r < WORLD; r++) write_all(peer_fd[r], P, bytes);
        } else {
            write_all(peer_fd[0], P, bytes);
            read_all(peer_fd[0], P, bytes);
        }
    }
    printf("[rank %d] factors averaged over %d task(s), done\n", RANK, WORLD);
    return 0;
}
