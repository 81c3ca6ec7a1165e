// All rows that belayd has: what came lately in the block log, and what was packed of it. Keeps them packed, takes away what is too
// old, and reads both as one.
//
//   BELAY_TRY(history, History::open("/var/lib/belay/packed", *intake, {}));
//   every minute:  BELAY_TRY(packed, history->pack());               // and merge(), retain(held)
//   BELAY_TRY(read, history->read_rows({.tables = {&kGpu}, .nodes = {"n1"}, .range = job}, visit));
//
// Several belayd may keep one directory; one of them packs at a time. The intake outlives this. Thread-safe.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/time.h"
#include "server/blocks/block_reader.h"
#include "server/blocks/intake.h"
#include "server/packed/catalog_store.h"
#include "server/packed/packed_files.h"
#include "server/packed/packer.h"
#include "server/packed/retention.h"
#include "server/packed/spans.h"
#include "server/packed/tier_merge.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace belay::server {

// Held, as long as it lives, by the one that changes what is packed; nothing where another belayd has it. With more than one belayd on
// file systems without locks, the state that they share can give one. It only saves work: two that pack at once do no harm.
using Lease = std::shared_ptr<void>;
using TakeLease = std::function<core::Result<Lease>()>;

struct HistoryOptions {
    PackedLimits packed = {};
    GroupLimits group = {};
    MergeLimits merge = {};
    Retention keep = {};
    // After that, the newest file of a belayd that is not at work counts as closed.
    core::Duration idle = std::chrono::hours(1);
    // Streams of which nothing came for so long are forgotten: what comes again of them is taken for new.
    core::Duration forget_streams = std::chrono::hours(90 * 24);
    size_t index_memory = size_t{64} << 20;  // for indexes of packed files
    TakeLease lease = {};                    // empty: a lock in the directory
};

struct PackRound {
    bool is_busy = false;           // another belayd changes what is packed
    std::vector<std::string> logs;  // that were packed, and are gone; none where nothing was to be done
    std::vector<PackedFile> files;
    std::vector<LostPart> lost;
    uint64_t duplicates = 0;
};
struct MergeRound {
    bool is_busy = false;
    std::vector<std::string> merged;  // files that are gone
    std::optional<PackedFile> file;
    std::vector<LostPart> lost;
};
struct RetainRound {
    bool is_busy = false;
    RetentionPlan plan;  // what was removed, and why
};

struct RowQuery {
    std::vector<const schema::Table*> tables;  // empty: all
    std::vector<std::string> nodes;            // empty: all
    TimeRange range;
    std::vector<size_t> columns = {};  // of the one table; empty: all. Others are null
};
// `session` says which stream, and how it was sampled. The batch holds until the next call.
using RowVisitor = std::function<core::Result<>(const stream::Session& session, const stream::Batch& rows)>;

struct SpanQuery {
    const schema::Table* table = nullptr;
    std::vector<std::string> nodes;  // empty: all
    TimeRange range;                 // of the beginnings of spans
    Tier resolution = Tier::kMinute;
    std::vector<size_t> columns = {};  // of the table; empty: all that are sampled
};

struct ReadHistory {
    uint64_t rows = 0;           // that were handed on, or of which spans were made
    std::vector<LostPart> lost;  // parts within the range that are damaged
};

class History {
  public:
    // Makes the directory, 0700, if it is not there. The intake learns which blocks are packed. Errors: kBadInput for a directory of
    // another user's; kSystem.
    static core::Result<std::unique_ptr<History>> open(const std::filesystem::path& directory, Intake& intake,
                                                       HistoryOptions options = {},
                                                       core::Clock& clock = core::system_clock());

    // Takes in what others have stored and packed. Errors: kSystem.
    core::Result<> look();
    // Packs the closed files that belong together, of the writer whose are the oldest, and takes them away; `all`: also those to
    // which more may come. To be called again until no logs are left to do. Errors: kSystem, kNoSpace: nothing has changed then.
    core::Result<PackRound> pack(bool all = false);
    // Merges the next files of spans. Errors: likewise.
    core::Result<MergeRound> merge();
    // Takes away what is older, or more, than is to be kept. Errors: likewise.
    core::Result<RetainRound> retain(const Held& held = {});

    // Each row once, in order of time for each stream and table. Nodes come one after the other. Errors: kSystem; what `visit` returns.
    core::Result<ReadHistory> read_rows(const RowQuery& query, const RowVisitor& visit);
    // The spans of each node, thing and column; see spans.h. A reading before the range is looked for 15 minutes back. Errors:
    // kBadInput for a table that is not sampled; kSystem; what `visit` returns.
    core::Result<ReadHistory> read_spans(const SpanQuery& query, const SpanVisitor& visit);
    // The same of the rows of one packed file alone, in order of node and stream, for those who copy it elsewhere.
    core::Result<ReadHistory> read_file(const PackedFile& file, const RowQuery& query,
                                        const RowVisitor& visit);

    // Errors: as of PackedReader::open.
    core::Result<std::shared_ptr<const PackedReader>> open_packed(const PackedFile& file) {
        return files_.open(file);
    }

    // That have rows, or spans that begin, within the range; sorted.
    core::Result<std::vector<std::string>> nodes(const TimeRange& range = {});
    std::shared_ptr<const Catalog> catalog() const;
    // Catalogs that are damaged.
    std::vector<LostPart> lost() const;
    const core::Directory& directory() const { return store_.directory(); }

  private:
    friend class HistoryReading;
    History(CatalogStore store, Intake& intake, HistoryOptions options, core::Clock& clock);
    core::Result<Lease> take_lease();
    core::Result<> refresh(bool always);
    void publish(ReadCatalog read);
    core::Result<bool> commit(Catalog next);
    template <typename Work>
    core::Result<bool> is_overtaken(const Catalog& before, const core::Result<Work>& work) const;
    core::Result<> remove_packed_logs(const Catalog& catalog);
    core::Result<> remove_files(const std::vector<std::string>& names);
    core::Result<Catalog> next_catalog();

    CatalogStore store_;
    Intake* intake_;
    HistoryOptions options_;
    core::Clock* clock_;
    PackedFiles files_;
    LogPool open_logs_;
    std::mutex changing_;  // held while what is packed is changed
    mutable std::mutex mutex_;
    std::shared_ptr<const Catalog> catalog_;
    std::vector<LostPart> lost_;
};

}  // namespace belay::server
