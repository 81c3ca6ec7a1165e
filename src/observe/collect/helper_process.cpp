#include "observe/collect/helper_process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <iterator>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::observe::collect {

namespace {

constexpr auto kPatience = std::chrono::milliseconds(100);
constexpr int kFaults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};

// Leaves the child with /dev/null as 0, 1 and 2 and the socket as 3. A pipe of the job kept open here
// would keep whoever reads it waiting.
void drop_descriptors(int socket) {
    int kept = fcntl(socket, F_DUPFD, kHelperSocket);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < kHelperSocket; ++fd)
        if (dup2(null, fd) < 0) close(fd);
    if (kept != kHelperSocket) dup2(kept, kHelperSocket);
    if (close_range(kHelperSocket + 1, ~0U, 0) == 0) return;
    rlimit limit{};  // Linux before 5.9
    getrlimit(RLIMIT_NOFILE, &limit);
    for (rlim_t fd = kHelperSocket + 1; fd < std::min<rlim_t>(limit.rlim_cur, 1 << 16); ++fd)
        close(static_cast<int>(fd));
}

// Nothing but SIGKILL and the end of the socket shall end it, and none of the parent's handlers
// run.
void drop_signal_handlers() {
    for (int number = 1; number < NSIG; ++number)
        signal(number, std::ranges::find(kFaults, number) != std::end(kFaults) ? SIG_DFL : SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
}

// In the child, right after fork: only async-signal-safe calls.
void become_helper(const char* name, int socket, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    prctl(PR_SET_NAME, name);
    drop_descriptors(socket);
    drop_signal_handlers();
}

}  // namespace

core::Duration monotonic_now() {
    return std::chrono::steady_clock::now().time_since_epoch();
}

core::Result<Helper> start_helper(const char* name, const std::function<void()>& serve, int send_bytes) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return core::errno_error(errno, "cannot make a socket");
    Helper helper{.socket = core::Descriptor(ends[0])};
    core::Descriptor child_end(ends[1]);
    if (send_bytes > 0) setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    // No handler of this process may run in the child.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pid_t parent = getpid();
    helper.pid = fork();
    if (helper.pid == 0) {
        become_helper(name, child_end.get(), parent);
        serve();
        _exit(0);
    }
    const int reason = errno;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (helper.pid < 0) return core::errno_error(reason, "cannot fork");
    return helper;
}

bool has_ended(pid_t child) {
    return waitpid(child, nullptr, WNOHANG) != 0;
}

void wait_for_killed(const std::function<bool()>& all_have_ended) {
    const core::Duration end = monotonic_now() + kPatience;
    while (!all_have_ended() && monotonic_now() < end) {
        timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
        nanosleep(&pause, nullptr);
    }
}

}  // namespace belay::observe::collect
