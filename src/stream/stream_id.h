// Which node stream a segment is a part of. A stream is what one writer on one boot of one node writes, as
// numbered blocks: a writer that is started again begins another stream, so no number has to be recovered.
#pragma once

#include "core/time.h"

#include <compare>
#include <string>

namespace belay::stream {

struct StreamId {
    std::string cluster;  // may be empty
    std::string node;
    std::string boot;    // the kernel's boot_id; empty where it is not known
    std::string source;  // "agent", "recorder", "recorder-t3"
    core::Time began;    // when its writer was started
    auto operator<=>(const StreamId&) const = default;
};

}  // namespace belay::stream
