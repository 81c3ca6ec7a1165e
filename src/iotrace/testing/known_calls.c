// Makes calls whose number is known: known_calls WHAT FILE|DIRECTORY [COUNT [BYTES]]. Exits with 1 where a call does not do
// what it should, and says nothing: it runs under libbelay_io.so, which must not change what any of them does.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char* self;
static const char* path;
static long count = 1;
static long bytes = 4096;

#define EXPECT(what)           \
    do {                       \
        if (!(what)) _exit(1); \
    } while (0)

static char* buffer(void) {
    static __thread char* made;
    if (made == NULL) made = calloc(1, (size_t)bytes + 1);
    return made;
}

static void reads(void) {
    int fd = open(path, O_RDONLY);
    EXPECT(fd >= 0);
    for (long i = 0; i < count; ++i) EXPECT(read(fd, buffer(), (size_t)bytes) == bytes);
    EXPECT(close(fd) == 0);
}

// From behind to the beginning, so that none begins where the one before ended.
static void scattered(void) {
    int fd = open(path, O_RDONLY);
    EXPECT(fd >= 0);
    for (long i = count; i > 0; --i) EXPECT(pread(fd, buffer(), (size_t)bytes, i * bytes) == bytes);
    EXPECT(close(fd) == 0);
}

// Round and round the first 64 blocks of a file, as often as is asked for.
static void many_reads(void) {
    int fd = open(path, O_RDONLY);
    EXPECT(fd >= 0);
    for (long i = 0; i < count; ++i) EXPECT(pread(fd, buffer(), (size_t)bytes, i * 37 % 64 * bytes) == bytes);
    EXPECT(close(fd) == 0);
}

static void writes(void) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    EXPECT(fd >= 0);
    for (long i = 0; i < count; ++i) EXPECT(write(fd, buffer(), (size_t)bytes) == bytes);
    EXPECT(fsync(fd) == 0 && fdatasync(fd) == 0);
    EXPECT(close(fd) == 0);
}

// Of COUNT files 0, 1, 2 ... in the directory: each is looked at, read to its end and closed.
static void small_files(void) {
    char name[4096];
    struct stat facts;
    for (long i = 0; i < count; ++i) {
        snprintf(name, sizeof name, "%s/%ld", path, i % 64);
        EXPECT(stat(name, &facts) == 0);
        int fd = open(name, O_RDONLY);
        EXPECT(fd >= 0);
        while (read(fd, buffer(), (size_t)bytes) > 0) {
        }
        EXPECT(close(fd) == 0);
    }
}

static void make_small_files(void) {
    char name[4096];
    for (long i = 0; i < count; ++i) {
        snprintf(name, sizeof name, "%s/%ld", path, i);
        int fd = open(name, O_WRONLY | O_CREAT, 0600);
        EXPECT(fd >= 0 && write(fd, buffer(), (size_t)bytes) == bytes && close(fd) == 0);
    }
}

static void stream_reads(void) {
    FILE* stream = fopen(path, "r");
    EXPECT(stream != NULL);
    for (long i = 0; i < count; ++i) EXPECT(fread(buffer(), 1, (size_t)bytes, stream) == (size_t)bytes);
    EXPECT(fclose(stream) == 0);
}

static void stream_seeks(void) {
    FILE* stream = fopen(path, "r");
    EXPECT(stream != NULL);
    for (long i = count; i > 0; --i)
        EXPECT(fseek(stream, i * 2 * bytes, SEEK_SET) == 0 && fread(buffer(), (size_t)bytes, 1, stream) == 1);
    EXPECT(fclose(stream) == 0);
}

static void stream_writes(void) {
    FILE* stream = fopen(path, "w");
    EXPECT(stream != NULL);
    for (long i = 0; i < count; ++i) EXPECT(fwrite(buffer(), (size_t)bytes, 1, stream) == 1);
    EXPECT(fflush(stream) == 0 && fwrite(buffer(), 1, 1, stream) == 1 && fclose(stream) == 0);
}

static void missing(void) {
    struct stat facts;
    for (long i = 0; i < count; ++i) {
        EXPECT(stat(path, &facts) == -1 && errno == ENOENT);
        EXPECT(open(path, O_RDONLY) == -1 && errno == ENOENT);
        EXPECT(access(path, R_OK) == -1 && errno == ENOENT);
    }
}

static void in_children(void) {
    for (long i = 0; i < 4; ++i) {
        pid_t child = fork();
        EXPECT(child >= 0);
        if (child == 0) {
            reads();
            _exit(0);  // no destructor runs
        }
    }
    for (int i = 0; i < 4; ++i) {
        int status;
        EXPECT(wait(&status) > 0 && status == 0);
    }
}

static void become_reads(void) {
    char count_text[32], bytes_text[32];
    snprintf(count_text, sizeof count_text, "%ld", count);
    snprintf(bytes_text, sizeof bytes_text, "%ld", bytes);
    execl(self, self, "reads", path, count_text, bytes_text, (char*)NULL);
    _exit(1);
}

static void then_exec(void) {
    reads();
    become_reads();
}

static void in_vfork(void) {
    int fd = open(path, O_RDONLY);
    EXPECT(fd >= 0 && read(fd, buffer(), (size_t)bytes) == bytes);
    pid_t child = vfork();
    EXPECT(child >= 0);
    if (child == 0) {
        close(fd);
        dup2(1, 2);
        become_reads();
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
    EXPECT(read(fd, buffer(), (size_t)bytes) == bytes && close(fd) == 0);
}

static void* in_thread(void* unused) {
    reads();
    return unused;
}
static void in_threads(void) {
    pthread_t threads[100];  // more than there are slots
    for (int i = 0; i < 100; ++i) EXPECT(pthread_create(&threads[i], NULL, in_thread, NULL) == 0);
    for (int i = 0; i < 100; ++i) EXPECT(pthread_join(threads[i], NULL) == 0);
}

static void* read_from_pipe(void* ends) {
    char byte;
    return read(*(int*)ends, &byte, 1) == 1 ? NULL : ends;
}
// A thread that waits in a call can still be ended there: what stands between must be unwound.
static void cancelled(void) {
    int ends[2];
    pthread_t thread;
    void* result;
    EXPECT(pipe(ends) == 0 && pthread_create(&thread, NULL, read_from_pipe, ends) == 0);
    usleep(1000);
    EXPECT(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED);
    reads();
}

static volatile sig_atomic_t handled;
static int shared_fd;
static void read_in_handler(int unused) {
    char byte[2];
    (void)unused;
    if (pread(shared_fd, byte, 2, 0) == 2) ++handled;
}
// Prints how many reads handlers have made beside the COUNT of the program.
static void in_handlers(void) {
    struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};
    shared_fd = open(path, O_RDONLY);
    EXPECT(shared_fd >= 0);
    signal(SIGALRM, read_in_handler);
    EXPECT(setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (long i = 0; i < count; ++i) EXPECT(pread(shared_fd, buffer(), (size_t)bytes, 0) == bytes);
    EXPECT(setitimer(ITIMER_REAL, &never, NULL) == 0);
    signal(SIGALRM, SIG_IGN);
    printf("%ld\n", (long)handled);
}

static void close_all(void) {
    for (int fd = 0; fd < 1024; ++fd) close(fd);
    int fd = open(path, O_RDONLY);
    EXPECT(fd == 0);  // as without the library: it holds no descriptor
    EXPECT(read(fd, buffer(), (size_t)bytes) == bytes);
    EXPECT(close_range(0, ~0U, 0) == 0);
    EXPECT(read(fd, buffer(), 1) == -1 && errno == EBADF);
    reads();
}

static void killed(void) {
    reads();
    raise(SIGKILL);
}

// Nothing of this is a mistake: errno stays as it is where calls succeed, and is theirs where they fail.
static void keeps_errno(void) {
    struct stat facts;
    errno = EXDEV;
    int fd = open(path, O_RDONLY);
    EXPECT(fd >= 0 && read(fd, buffer(), 1) == 1 && fstat(fd, &facts) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    FILE* stream = fopen(path, "r");
    EXPECT(stream != NULL && fgetc(stream) >= 0 && fclose(stream) == 0);
    char text[] = "x";
    FILE* in_memory = fmemopen(text, 1, "r");
    EXPECT(in_memory != NULL && fclose(in_memory) == 0);
    EXPECT(close(fd) == 0 && errno == EXDEV);
    EXPECT(read(fd, buffer(), 1) == -1 && errno == EBADF);
    EXPECT(close(-1) == -1 && errno == EBADF);
    EXPECT(close(1 << 20) == -1 && errno == EBADF);
    EXPECT(lseek(-5, 0, SEEK_SET) == -1 && errno == EBADF);
    EXPECT(opendir(path) == NULL && errno == ENOTDIR);
    int ends[2];
    EXPECT(pipe(ends) == 0 && write(ends[1], "a", 1) == 1 && read(ends[0], buffer(), 1) == 1);
    EXPECT(lseek(ends[0], 0, SEEK_CUR) == -1 && errno == ESPIPE);
    char* volatile nowhere = (char*)1;
    EXPECT(open(nowhere, O_RDONLY) == -1 && errno == EFAULT);
    EXPECT(stat(nowhere, &facts) == -1 && errno == EFAULT);
    EXPECT(unlink(nowhere) == -1 && errno == EFAULT);
    EXPECT(access(nowhere, R_OK) == -1 && errno == EFAULT);
}

static double cpu_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}
// Prints NAME NANOSECONDS for a few calls: the CPU time of one in the fastest of COUNT rounds. For benchmarks/iotrace.
static void costs(void) {
    enum { kRead4k, kRead64, kOpenClose, kStat, kMissing, kKinds };
    static const char* const names[kKinds] = {"pread-4k", "pread-64", "open+close", "stat", "access-missing"};
    double best[kKinds] = {1e18, 1e18, 1e18, 1e18, 1e18};
    char missing_name[4096];
    struct stat facts;
    int fd = open(path, O_RDONLY);
    snprintf(missing_name, sizeof missing_name, "%s.missing", path);
    for (long round = 0; round < count; ++round)
        for (int kind = 0; kind < kKinds; ++kind) {
            const int calls = kind <= kRead64 ? 10000 : 3000;
            const double begin = cpu_nanoseconds();
            for (int i = 0; i < calls; ++i) {
                if (kind == kRead4k) EXPECT(pread(fd, buffer(), 4096, i % 64 * 4096) == 4096);
                if (kind == kRead64) EXPECT(pread(fd, buffer(), 64, i % 64 * 4096) == 64);
                if (kind == kOpenClose) EXPECT(close(open(path, O_RDONLY)) == 0);
                if (kind == kStat) EXPECT(stat(path, &facts) == 0);
                if (kind == kMissing) EXPECT(access(missing_name, R_OK) != 0);
            }
            const double each = (cpu_nanoseconds() - begin) / calls;
            if (each < best[kind]) best[kind] = each;
        }
    for (int kind = 0; kind < kKinds; ++kind) printf("%s %.1f\n", names[kind], best[kind]);
}

// Each call once, on two files in the directory.
static void every_call(void) {
    char data[16] = "0123456789abcde";
    struct iovec parts[2] = {{data, 4}, {data + 4, 4}};
    struct stat facts;
    struct statx extended;
    EXPECT(chdir(path) == 0);
    EXPECT(mkdir("made", 0700) == 0 && rmdir("made") == 0);
    int fd = creat("a", 0600);
    EXPECT(fd >= 0 && write(fd, data, 16) == 16 && pwrite(fd, data, 16, 16) == 16);
    EXPECT(writev(fd, parts, 2) == 8 && pwritev(fd, parts, 2, 40) == 8);
    EXPECT(fsync(fd) == 0 && close(fd) == 0);
    fd = openat(AT_FDCWD, "a", O_RDONLY);
    EXPECT(fd >= 0 && read(fd, data, 16) == 16 && pread(fd, data, 8, 16) == 8);
    EXPECT(lseek(fd, 24, SEEK_SET) == 24 && readv(fd, parts, 2) == 8 && preadv(fd, parts, 2, 0) == 8);
    EXPECT(stat("a", &facts) == 0 && lstat("a", &facts) == 0 && fstat(fd, &facts) == 0);
    EXPECT(fstatat(AT_FDCWD, "a", &facts, 0) == 0 && statx(AT_FDCWD, "a", 0, STATX_SIZE, &extended) == 0);
    EXPECT(access("a", R_OK) == 0 && faccessat(AT_FDCWD, "a", R_OK, 0) == 0);
    void* mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
    EXPECT(mapped != MAP_FAILED && munmap(mapped, 4096) == 0);
    int to = open("b", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    off_t from = 0;
    EXPECT(to >= 0 && copy_file_range(fd, &from, to, NULL, 48, 0) == 48 && fdatasync(to) == 0 && close(to) == 0);
    EXPECT(close(fd) == 0);
    DIR* directory = opendir(".");
    int entries = 0;
    EXPECT(directory != NULL);
    while (readdir(directory) != NULL) ++entries;
    EXPECT(entries == 4 && closedir(directory) == 0);
    EXPECT(rename("a", "c") == 0 && unlink("c") == 0 && unlinkat(AT_FDCWD, "b", 0) == 0);
}

static const struct {
    const char* name;
    void (*act)(void);
} kActs[] = {{"reads", reads},
             {"scattered", scattered},
             {"many-reads", many_reads},
             {"writes", writes},
             {"small-files", small_files},
             {"make-small-files", make_small_files},
             {"stream-reads", stream_reads},
             {"stream-seeks", stream_seeks},
             {"stream-writes", stream_writes},
             {"missing", missing},
             {"in-children", in_children},
             {"then-exec", then_exec},
             {"in-vfork", in_vfork},
             {"in-threads", in_threads},
             {"in-handlers", in_handlers},
             {"close-all", close_all},
             {"killed", killed},
             {"keeps-errno", keeps_errno},
             {"cancelled", cancelled},
             {"costs", costs},
             {"every-call", every_call}};

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    self = argv[0];
    path = argv[2];
    if (argc > 3) count = atol(argv[3]);
    if (argc > 4) bytes = atol(argv[4]);
    for (size_t i = 0; i < sizeof kActs / sizeof *kActs; ++i)
        if (strcmp(kActs[i].name, argv[1]) == 0) {
            kActs[i].act();
            return 0;
        }
    return 2;
}
