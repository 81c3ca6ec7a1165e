// The table lustre: what the node does on each Lustre file system.
//
// The collector reads files that may not answer (lustre_clients.h says why): it is to be run in a child process,
// by collect/apart.h. It keeps nothing between ticks but how many there were, so that a child that hangs can be
// replaced by another.
#pragma once

#include "observe/collect/collector.h"
#include "observe/file_clients/lustre_clients.h"

#include <memory>
#include <span>

namespace belay::observe::file_clients {

struct LustreOptions {
    LustreRoots roots = {};
    // Ticks between looks at the servers, which cost the more the more targets there are. In between, rows say
    // what programs called, and nothing of servers.
    int servers_every = 10;
};

// Owes no rows where no Lustre file system is mounted. Errors of collect(): kSystem, kDenied, where nothing was
// read because it is for root. With Lustre 2.12 to 2.16, who is not root has rows of servers only.
std::unique_ptr<collect::Collector> make_lustre_collector(LustreOptions options);

// A row for each mount of which anything is known.
void add_lustre_rows(const collect::Sample& sample, std::span<const LustreClient> clients,
                     stream::Batch& rows);

}  // namespace belay::observe::file_clients
