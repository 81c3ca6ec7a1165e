// Closed files of a block log: which there are, which are packed together, and what is in them.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/time.h"
#include "server/blocks/block_index.h"
#include "server/packed/block_runs.h"
#include "server/packed/packed_facts.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// A file of a block log, by its name.
struct LogFile {
    std::string name;
    core::Time began;
    std::string writer;
    uint64_t bytes = 0;
    bool is_closed = false;
};

// Of a name as log_file_name() makes it; nothing for others.
std::optional<LogFile> log_file_named(std::string_view name);

struct OwnLog {
    std::string writer;
    std::string in_use;  // the file that it appends to; empty for none
};

// All files of the directory, by writer and age. Of another writer the newest file is closed only if it began `idle` ago and nobody
// of its name is at work (blocks/intake.h: it holds a lock): a belayd that starts begins a file of its own. Errors: kSystem.
core::Result<std::vector<LogFile>> list_logs(const core::Directory& logs, const OwnLog& own, core::Time now,
                                             core::Duration idle);

struct GroupLimits {
    core::Duration window = std::chrono::minutes(10);
    uint64_t bytes = uint64_t{1} << 30;
};

// The closed files of one writer that are packed into one file next: those that began within a window, when nothing can come to
// them; none where there is nothing to do. `now`: nothing to take whatever is closed. Pure.
std::vector<LogFile> next_group(const std::vector<LogFile>& files, const GroupLimits& limits,
                                std::optional<core::Time> now);

// Streams by node, then as they are told apart.
struct ByNode {
    bool operator()(const stream::StreamId& a, const stream::StreamId& b) const {
        return a.node != b.node ? a.node < b.node : a < b;
    }
};

struct LogStream {
    std::vector<BlockPlace> places;  // as they came
    BlockRuns blocks;                // their numbers, and those of their sessions
    core::Time arrived = {};         // the last of them
};

struct LogContents {
    std::map<stream::StreamId, LogStream, ByNode> streams;
    core::Time arrived_from = core::Time::max(), arrived_until = core::Time::min();
    std::vector<LostPart> lost;
};

// Reads a file, with its checksums, and adds what is in it. Errors: kSystem; kBadInput for a file of a newer version.
core::Result<> add_log(const core::Directory& logs, const std::string& name, LogContents& contents);

}  // namespace belay::server
