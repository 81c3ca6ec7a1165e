// One entry of `mounts`: SRC[:DST[:FLAGS]], flags joined by "+".
#pragma once

#include "env/expansion.h"
#include "env/host.h"

#include <string>
#include <string_view>
#include <vector>

namespace belay::env {

struct Mount {
    std::string source;              // absolute
    std::string destination;         // absolute, without "//", "." and ".."
    std::vector<std::string> flags;  // as written; none: rbind+x-create=auto

    bool is_squashfs() const { return flags == std::vector<std::string>{"sqsh"}; }
    // SRC:DST[:FLAGS]; a source with a colon in it cannot be read back from that.
    std::string text() const;
    bool operator==(const Mount&) const = default;
};

// What is wrong with an entry, and where in it (bytes of the text as written).
struct MountProblem {
    std::string
        code;  // E_MOUNT_FIELDS, E_MOUNT_SRC, E_MOUNT_DST, E_MOUNT_FLAG, W_MOUNT_…, or of the expansion
    size_t offset = 0;
    size_t length = 1;
    std::string message;
    std::string hint;
    std::optional<core::Error> failure = {};  // as of Problem
};

struct ParsedMount {
    Mount mount;
    std::vector<MountProblem> problems;
};

// Splits, expands with the caller's variables, resolves and checks. The source must exist.
ParsedMount parse_mount(std::string_view text, const Host& host);

}  // namespace belay::env
