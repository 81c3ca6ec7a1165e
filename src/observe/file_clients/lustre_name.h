// The names of the directories in which a Lustre client tells about itself: llite/NAME of each mount, mdc/NAME
// and osc/NAME of each metadata and data target of it. See llite_lib.c and obd_config.c of Lustre.
//
//   scratch-ffff8f0a1c2d3000               scratch: the file system, ffff…: the mount, an address in the kernel
//   scratch-OST0007-osc-ffff8f0a1c2d3000   scratch-OST0007: the target
//   scratch-OST0007-osc-MDT0000            of a server, not of a client
#pragma once

#include <optional>
#include <string_view>

namespace belay::observe::file_clients {

// All point into the name that was parsed.
struct LustreName {
    std::string_view file_system;
    std::string_view target;  // empty for llite
    std::string_view instance;
};

// `type`: "llite", "mdc" or "osc". Nothing for what is not a client's.
std::optional<LustreName> parse_lustre_name(std::string_view type, std::string_view name);

}  // namespace belay::observe::file_clients
