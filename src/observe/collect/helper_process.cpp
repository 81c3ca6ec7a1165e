#include "observe/collect/helper_process.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <iterator>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace belay::observe::collect {

namespace {

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

}  // namespace

void become_helper(const char* name, int socket, pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    prctl(PR_SET_NAME, name);
    drop_descriptors(socket);
    drop_signal_handlers();
}

}  // namespace belay::observe::collect
