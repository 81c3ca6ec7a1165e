// What a container's holder and whoever starts it say to each other over a socket: how far the holder has
// come, so that each part of the start has a bound of its own, then its reply.
#pragma once

#include "core/deadline.h"
#include "core/process.h"

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace belay::env {

// The parts of a start, in their order. The holder tells when it begins one; a part that is not needed is
// left out.
enum class HolderPart : char {
    kImage = 'i',       // namespaces, and the image and other SquashFS files mounted
    kUser = 'u',        // the name service is asked for the user and the group
    kSources = 's',     // what is mounted from the host is looked for
    kCreate = 'c',      // crun makes the container, and its mounts get their flags
    kEntrypoint = 'e',  // until the image's entrypoint starts its command
};
// How long a part may take. A SquashFS file and crun may have to wait for a busy node; a source that has not
// answered after ten seconds is on a file server that is down, and more time would only delay the message.
struct HolderTimes {
    core::Duration file = std::chrono::seconds(30);  // for each SquashFS file
    core::Duration user = std::chrono::seconds(10);
    core::Duration sources = std::chrono::seconds(10);
    core::Duration create = std::chrono::seconds(60);
    core::Duration flags = std::chrono::seconds(10);  // of its mounts
    core::Duration entrypoint = std::chrono::seconds(60);
    core::Duration join = std::chrono::seconds(10);
};
inline constexpr HolderTimes kHolderTimes;

core::Duration time_of(HolderPart part, size_t squashfs_files, const HolderTimes& times = kHolderTimes);

// Bytes of an entrypoint's variables; the kernel lets a program have 6 MiB.
inline constexpr size_t kMostVariables = size_t{16} << 20;

struct HolderReply {
    pid_t init = -1;  // a process in the container's namespaces; it may be killed once they are open
    core::Environment variables;  // that the entrypoint has set or changed
};

// The holder's side.
core::Result<> tell_part(int link, HolderPart part);
core::Result<> tell_reply(int link, const core::Result<HolderReply>& reply);

// What becomes of an error of the link itself, which is not the holder's own.
using OnSilence = std::function<core::Error(core::Error)>;

// The other side. Errors: the holder's own; of the link, as `on_silence` makes them: kSystem, kTimedOut with
// the part that took too long, kEnded if it ended before.
core::Result<HolderReply> receive_reply(int link, size_t squashfs_files, const OnSilence& on_silence,
                                        const HolderTimes& times = kHolderTimes);

// Pure, for tests and fuzzing: of all that the holder has said. Errors: the holder's own; kSystem.
core::Result<HolderReply> decode_reply(std::string_view text);

}  // namespace belay::env
