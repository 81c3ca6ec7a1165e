// /proc/PID/mountstats: what a node did on each NFS file system since it was mounted. See show_vfsstat in
// fs/proc_namespace.c of Linux, nfs_show_stats in fs/nfs/super.c, rpc_clnt_show_stats in net/sunrpc/stats.c, and
// print_stats of the transports in net/sunrpc/xprtsock.c and xprtrdma/transport.c. With names of other file
// systems in between, and all of NFS's lines indented by a tab:
//
//   device server:/export mounted on /mnt/my\040data with fstype nfs4 statvers=1.1
//       opts:   rw,vers=4.2,rsize=1048576,…
//       age:    2415
//       events: 27 numbers; 25 in version 1.0
//       bytes:  8 numbers
//       xprt:   tcp PORT BINDS CONNECTS …     a line for each connection (nconnect); rdma likewise
//       xprt:   udp PORT BINDS SENDS …        never connects
//       xprt:   local BINDS CONNECTS …
//       per-op statistics
//               READ: ops transmissions timeouts sent received queue round-trip execute errors
//
// The three times of an operation are in milliseconds; errors are counted since Linux 5.3. Nobody can set these
// counters back.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe::file_clients {

// Of several operations, added up. Nothing where one of them is not told properly.
struct NfsOperations {
    std::optional<int64_t> count = 0;
    std::optional<int64_t> queue_milliseconds = 0;
    std::optional<int64_t> round_trip_milliseconds = 0;
    std::optional<int64_t> execute_milliseconds = 0;
};

inline constexpr size_t kNfsByteFields = 8;
inline constexpr size_t kNfsEventFields = 27;

// Octal escapes are undone. Nothing where the kernel does not tell, or not properly.
struct NfsMount {
    std::string source;  // "server:/export"
    std::string mount_point;
    std::string type;     // "nfs", "nfs4"
    std::string version;  // "4.2"; may be empty
    std::string transport;
    std::optional<int64_t> age_seconds;
    std::array<std::optional<int64_t>, kNfsByteFields> bytes;    // in the kernel's order
    std::array<std::optional<int64_t>, kNfsEventFields> events;  // likewise
    std::optional<int64_t> connects;                             // of all transports of the mount
    bool has_operations = false;                                 // whether all that follows is told
    NfsOperations reads;
    NfsOperations writes;
    NfsOperations metadata;
    std::optional<int64_t> retransmits = 0;  // of all operations: transmissions beyond the first
    std::optional<int64_t> major_timeouts = 0;
    std::optional<int64_t> errors = 0;
};

// The mounts of type nfs and nfs4, in the kernel's order, at most 4096. Of a text that ends within a line, the
// last mount is left out: its counters are not complete.
std::vector<NfsMount> parse_mountstats(std::string_view text);

}  // namespace belay::observe::file_clients
