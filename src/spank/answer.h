// belay-step's answer to the tasks of its node (wire.h): an offer of all they need, and, when the other nodes
// are ready too, the start.
//
//   Answer answer(link, tasks);
//   BELAY_CHECK(answer.offer(instructions(plan, root_address), {user_namespace, mount_namespace}));
//   BELAY_CHECK(answer.start());                          // or answer.refuse()
//
// Whatever can fail is done with the offer, before any task has started: so all tasks of a node start or
// none.
#pragma once

#include "core/file.h"
#include "core/time.h"
#include "step/plan.h"

#include <string>
#include <vector>

namespace belay::spank {

// What a task is to do. In a container MASTER_ADDR is `root_address`, unless the environment, the image or
// the user has set it. `traced`: of a task whose I/O is traced, over all others.
std::string instructions(const step::StepPlan& plan, const std::string& root_address,
                         const core::Environment& traced = {});

class Answer {
  public:
    // `link` is borrowed.
    Answer(int link, unsigned tasks, core::Clock& clock = core::system_clock())
        : link_(link), tasks_(tasks), clock_(clock) {}

    // Namespaces: the container's user and mount namespace, or none; borrowed. Waits a while for other steps
    // of the user whose offers are not taken yet. Errors: kSystem; then no task has got anything.
    core::Result<> offer(const std::string& instructions, const std::vector<int>& namespaces);

    // After an offer. Errors: kSystem.
    core::Result<> start();
    // With an offer or without; what is wrong must have been said.
    void refuse();

  private:
    int link_;
    unsigned tasks_;
    core::Clock& clock_;
    // Both ends of the pipe that tells the tasks to start; ours to read stays open, so that writing cannot
    // fail.
    core::Descriptor awaited_;
    core::Descriptor told_;
};

}  // namespace belay::spank
