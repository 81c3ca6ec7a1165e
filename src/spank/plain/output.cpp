#include "spank/plain/output.h"

#include "spank/plain/words.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::spank {

namespace {

char* read_all(int fd, size_t limit) {
    char* text = static_cast<char*>(malloc(limit + 1));
    size_t length = 0;
    while (text != nullptr && length <= limit) {
        ssize_t size = read(fd, text + length, limit + 1 - length);
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) break;
        length += static_cast<size_t>(size);
    }
    if (text == nullptr || length > limit) {
        free(text);
        return nullptr;
    }
    text[length] = '\0';
    return text;
}

}  // namespace

char* output_of(const char* program, char** arguments, size_t limit) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        perror("belay: cannot make a pipe");
        return nullptr;
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        // srun blocks signals at this time, and must not be waited for longer than it lives.
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        sigset_t none;
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, nullptr);
        if (char** variables = program_environment(environ, nullptr)) execve(program, arguments, variables);
        fprintf(stderr, "belay: %s: %s\n", program, strerror(errno));
        _exit(127);
    }
    close(ends[1]);
    char* text = child < 0 ? nullptr : read_all(ends[0], limit);
    close(ends[0]);
    if (child < 0) {
        perror("belay: cannot fork");
        return nullptr;
    }
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (status < 0) {  // somebody ignores SIGCHLD: how it ended is not known
        fprintf(stderr, "belay: %s: its end was not seen\n", program);
        free(text);
        return nullptr;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        if (text == nullptr)
            fprintf(stderr, "belay: the plan of the step is longer than %zu KiB\n", limit >> 10);
        return text;
    }
    if (WIFSIGNALED(status)) fprintf(stderr, "belay: %s: ended by signal %d\n", program, WTERMSIG(status));
    free(text);
    return nullptr;
}

}  // namespace belay::spank
