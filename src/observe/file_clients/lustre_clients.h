// Reads what a node does on its Lustre file systems, and how it stands to their servers.
//
//   LustreReading reading = read_lustre_clients({}, LustreScope::kAll);
//
// To be run in a child process (collect/apart.h): the kernel may let the reader wait for
// a server that is gone, since the file import is read under a lock that connecting takes. So it is a plain
// function of its roots. It keeps nothing open between calls either: an open file there keeps an administrator
// from unloading Lustre.
//
// Costs a read of one file per mount, and with kAll of three files per target; Lustre adds up each counter over
// all CPUs to print it, so of hundreds of targets do not ask every second.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "schema/tables/lustre.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace belay::observe::file_clients {

struct LustreRoots {
    std::filesystem::path proc = "/proc";
    std::filesystem::path sys = "/sys";
};

enum class LustreScope : uint8_t {
    kCalls,  // what programs called: one file per mount
    kAll,    // requests to the servers, and the state of their targets, too
};

// One mount. Nothing for what Lustre does not tell, or does not let this user read.
struct LustreClient {
    std::string file_system;
    std::string instance;
    // By place in schema::kLustreQuantities, in Lustre's units: counts, bytes, microseconds. A sum over targets
    // is only there if all of them could be read: without one it would look like a counter that was set back.
    std::array<std::optional<int64_t>, std::size(schema::kLustreQuantities)> values;
    std::optional<core::Time> calls_start;
    std::optional<core::Time> metadata_start;
    std::optional<core::Time> data_start;
    std::optional<core::Time> last_eviction;
    std::string not_ready_target;  // empty: there is none, or it is not known
};

struct LustreReading {
    std::vector<LustreClient> clients;  // in order of name; at most 64
    // The first file that this user may not read, where there is Lustre: kSystem, kDenied.
    std::optional<core::Error> refused;
};

LustreReading read_lustre_clients(const LustreRoots& roots, LustreScope scope);

}  // namespace belay::observe::file_clients
