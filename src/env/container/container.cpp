#include "env/container/container.h"

#include "env/container/entrypoint.h"
#include "env/container/holder.h"
#include "env/container/namespaces.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::env {

using core::Descriptor;
using core::errno_error;
using core::Result;

namespace {

Result<Descriptor> open_namespace(pid_t pid, const char* name) {
    return core::open_file(fmt::format("/proc/{}/ns/{}", pid, name), O_RDONLY);
}

core::Failure workdir_error(const std::string& workdir, int reason) {
    core::Failure failure =
        core::bad_input("workdir {}: {}", workdir, std::generic_category().message(reason))
            .hint("name a directory of the container, or mount one there");
    errno = reason;  // try_join tells it to its parent
    return failure;
}

}  // namespace

Result<Container> Container::of_process(pid_t pid) {
    Container container;
    BELAY_TRY(user, open_namespace(pid, "user"));
    BELAY_TRY(mounts, open_namespace(pid, "mnt"));
    container.user_namespace_ = std::move(user);
    container.mount_namespace_ = std::move(mounts);
    return container;
}

Result<Container> Container::start(const ContainerPlan& plan, const core::Environment& variables,
                                   pid_t watched, int notices) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return errno_error(errno, "cannot make a socket pair");
    Descriptor ours(ends[0]);
    Descriptor theirs(ends[1]);
    Descriptor process(static_cast<int>(syscall(SYS_pidfd_open, watched, 0)));
    if (!process) return errno_error(errno, fmt::format("cannot watch process {}", watched));
    // The holder must not be a child of this process, which becomes the user's program: that may wait for all
    // its children.
    pid_t parent = fork();
    if (parent < 0) return errno_error(errno, "cannot fork the container's holder");
    if (parent == 0) {
        ours.reset();
        if (fork() == 0)
            run_holder(
                plan, variables,
                {std::move(theirs), std::move(process), Descriptor(fcntl(notices, F_DUPFD_CLOEXEC, 3))});
        _exit(0);
    }
    waitpid(parent, nullptr, 0);
    theirs.reset();
    BELAY_TRY(text, core::read_to_end(ours.get(), "the container's holder"));
    BELAY_TRY(reply, decode_holder_reply(text));
    if (reply.error) return std::unexpected(std::move(*reply.error));
    BELAY_TRY(container, of_process(reply.init));
    container.entry_variables_ = std::move(reply.variables);
    BELAY_CHECK(container.try_join(plan.workdir));
    return container;  // closing our end of the link tells the holder that the namespaces are open
}

// Tasks of other nodes must not start before it is known that those of this one can.
Result<> Container::try_join(const std::string& workdir) const {
    pid_t child = fork();
    if (child < 0) return errno_error(errno, "cannot fork");
    if (child == 0) {
        auto joined = join(workdir);
        _exit(joined ? 0 : joined.error().kind() == core::ErrorKind::kBadInput ? errno : 255);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 255)
        return core::system_error("the container's namespaces cannot be joined");
    return workdir_error(workdir, WEXITSTATUS(status));
}

Result<> Container::join(const std::string& workdir) const {
    if (setns(user_namespace_.get(), CLONE_NEWUSER) != 0)
        return errno_error(errno, "cannot join the container's user namespace");
    if (setns(mount_namespace_.get(), CLONE_NEWNS) != 0)
        return errno_error(errno, "cannot join the container's mounts");
    if (chdir(workdir.c_str()) != 0) return workdir_error(workdir, errno);
    return {};
}

core::Duration longest_start(const ContainerPlan& plan) {
    auto files = 1 + std::ranges::count_if(plan.binds, &Bind::squashfs);
    core::Duration sum = files * kMountTime + kCreateTime;
    return plan.entrypoint.empty() ? sum : sum + kEntryTime;
}

core::Error execute(const std::vector<std::string>& argv, const core::Environment& variables) {
    auto path = variables.find("PATH");
    auto program = core::find_program(argv.at(0), path == variables.end() ? "" : path->second);
    if (!program)
        return core::bad_input("{}: not found in the container", argv[0])
            .hint(path == variables.end() ? "PATH is not set in it" : "its PATH is " + path->second)
            .error();
    std::vector<std::string> entries;
    for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
    std::vector<char*> environment;
    for (std::string& entry : entries) environment.push_back(entry.data());
    environment.push_back(nullptr);
    std::vector<char*> arguments;
    for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execve(program->c_str(), arguments.data(), environment.data());
    return errno_error(errno, fmt::format("cannot start {} in the container", program->string())).error();
}

}  // namespace belay::env
