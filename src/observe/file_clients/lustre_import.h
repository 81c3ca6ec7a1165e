// How a Lustre client stands to one target: the files import and state of mdc.* and osc.*. See
// lprocfs_import_seq_show and lprocfs_state_seq_show in lustre/obdclass/lprocfs_status.c of Lustre 2.10 to 2.17.
//
//   import:                                          current_state: FULL
//       name: scratch-OST0000-osc-ffff8f0a1c2d3000   state_history:
//       target: scratch-OST0000_UUID                  - [ 1781485337, DISCONN ]
//       state: FULL                                   - [ 1781485342, EVICTED ]
//       import_flags: [ replayable, pingable ]        - [ 1781485342, FULL ]
//       connection:
//          connection_attempts: 2                    of the last 16 changes, in order of time
//       rpcs:
//          inflight: 0
//          timeouts: 0
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace belay::observe::file_clients {

// Names of enum lustre_imp_state in lustre/include/lustre_import.h. A target of which nothing was asked for
// a while is disconnected, and IDLE, since 2.12.
enum class LustreState : uint8_t { kFull, kIdle, kEvicted, kOther };

struct LustreImport {
    LustreState state = LustreState::kOther;
    bool switched_off = false;                    // by an administrator: lctl deactivate
    std::vector<std::optional<int64_t>> numbers;  // of the keys that were asked for, in their order
};

// `keys`: first words of lines with a number, such as "timeouts:". Replaces the content of `import`, whose
// capacity is kept. Errors: kBadInput for a text without a state, or that ends within a line.
core::Result<> parse_lustre_import(std::string_view text, std::span<const std::string_view> keys,
                                   LustreImport& import);

struct LustreEvictions {
    int64_t remembered = 0;
    std::optional<core::Time> last;
};

// Errors: kBadInput for a text without a state, or that ends within a line.
core::Result<LustreEvictions> parse_lustre_state(std::string_view text);

}  // namespace belay::observe::file_clients
