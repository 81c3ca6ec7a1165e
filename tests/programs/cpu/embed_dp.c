/* Skip-gram embeddings, data parallel, one table for all tasks. */
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

#define DIM 64
static float *table, *grad, *other;
static size_t rows;

int main(int argc, char **argv) {
    setup(argc, argv);
    size_t mb = (size_t)uni(&plan_state, 12, 64);
    if (WORLD > 1) announce(0, mb, "MB per task and step", "");
    else announce(-1, 0, "MB per task and step", ", \"note\": \"needs two tasks\"");
    rows = mb * 1000000 / (DIM * sizeof(float));
    size_t n = rows * DIM;
    table = malloc(n * sizeof(float));
    grad = calloc(n, sizeof(float));
    other = malloc(n * sizeof(float));
    uint64_t rs = SEED, ds = SEED * 3 + RANK;
    for (size_t i = 0; i < n; i++) table[i] = (mix(&rs) >> 40) * 1e-8f - 0.08f;
    connect_all();
    if (RANK == 0) printf("{\"event\": \"start\", \"world\": %d, \"vocabulary\": %zu, \"dim\": %d}\n", WORLD, rows, DIM);
    int vocab = 3000, step = 0, stop = 0;
    while (!stop) {
        double loss = 0;
        int pairs = 40000;
        for (int k = 0; k < pairs; k++) {
            size_t a = mix(&ds) % vocab, b = mix(&ds) % 4 ? (a ^ 1) : mix(&ds) % vocab;
            float y = b == (a ^ 1), z = 0;
            float *u = table + a * DIM, *v = table + b * DIM, *gu = grad + a * DIM, *gv = grad + b * DIM;
            for (int f = 0; f < DIM; f++) z += u[f] * v[f];
            float p = 1 / (1 + expf(-z)), d = p - y;
            loss -= logf((y ? p : 1 - p) + 1e-7f);
            for (int f = 0; f < DIM; f++) { gu[f] += d * v[f]; gv[f] += d * u[f]; }
        }
        stop = elapsed() > SECONDS;
        if (WORLD > 1) {
            size_t bytes = n * sizeof(float);
            if (RANK == 0) {
                for (int r = 1; r < WORLD; r++) {
                    read_all(peer_fd[r], other, bytes);
                    for (size_t i = 0; i < n; i++) grad[i] += other[i];
                }
                for (int r = 1; r < WORLD; r++) { write_all(peer_fd[r], &stop, sizeof stop); write_all(peer_fd[r], grad, bytes); }
            } else {
                write_all(peer_fd[0], grad, bytes);
                read_all(peer_fd[0], &stop, sizeof stop);
                read_all(peer_fd[0], grad, bytes);
            }
        }
        for (size_t i = 0; i < (size_t)vocab * DIM; i++) { table[i] -= 0.003f / WORLD * grad[i] + 2e-4f * table[i]; }
        memset(grad, 0, n * sizeof(float));
        step++;
        if (RANK == 0 && step % 10 == 0)
            printf("{\"event\": \"train\", \"step\": %d, \"loss\": %.4f, \"t\": %.1f}\n", step, loss / pairs, elapsed());
    }
    if (RANK == 0) printf("{\"event\": \"end\", \"step\": %d}\n", step);
    return 0;
}
