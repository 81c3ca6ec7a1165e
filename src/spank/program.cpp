// Finding and running belay-step.
#include "spank/plugin.h"
#include "spank/wire.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::spank {

namespace {

// From lib/ of a build, lib/slurm/ and lib/MULTIARCH/slurm/ of an installation to bin/.
constexpr const char* kProgramPlaces[] = {"../bin/belay-step", "../../bin/belay-step",
                                          "../../../bin/belay-step"};

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

char* joined(const char* first, const char* second) {
    size_t size = strlen(first) + strlen(second) + 1;
    char* text = static_cast<char*>(malloc(size));
    if (text != nullptr) snprintf(text, size, "%s%s", first, second);
    return text;
}

}  // namespace

bool find_step_program(char* path, size_t size) {
    Dl_info facts;
    if (dladdr(reinterpret_cast<const void*>(&find_step_program), &facts) == 0 || facts.dli_fname == nullptr)
        return false;
    const char* slash = strrchr(facts.dli_fname, '/');
    int directory = slash == nullptr ? 0 : static_cast<int>(slash - facts.dli_fname) + 1;
    for (const char* place : kProgramPlaces) {
        int length = snprintf(path, size, "%.*s%s", directory, facts.dli_fname, place);
        if (length > 0 && static_cast<size_t>(length) < size && access(path, X_OK) == 0) return true;
    }
    path[0] = '\0';
    return false;
}

char** program_environment(char** variables, const char* plan) {
    size_t count = 0;
    while (variables[count] != nullptr) ++count;
    char** entries = static_cast<char**>(calloc(count + 2, sizeof *entries));
    if (entries == nullptr) return nullptr;
    for (size_t i = 0; i < count; ++i) {
        bool heeded = strncmp(variables[i], "LD_", 3) == 0;
        entries[i] = joined(heeded ? kLoaderPrefix : "", variables[i]);
        if (entries[i] == nullptr) return nullptr;
    }
    if (plan == nullptr) return entries;
    char name[sizeof kPlanVariable + 1];
    snprintf(name, sizeof name, "%s=", kPlanVariable);
    entries[count] = joined(name, plan);
    return entries[count] == nullptr ? nullptr : entries;
}

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

const char* node_name() {
    // slurmstepd has it from slurmd; where several nodes share a machine, the host's name would be wrong.
    const char* name = getenv("SLURMD_NODENAME");
    static char host[256];
    if (name != nullptr) return name;
    return gethostname(host, sizeof host) == 0 ? host : "this node";
}

}  // namespace belay::spank
