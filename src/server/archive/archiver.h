// Copies rows that are packed into Parquet files that anything reads, partitioned as Hive does:
//
//   DIRECTORY/table=gpu/day=2026-03-01/cluster=alps/part-0000000000000007.parquet
//
//   SELECT day, avg(power_watts) FROM read_parquet('DIRECTORY/table=gpu/*/*/*.parquet', hive_partitioning = true) GROUP BY day
//
// Columns are those of the record's tables (record/archive/parquet_file.h), named with their units. Each row is there once, also when
// archiving was killed or ran twice: what was archived is told by packed file (archive_state.h), and parts appear whole. A day has a
// part for each day on which rows of it came, so rows that came late are in a part of their own.
//
// One archiver at a time writes to a directory; the history outlives it. Not thread-safe.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/file_lock.h"
#include "core/time.h"
#include "core/units.h"
#include "server/archive/archive_state.h"
#include "server/packed/history.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace belay::server {

struct ArchiveOptions {
    std::string unnamed_cluster = "none";  // of streams that name no cluster
    core::Duration settled =
        std::chrono::minutes(45);        // how long after its end a day is archived: then it is packed
    core::ByteSize memory{512'000'000};  // of DuckDB while it writes
};

struct ArchivedPart {
    std::string name;  // below the directory
    uint64_t rows = 0;
    uint64_t bytes = 0;
};
struct ArchiveRound {
    bool is_busy = false;             // another belayd archives
    std::vector<std::string> packed;  // files whose rows are now in the archive
    std::vector<ArchivedPart> parts;
    std::vector<LostPart> lost;  // parts of packed files that are damaged, and files that are gone
};

class Archiver {
  public:
    // Makes the directory, 0700, if it is not there. Errors: kBadInput for a directory of another user's, or a damaged state of an
    // archive; kSystem.
    static core::Result<Archiver> open(const std::filesystem::path& directory, History& history,
                                       ArchiveOptions options = {},
                                       core::Clock& clock = core::system_clock());

    // Archives rows of the oldest day of arrival that is over and not archived; `all`: whatever is packed. To be called again until
    // `packed` is empty. Errors: kSystem, kNoSpace; what was written by then is written again by the next round.
    core::Result<ArchiveRound> run(bool all = false);
    // What retention must not take: raw rows that are not in the archive yet. Errors: kSystem.
    core::Result<Held> held() const;

  private:
    Archiver(core::Directory directory, History& history, ArchiveOptions options, core::Clock& clock)
        : directory_(std::move(directory)),
          history_(&history),
          options_(std::move(options)),
          clock_(&clock) {}
    core::Result<ArchiveState> read_state() const;
    core::Result<> write_state(const ArchiveState& state) const;
    std::vector<PackedFile> next_files(const Catalog& catalog, const ArchiveState& state, bool all) const;
    core::Result<> carry_out(uint64_t plan, const std::vector<PackedFile>& files, ArchiveRound& round) const;

    core::Directory directory_;
    History* history_;
    ArchiveOptions options_;
    core::Clock* clock_;
};

}  // namespace belay::server
