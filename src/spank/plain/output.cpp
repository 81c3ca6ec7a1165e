#include "spank/plain/output.h"

#include "spank/plain/packet.h"
#include "spank/plain/words.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::spank {

namespace {

constexpr int64_t kForEver = INT64_MAX;
constexpr int64_t kGraceMilliseconds = 2000;

struct Program {
    pid_t pid;
    int ended;   // readable when it has ended; -1 on old kernels
    int output;  // what it prints
};

// Readable while a signal that ends programs is blocked and waits: it is left where it is.
int open_interruptions() {
    sigset_t signals;
    sigemptyset(&signals);
    for (int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM}) sigaddset(&signals, signal);
    return signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

bool is_interrupted(int interruptions) {
    pollfd look{.fd = interruptions, .events = POLLIN, .revents = 0};
    return poll(&look, 1, 0) == 1;
}

[[noreturn]] void become(const char* program, char** arguments, int output, pid_t parent) {
    dup2(output, STDOUT_FILENO);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(1);  // it ended before the prctl
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    if (char** variables = program_environment(environ, nullptr)) execve(program, arguments, variables);
    fprintf(stderr, "belay: %s: %s\n", program, strerror(errno));
    _exit(127);
}

bool start(const char* program, char** arguments, Program& started) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        perror("belay: cannot make a pipe");
        return false;
    }
    pid_t parent = getpid();
    pid_t child = fork();
    if (child == 0) become(program, arguments, ends[1], parent);
    close(ends[1]);
    if (child < 0) {
        perror("belay: cannot fork");
        close(ends[0]);
        return false;
    }
    started = {child, static_cast<int>(syscall(SYS_pidfd_open, child, 0)), ends[0]};
    return true;
}

// False if it is interrupted, or the time is over, before there is something to read from `fd`, which may be
// -1: then it waits a moment. False as well where it cannot wait, and then it has said why.
bool wait_for(int fd, int interruptions, int64_t give_up) {
    for (;;) {
        int64_t left = give_up == kForEver ? -1 : give_up - monotonic_milliseconds();
        if (give_up != kForEver && left <= 0) return false;
        if (fd < 0) left = 10;
        pollfd waiting[] = {{.fd = interruptions, .events = POLLIN, .revents = 0},
                            {.fd = fd, .events = POLLIN, .revents = 0}};
        int ready = poll(waiting, 2, static_cast<int>(left));
        if (waiting[0].revents != 0) return false;
        if (ready > 0 || (ready == 0 && fd < 0)) return true;
        if (ready < 0 && errno != EINTR) {
            perror("belay: cannot wait for a program");
            return false;
        }
    }
}

// Reads to the end, also what is beyond the limit: who writes into a pipe that nobody reads is killed. False
// if it is interrupted, or if that fails, and then it has said why.
bool read_to_end(int fd, int interruptions, char* text, size_t limit, size_t& length) {
    length = 0;
    while (wait_for(fd, interruptions, kForEver)) {
        char dropped[4096];
        ssize_t size =
            length < limit ? read(fd, text + length, limit - length) : read(fd, dropped, sizeof dropped);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) perror("belay: cannot read the output of a program");
        if (size <= 0) return size == 0;
        length += static_cast<size_t>(size);
    }
    return false;
}

enum End { kEnded, kNotYet, kUnknown };

End wait_for_end(const Program& program, int interruptions, int64_t give_up, int& status) {
    for (;;) {
        pid_t ended = waitpid(program.pid, &status, WNOHANG);
        if (ended == program.pid) return kEnded;
        if (ended < 0 && errno != EINTR) return kUnknown;  // somebody ignores SIGCHLD
        if (ended == 0 && !wait_for(program.ended, interruptions, give_up)) return kNotYet;
    }
}

// What does not even end by SIGKILL, since a file system does not answer, is left to itself.
void end(const Program& program) {
    int status = 0;
    for (int signal : {SIGTERM, SIGKILL}) {
        kill(program.pid, signal);
        if (wait_for_end(program, -1, monotonic_milliseconds() + kGraceMilliseconds, status) != kNotYet)
            return;
    }
    fprintf(stderr, "belay: process %d does not end; is a file system hanging?\n", program.pid);
}

bool has_succeeded(const char* name, const Program& program, int interruptions) {
    int status = 0;
    switch (wait_for_end(program, interruptions, kForEver, status)) {
        case kEnded:
            if (WIFSIGNALED(status) && !is_interrupted(interruptions))
                fprintf(stderr, "belay: %s: ended by signal %d\n", name, WTERMSIG(status));
            return WIFEXITED(status) && WEXITSTATUS(status) == 0;
        case kUnknown:
            fprintf(stderr, "belay: %s: its end was not seen\n", name);
            return false;
        case kNotYet:
            break;
    }
    end(program);
    return false;
}

}  // namespace

char* output_of(const char* name, char** arguments, size_t limit, size_t& length) {
    length = 0;
    char* text = static_cast<char*>(malloc(limit + 1));
    Program program{};
    if (text == nullptr) fprintf(stderr, "belay: no memory\n");
    if (text == nullptr || !start(name, arguments, program)) {
        free(text);
        return nullptr;
    }
    int interruptions = open_interruptions();
    bool good = read_to_end(program.output, interruptions, text, limit, length);
    close(program.output);
    if (good)
        good = has_succeeded(name, program, interruptions);
    else
        end(program);
    if (!good && is_interrupted(interruptions)) fprintf(stderr, "belay: interrupted\n");
    for (int fd : {program.ended, interruptions})
        if (fd >= 0) close(fd);
    if (!good) length = 0;
    if (!good || length > limit) {
        free(text);
        return nullptr;
    }
    text[length] = '\0';
    return text;
}

}  // namespace belay::spank
