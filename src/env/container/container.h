// A container on this node: a holder process that keeps its files mounted, and namespaces that tasks join.
//
//   BELAY_TRY(container, Container::start(plan, getpid(), STDERR_FILENO));
//   BELAY_CHECK(container.join(plan.workdir));
//   execvpe(...);
//
// The holder ends when the watched process does; everything of the container is in its namespaces and goes
// with it.
#pragma once

#include "core/file.h"
#include "env/container/plan.h"

#include <sys/types.h>

namespace belay::env {

class Container {
  public:
    // Returns when tasks can join. The holder lives until the process `watched` has ended; when its files are
    // full or gone, it says so in a line to `notices` (see notice.h), which it keeps, as the only descriptor
    // of ours. An entrypoint starts with `variables`. This process must have one thread. It takes at most
    // longest_start(): what does not answer for longer ends it. Errors:
    // kSystem, kTimedOut with what did not answer; kBadInput if the working directory is not there, or for an
    // entrypoint that failed.
    static core::Result<Container> start(const ContainerPlan& plan, const core::Environment& variables,
                                         pid_t watched, int notices);

    // The container in which a process is. Errors: kSystem.
    static core::Result<Container> of_process(pid_t pid);

    // This process, which must have one thread, continues in the container, in that directory of it.
    // Errors: kSystem; kBadInput if the working directory is not there.
    core::Result<> join(const std::string& workdir) const;

    // Those that the entrypoint has set or changed; none without one.
    const core::Environment& entry_variables() const { return entry_variables_; }

    // For handing them to the tasks.
    int user_namespace() const { return user_namespace_.get(); }
    int mount_namespace() const { return mount_namespace_.get(); }

  private:
    core::Result<> try_join(const std::string& workdir) const;

    core::Descriptor user_namespace_;
    core::Descriptor mount_namespace_;
    core::Environment entry_variables_;
};

// How long Container::start takes at most, whatever hangs: the sum of what its parts may (holder_link.h).
core::Duration longest_start(const ContainerPlan& plan);

// Why this process cannot go to the container's working directory: kBadInput where it is not there, since
// somebody named it; else kSystem, both with their cause.
core::Error workdir_error(const std::string& workdir, int errno_value);

// Never returns but with an error: `argv` in place of this process, found in the PATH of `variables`. Errors:
// kBadInput with cause kNotFound if there is no such program in the container, else kSystem.
core::Error execute(const std::vector<std::string>& argv, const core::Environment& variables);

}  // namespace belay::env
