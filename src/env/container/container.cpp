#include "env/container/container.h"

#include "core/activity.h"
#include "core/fork.h"
#include "core/work.h"
#include "env/container/entrypoint.h"
#include "env/container/holder.h"
#include "env/container/holder_link.h"
#include "env/container/namespaces.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace belay::env {

using core::Descriptor;
using core::errno_error;
using core::Result;

namespace {

Result<Descriptor> open_namespace(pid_t pid, const char* name) {
    return core::open_file(fmt::format("/proc/{}/ns/{}", pid, name), O_RDONLY);
}

size_t squashfs_files(const ContainerPlan& plan) {
    return 1 + static_cast<size_t>(std::ranges::count_if(plan.binds, &Bind::squashfs));
}

// A holder that took too long is ended, and what did not answer it is said.
core::Error end_silent(core::Error error, const core::Activity& activity, core::DetachedProcess& holder) {
    if (const std::string at = activity.text(); !at.empty())
        error = std::move(error).after(fmt::format(" (at: {})", at));
    if (error.cause() != core::Cause::kTimedOut) return error;
    if (auto killed = holder.kill(); !killed) error = std::move(error).also(killed.error());
    return error;
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
    Descriptor lines(fcntl(notices, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));  // 2 will be /dev/null there
    if (!lines) return errno_error(errno, "cannot duplicate a descriptor");
    BELAY_TRY(activity, core::Activity::create());
    // It must not be a child of this process, which becomes the user's program. It holds none of the standard
    // streams: somebody may wait for their end. What a terminal sends to the program is not for its holder.
    // The container's first process waits for nobody (Holder::create): a holder that is killed would leave
    // it.
    BELAY_TRY(holder, core::fork_detached({.name = "belay-holder",
                                           .signals = core::ChildSignals::kDeafHelper,
                                           .null_streams = true,
                                           .keep = {theirs.get(), process.get(), lines.get()},
                                           .new_session = true,
                                           .afterwards = end_descendants,
                                           .afterwards_name = "belay-reaper"},
                                          [&] {
                                              activity.watch_this_process();
                                              run_holder(plan, variables,
                                                         {theirs.get(), process.get(), lines.get()});
                                              return 0;
                                          }));
    theirs.reset();
    BELAY_TRY(reply, receive_reply(ours.get(), squashfs_files(plan), [&](core::Error error) {
                  return end_silent(std::move(error), activity, holder);
              }));
    BELAY_TRY(container, of_process(reply.init));
    container.entry_variables_ = std::move(reply.variables);
    BELAY_CHECK(container.try_join(plan.workdir));
    return container;  // closing our end of the link tells the holder that the namespaces are open
}

// Tasks of other nodes must not start before it is known that those of this one can.
Result<> Container::try_join(const std::string& workdir) const {
    return core::check_within(
        kHolderTimes.join,
        {.what = "joining the container", .keep = {user_namespace_.get(), mount_namespace_.get()}},
        [&] { return join(workdir); });
}

Result<> Container::join(const std::string& workdir) const {
    if (setns(user_namespace_.get(), CLONE_NEWUSER) != 0)
        return errno_error(errno, "cannot join the container's user namespace");
    if (setns(mount_namespace_.get(), CLONE_NEWNS) != 0)
        return errno_error(errno, "cannot join the container's mounts");
    // Nothing that the image holds makes anybody more than who they are: the mounts say so, too.
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return errno_error(errno, "cannot give up gaining privileges in the container");
    core::note_activity("enter", workdir);
    if (chdir(workdir.c_str()) != 0) return std::unexpected(workdir_error(workdir, errno));
    return {};
}

core::Error workdir_error(const std::string& workdir, int errno_value) {
    core::Error error = errno_error(errno_value, "workdir " + workdir).error();
    if (error.cause() != core::Cause::kNotFound) return error;
    return std::move(error)
        .as(core::ErrorKind::kBadInput)
        .hint("name a directory of the container, or mount one there");
}

core::Duration longest_start(const ContainerPlan& plan) {
    core::Duration sum = kHolderTimes.join + 2 * core::kKillPatience;
    for (HolderPart part : {HolderPart::kImage, HolderPart::kUser, HolderPart::kSources, HolderPart::kCreate})
        sum += time_of(part, squashfs_files(plan));
    return plan.entrypoint.empty() ? sum : sum + kHolderTimes.entrypoint;
}

core::Error execute(const std::vector<std::string>& argv, const core::Environment& variables) {
    auto path = variables.find("PATH");
    auto program = core::find_program(argv.at(0), path == variables.end() ? "" : path->second);
    if (!program) {
        core::Error error =
            std::move(program.error())
                .context("in the container")
                .hint(path == variables.end() ? "PATH is not set in it" : "its PATH is " + path->second);
        // Its name is what the person wrote.
        if (error.cause() == core::Cause::kNotFound) return std::move(error).as(core::ErrorKind::kBadInput);
        return error;
    }
    std::vector<std::string> entries;
    for (const auto& [name, value] : variables) entries.push_back(name + "=" + value);
    std::vector<char*> environment;
    for (std::string& entry : entries) environment.push_back(entry.data());
    environment.push_back(nullptr);
    std::vector<char*> arguments;
    for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execve(program->c_str(), arguments.data(), environment.data());
    core::Error error =
        errno_error(errno, fmt::format("cannot start {} in the container", program->string())).error();
    if (error.cause() != core::Cause::kNotFound) return error;
    // Named by its path, which find_program() does not look at; or it is there, and its interpreter is not.
    return std::move(error)
        .as(core::ErrorKind::kBadInput)
        .hint(
            "neither the program nor what it names to run it, as in #!/bin/sh, may be missing in the "
            "container");
}

}  // namespace belay::env
