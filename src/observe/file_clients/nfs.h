// The table nfs: what the node does on each NFS file system.
//
// To be run in a child process (collect/apart.h): the kernel may let the reader wait while
// a mount of a server that is gone is taken away. So reading is a plain function of a directory of /proc, and
// the collector keeps nothing between ticks. It keeps no file open either: one of another process would keep
// that one's mounts from going away.
#pragma once

#include "core/error.h"
#include "observe/collect/collector.h"
#include "observe/file_clients/mountstats.h"

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace belay::observe::file_clients {

struct NfsFileSystem {
    std::string device;  // "0:52"; empty where /proc/PID/mountinfo does not tell
    NfsMount mount;
};

// Each file system once, however often it is mounted (bind mounts, mounts of the same export with the same
// options): which mounts are one says mountinfo, which lists them in the same order as mountstats. Both texts
// may be anything; without mountinfo each mount counts as one. At most `limit`.
std::vector<NfsFileSystem> nfs_file_systems(std::string_view mountstats, std::string_view mountinfo,
                                            size_t limit);

// Those that a process sees. `process`: its directory, such as /proc/self. Errors: kSystem; kBadInput for more
// than 64 MiB.
core::Result<std::vector<NfsFileSystem>> read_nfs_file_systems(const std::filesystem::path& process,
                                                               size_t limit);

struct NfsOptions {
    // Whose mounts. Those of other users' processes are root's to read.
    std::filesystem::path process = "/proc/self";
    size_t limit = 512;
};

// Owes no rows where no NFS is mounted.
std::unique_ptr<collect::Collector> make_nfs_collector(NfsOptions options);

void add_nfs_rows(const collect::Sample& sample, std::span<const NfsFileSystem> file_systems,
                  stream::Batch& rows);

}  // namespace belay::observe::file_clients
