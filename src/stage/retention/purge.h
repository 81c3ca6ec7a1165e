// Deletes what a signed list names, where it is still what the list says: each file is looked at again,
// beneath the root and on its file system, with no link followed. Inode, owner, size and times must be those
// of the list, and old enough by its own words and by the clock of now. Between that look and the deletion of the name lies one system call; no call of Linux deletes
// a name only if it still leads to a certain inode.
#pragma once

#include "stage/retention/purge_list.h"

#include <atomic>
#include <functional>

namespace belay::stage {

struct KeptFile {
    std::string path;
    std::string why;
    bool failed = false;  // it was to be deleted, and could not be
};

struct PurgeReport {
    uint64_t deleted_files = 0;
    uint64_t deleted_bytes = 0;  // as they read
    uint64_t gone = 0;           // were not there any more
    std::vector<KeptFile> kept = {};
};

// Why a file may not be deleted; empty where it may. Pure.
std::string why_kept(const PurgeEntry& listed, const PurgeEntry& found);
// Why a file of a list is not old enough for it, at a time; empty where it is. Pure.
std::string why_not_due(const PurgeList& list, const PurgeEntry& listed, core::Time now);

struct PurgeOptions {
    bool dry_run = false;  // checks, and deletes nothing
    core::Time now = core::Time::max();
    const std::atomic<bool>* stop = nullptr;
    std::function<void(uint64_t done)> progress = {};
};

// Errors: kBadInput where the root is not a directory any more, or the list was made later than now, so that
// one of the clocks was wrong; kSystem, kCancelled once `stop` is set. A
// file that cannot be deleted is in the report.
core::Result<PurgeReport> purge(const PurgeList& list, const PurgeOptions& options);

}  // namespace belay::stage
