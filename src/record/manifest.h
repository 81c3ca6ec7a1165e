// record.json: what a record is about. Written by whichever recorder of the job comes first, rewritten when
// it is sealed.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "stream/segment.h"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace belay::record {

inline constexpr int kRecordSchemaVersion = 1;

// Which job this is. Slurm reuses ids, so a job is known by cluster, id, submit time and restart together.
struct JobFacts {
    std::string cluster;        // empty outside Slurm
    std::optional<int64_t> id;  // nothing outside Slurm
    std::optional<int64_t> array_task;
    int64_t restart = 0;  // times it was requeued before
    std::optional<core::Time> submit;
    std::string account;
    std::string name;
    std::string user;
    std::vector<std::string> nodes;  // in the order of the allocation
    std::optional<core::Time> start;
    std::optional<core::Time> end;
    bool operator==(const JobFacts&) const = default;
};

// As Slurm writes it: "4711", of an array's task "4711_3"; "" outside Slurm.
std::string id_text(const JobFacts& job);

struct TableFacts {
    int64_t rows = 0;
    bool operator==(const TableFacts&) const = default;
};

// A segment whose rows are in the tables: while the file is still there, it may go if it has not changed
// since.
struct SegmentFacts {
    uint64_t bytes = 0;  // of the file as it was read
    bool whole = false;  // whether all of it could be read
    bool operator==(const SegmentFacts&) const = default;
};

// Parts of the manifest by their owner, each a JSON object that only the owner understands: "environment"
// (the locked one), "vetting" (protocol and verdict), and others that come. In record.json a part is a key
// beside those of the manifest; one of a later version stays when an earlier one rewrites it.
using Parts = std::map<std::string, std::string, std::less<>>;
inline constexpr std::string_view kEnvironmentPart = "environment";
inline constexpr std::string_view kVettingPart = "vetting";
// "" where there is none.
std::string_view part_of(const Parts& parts, std::string_view owner);

struct Manifest {
    int schema = kRecordSchemaVersion;
    JobFacts job;
    std::vector<std::string> command;  // as given to `record run`
    core::Time created;
    core::Duration interval{};                     // between samples
    core::Duration flush{};                        // between writes
    std::map<std::string, std::string> software;   // belay, kernel, os ...
    Parts parts;                                   // what others than the recorder have to say of the job
    std::optional<core::Time> sealed;              // when; nothing while segments hold the data
    std::map<std::string, TableFacts> tables;      // of a sealed record
    std::map<std::string, SegmentFacts> segments;  // of a sealed record, by file name
    std::vector<stream::Lost> lost;                // of a sealed record
};

// As in record.json and in `belay record info --json`.
nlohmann::ordered_json job_json(const JobFacts& job);
nlohmann::ordered_json lost_json(const std::vector<stream::Lost>& lost);
std::string to_json(const Manifest& manifest);
// Errors: kBadInput with the place in `file_name` where the JSON is wrong, or naming the field; a schema
// version that is newer than ours.
core::Result<Manifest> manifest_from_json(std::string_view text, std::string_view file_name);

}  // namespace belay::record
