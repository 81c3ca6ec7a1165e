#include "observe/collect/helper_process.h"

#include "core/fork.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <sys/socket.h>

namespace belay::observe::collect {

namespace {

constexpr auto kPatience = std::chrono::milliseconds(100);

}  // namespace

core::Result<Helper> start_helper(const char* name, const std::function<void(int socket)>& serve,
                                  int send_bytes) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return core::errno_error(errno, "cannot make a socket");
    core::Descriptor parent_end(ends[0]);
    core::Descriptor child_end(ends[1]);
    if (send_bytes > 0) setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &send_bytes, sizeof send_bytes);
    BELAY_TRY(process, core::fork_process({.name = name,
                                           .signals = core::ChildSignals::kDeafHelper,
                                           .null_streams = true,
                                           .keep = {child_end.get()},
                                           .death_signal = SIGKILL},
                                          [&] {
                                              serve(child_end.get());
                                              return 0;
                                          }));
    return Helper{std::move(process), std::move(parent_end)};
}

core::Error how_it_ended(core::Process& helper, std::string_view who) {
    auto status = helper.wait_for(core::kKillPatience);
    const std::string how = !status   ? status.error().message()
                            : *status ? (*status)->describe()
                                      : "no end either";
    return core::system_error("{} ended without an answer, with {}", who, how)
        .because(core::Cause::kEnded)
        .error();
}

bool has_ended(core::Process& helper) {
    auto status = helper.wait_for(core::Duration::zero());
    return !status || *status;
}

void leave(std::vector<core::Process> killed) {
    const auto deadline = core::Deadline::after(kPatience);
    for (core::Process& helper : killed) {
        auto status = helper.wait_for(deadline.left());
        if (status && !*status) helper.abandon();
    }
}

}  // namespace belay::observe::collect
