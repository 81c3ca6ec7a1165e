// The records of jobs that belayd keeps: DATA/records/CLUSTER/YYYY-MM/KEY/, where the files are that judge.h names. A directory of a
// job is there with its whole record, sealed, or not at all.
//
//   BELAY_TRY(store, RecordStore::open("/var/lib/belay/records", {.belay = "/usr/bin/belay"}));
//   BELAY_TRY(built, store.build(intake, "alps-4711-0-1764412345", job));
//   BELAY_TRY(judged, store.judge("alps-4711-0-1764412345"));
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/time.h"
#include "server/blocks/intake.h"
#include "server/records/adopt.h"
#include "server/records/cut_blocks.h"
#include "server/records/job_key.h"
#include "server/records/judge.h"
#include "server/records/limited_program.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

struct RecordStoreOptions {
    std::filesystem::path belay = "belay";  // the program that judges; without a "/", looked for in PATH
    ProgramLimits judging = {};             // of each of its runs
    AdoptLimits adopting = {};
};

struct BuiltRecord {
    std::filesystem::path path;  // of the job's directory
    bool was_there = false;      // and left as it was: of the rest nothing is known
    std::vector<std::string> nodes;
    uint64_t rows = 0;
    std::vector<stream::Lost> lost;
};

// Thread-safe, but for one key there is one call at a time. Keys that are none are kBadInput everywhere.
class RecordStore {
  public:
    // Makes the directory, 0700, if it is not there, and takes away what processes have left that were killed while they made or
    // removed a record. The clock outlives this. Errors: kBadInput for a directory that others can exchange; kSystem.
    static core::Result<RecordStore> open(const std::filesystem::path& directory, RecordStoreOptions options,
                                          core::Clock& clock = core::system_clock());

    // Cuts the record of the job and seals it. A job that has one keeps it. Errors: as of cut_from_blocks() and
    // record::seal(); nothing is left then.
    core::Result<BuiltRecord> build(Intake& intake, std::string_view key, const JobToCut& job) const;
    // Likewise, in the place of the one before and of what was judged of it, which stay where it fails.
    core::Result<BuiltRecord> rebuild(Intake& intake, std::string_view key, const JobToCut& job) const;
    // The same of rows that are elsewhere too.
    core::Result<BuiltRecord> build(const StreamSources& sources, std::string_view key,
                                    const JobToCut& job) const;
    core::Result<BuiltRecord> rebuild(const StreamSources& sources, std::string_view key,
                                      const JobToCut& job) const;
    // Takes a record that lies in `directory`, which stays as it is. One that is not sealed is sealed. Errors: kBadInput if the
    // job has a record, and as of copy_record() and check_record(); nothing is left then.
    core::Result<> adopt(std::string_view key, const std::filesystem::path& directory) const;
    // Asks `belay` for score, findings and report, and keeps them beside the record. That it fails is an answer. Errors: kNotFound
    // if the job has no record; kSystem, where answers cannot be kept.
    core::Result<Judged> judge(std::string_view key) const;
    // How that went; nothing where it was not judged yet. Errors: kBadInput for a file that is damaged; kSystem.
    core::Result<std::optional<Judged>> judged(std::string_view key) const;
    // The record and all that belongs to it. False if there is none. Errors: kSystem.
    core::Result<bool> erase(std::string_view key) const;

    // The directory of a job, whether it is there or not. The record is in it under kRecordName.
    core::Result<std::filesystem::path> path_of(std::string_view key) const;
    core::Result<bool> has(std::string_view key) const;
    // Of all jobs with a record, sorted. Errors: kSystem.
    core::Result<std::vector<std::string>> keys() const;

  private:
    RecordStore(core::Directory root, RecordStoreOptions options, core::Clock& clock)
        : root_(std::move(root)), options_(std::move(options)), clock_(&clock) {}
    core::Result<core::Directory> month_for(const JobKey& key) const;
    core::Result<std::vector<core::Directory>> months() const;
    core::Result<BuiltRecord> make(const StreamSources& sources, std::string_view key, const JobToCut& job,
                                   bool replaces) const;

    core::Directory root_;
    RecordStoreOptions options_;
    core::Clock* clock_;
};

}  // namespace belay::server
