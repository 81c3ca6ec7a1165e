// The process that keeps a container's files mounted.
#pragma once

#include "core/file.h"
#include "env/container/plan.h"

#include <sys/types.h>

namespace belay::env {

// What it tells whoever started it, over a pipe, in one message each way.
struct HolderReply {
    pid_t init = -1;  // a process in the container's namespaces; it may be killed once they are open
    std::optional<core::Error> error;
};
std::string encode(const HolderReply& reply);
core::Result<HolderReply> decode_holder_reply(std::string_view text);

// In a forked child: makes the container, tells `link`, waits for the answer that its namespaces are open,
// ends with `watched`.
[[noreturn]] void run_holder(const ContainerPlan& plan, core::Descriptor link, core::Descriptor watched);

}  // namespace belay::env
