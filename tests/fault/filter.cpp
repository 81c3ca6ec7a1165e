#include "filter.h"

#include "call.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::fault {

using core::Result;

namespace {

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif

constexpr uint32_t kNumber = offsetof(seccomp_data, nr);
constexpr uint32_t kArchitectureField = offsetof(seccomp_data, arch);

std::vector<sock_filter> program() {
    std::vector<sock_filter> steps = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kArchitectureField),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, kNumber),
    };
    for (const Call& call : calls()) {
        steps.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call.number), 0, 1));
        steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF));
    }
    steps.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    return steps;
}

// The number of the listener, or -errno. A signal must not make a call that we have seen come a second time.
int install(const std::vector<sock_filter>& steps) {
    sock_fprog filter{static_cast<unsigned short>(steps.size()), const_cast<sock_filter*>(steps.data())};
    const unsigned flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    auto set = [&] {
        return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &filter));
    };
    int listener = set();
    if (listener < 0 && errno == EACCES && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) listener = set();
    return listener < 0 ? -errno : listener;
}

// Never returns. Stops itself once it is filtered: from then on it cannot tell us anything.
void become(const std::vector<std::string>& command, const std::vector<sock_filter>& steps, int* listener) {
    std::vector<char*> argv;
    for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    *listener = install(steps);
    raise(SIGSTOP);
    execvp(argv[0], argv.data());
    _exit(127);
}

}  // namespace

Result<Filtered> start_filtered(const std::vector<std::string>& command) {
    const std::vector<sock_filter> steps = program();
    void* shared = mmap(nullptr, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return core::errno_error(errno, "cannot map memory");
    auto* listener = static_cast<int*>(shared);
    const pid_t child = fork();
    if (child < 0) return core::errno_error(errno, "cannot fork");
    if (child == 0) become(command, steps, listener);
    int status = 0;
    if (waitpid(child, &status, WUNTRACED) < 0 || !WIFSTOPPED(status))
        return core::system_error("the command ended before it began");
    core::Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
    core::Descriptor ours(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), *listener, 0)));
    const int failure = *listener < 0 ? -*listener : errno;
    munmap(shared, sizeof(int));
    if (!ours) {
        kill(child, SIGKILL);
        return core::errno_error(failure, "cannot watch the calls of the command (seccomp)");
    }
    kill(child, SIGCONT);
    return Filtered{child, std::move(ours)};
}

}  // namespace belay::fault
