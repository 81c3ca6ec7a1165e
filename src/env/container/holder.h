// The process that keeps a container's files mounted.
#pragma once

#include "core/file.h"
#include "env/container/plan.h"

#include <sys/types.h>

namespace belay::env {

inline constexpr core::Duration kCreateTime = std::chrono::seconds(60);  // for crun

// What it tells whoever started it, over a pipe, in one message each way.
struct HolderReply {
    pid_t init = -1;  // a process in the container's namespaces; it may be killed once they are open
    std::optional<core::Error> error;
    core::Environment variables;  // that the entrypoint has set or changed
};
std::string encode(const HolderReply& reply);
core::Result<HolderReply> decode_holder_reply(std::string_view text);

struct HolderDescriptors {
    core::Descriptor link;     // to whoever started it
    core::Descriptor watched;  // pidfd
    core::Descriptor notices;  // for a line when something has gone wrong; see notice.h
};
// In a forked child: makes the container, tells `link`, waits until that is closed since the namespaces are
// open, ends with `watched`. It holds none of the standard streams: somebody may wait for their end.
[[noreturn]] void run_holder(const ContainerPlan& plan, const core::Environment& variables,
                             HolderDescriptors descriptors);

}  // namespace belay::env
