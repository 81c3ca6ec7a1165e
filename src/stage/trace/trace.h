// Which jobs read data: what their records say was staged for them (event data_staged) or open in their
// processes (data_read).
//
//   BELAY_TRY(data, find_data("/scratch/train/train-000017.tar"));
//   BELAY_TRY(report, trace(data, {"/home/me/records"}));
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "record/manifest.h"
#include "shard/manifest.h"

#include <filesystem>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace belay::stage {

// What is asked about.
struct TracedData {
    std::string words;  // as given: the name, address, licence or revision of data, too
    std::optional<std::filesystem::path> directory =
        {};  // where it lies, without links; nothing if nothing has that name
    std::optional<shard::Manifest> manifest = {};  // if it is packed data
};

// A shard, an image, their directory, a directory that was packed; or words of a manifest's source. Errors:
// kBadInput for a damaged manifest, and empty words; kSystem.
core::Result<TracedData> find_data(const std::string& words);

struct Reading {
    std::string kind;   // data_read, data_staged
    std::string where;  // directory or file, as the record has it
    std::set<std::string> nodes;
    core::Time first;
};

struct TracedJob {
    std::filesystem::path record;
    record::JobFacts job;
    std::string owner;  // of the record's directory: anybody can make one that names somebody else
    std::vector<Reading> readings;
};

struct UnreadRecord {
    std::filesystem::path record;
    core::Error error;
};

struct TraceReport {
    std::vector<TracedJob> jobs;  // ascending in the time of their first reading
    std::vector<UnreadRecord> unread;
    size_t records = 0;  // that were looked at
};

// In all records in these directories, and in directories in them, four deep; links are not followed. A
// directory that cannot be read, and a record, are passed over and named. Errors: kSystem.
core::Result<TraceReport> trace(const TracedData& data, std::span<const std::filesystem::path> places);

}  // namespace belay::stage
