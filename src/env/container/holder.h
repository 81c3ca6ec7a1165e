// The process that keeps a container's files mounted.
#pragma once

#include "env/container/plan.h"

#include <sys/types.h>

namespace belay::env {

// Borrowed.
struct HolderDescriptors {
    int link;     // to whoever started it
    int watched;  // pidfd
    int notices;  // for a line when something has gone wrong; see notice.h
};
// In a process of its own: makes the container, tells `link` (holder_link.h), waits until that is closed
// since the namespaces are open, and ends with `watched`.
void run_holder(const ContainerPlan& plan, const core::Environment& variables,
                const HolderDescriptors& descriptors);

}  // namespace belay::env
