#include "server/packed/history.h"

#include "core/file_lock.h"

#include <algorithm>
#include <fcntl.h>
#include <iterator>

namespace belay::server {

using core::Result;

namespace {

constexpr const char* kLockName = "pack.lock";
constexpr const char* kLeaseName = "pack.lease";

Result<> remove_named(const core::Directory& directory, const std::string& name) {
    auto removed = directory.remove_file(name);
    if (!removed && removed.error().cause() == core::Cause::kNotFound) return {};
    return removed;
}

}  // namespace

History::History(CatalogStore store, Intake& intake, HistoryOptions options, core::Clock& clock)
    : store_(std::move(store)),
      intake_(&intake),
      options_(std::move(options)),
      clock_(&clock),
      files_(store_.directory(), options_.index_memory),
      catalog_(std::make_shared<const Catalog>()) {}

Result<std::unique_ptr<History>> History::open(const std::filesystem::path& directory, Intake& intake,
                                               HistoryOptions options, core::Clock& clock) {
    BELAY_TRY(store, CatalogStore::open(directory));
    std::unique_ptr<History> history(new History(std::move(store), intake, std::move(options), clock));
    BELAY_CHECK(history->refresh(true));
    return history;
}

// Nothing where another belayd has it. Within this process `changing_` keeps others out.
Result<Lease> History::take_lease() {
    if (options_.lease) return options_.lease();
    struct LockedFile {
        core::Descriptor file;
        std::optional<core::FileLock> lock = {};  // goes before the file
    };
    auto held = std::make_shared<LockedFile>();
    BELAY_TRY(file, store_.directory().open_file(kLockName, O_RDWR | O_CREAT, 0600));
    held->file = std::move(file);
    BELAY_TRY(lock, core::FileLock::try_acquire(held->file.get(), store_.directory(), kLeaseName));
    if (!lock) return Lease();
    held->lock = std::move(lock);
    return Lease(std::move(held));
}

std::shared_ptr<const Catalog> History::catalog() const {
    const std::lock_guard lock(mutex_);
    return catalog_;
}

std::vector<LostPart> History::lost() const {
    const std::lock_guard lock(mutex_);
    return lost_;
}

// The intake learns first that blocks are packed, and forgets their files last: in between both have them, which readers tell by
// the blocks' numbers.
void History::publish(ReadCatalog read) {
    for (const auto& [stream, packed] : read.catalog->streams) intake_->know(stream, packed.blocks.runs());
    {
        const std::lock_guard lock(mutex_);
        if (read.catalog->sequence < catalog_->sequence)
            return;  // read by another thread before the next one came
        catalog_ = read.catalog;
        std::ranges::move(read.lost, std::back_inserter(lost_));
    }
    for (const std::string& file : intake_->files())
        if (read.catalog->packed_logs.contains(file)) intake_->forget(file);
}

Result<> History::refresh(bool always) {
    BELAY_TRY(newest, store_.newest());
    if (!always && newest == catalog()->sequence) return {};
    BELAY_TRY(read, store_.read(intake_->directory()));
    publish(std::move(read));
    return {};
}

Result<> History::look() {
    BELAY_CHECK(intake_->look());
    BELAY_CHECK(refresh(false));
    const auto now = catalog();
    BELAY_TRY(names, intake_->directory().list());
    for (const std::string& file : intake_->files())
        if (now->packed_logs.contains(file) || !std::ranges::binary_search(names, file))
            intake_->forget(file);
    return {};
}

// False, and nothing has changed, where another was first.
Result<bool> History::commit(Catalog next) {
    next.sort_files();
    BELAY_TRY(is_first, store_.commit(next));
    if (!is_first) return false;
    publish({.catalog = std::make_shared<const Catalog>(std::move(next)), .lost = {}});
    return true;
}

Result<Catalog> History::next_catalog() {
    BELAY_CHECK(refresh(false));
    Catalog next = *catalog();
    ++next.sequence;
    return next;
}

// Files of the log that are packed but still there, since somebody was killed before they went.
Result<> History::remove_packed_logs(const Catalog& catalog) {
    BELAY_TRY(names, intake_->directory().list());
    for (const std::string& name : names) {
        const auto packed = catalog.packed_logs.find(name);
        if (packed == catalog.packed_logs.end() || name == intake_->file_in_use()) continue;
        // Another size: a clock that was put back has made the name again.
        BELAY_TRY(facts, intake_->directory().facts(name));
        if (facts && facts->bytes == packed->second) BELAY_CHECK(remove_named(intake_->directory(), name));
    }
    return {};
}

Result<> History::remove_files(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        files_.forget(name);
        BELAY_CHECK(remove_named(store_.directory(), name));
    }
    return {};
}

// Whether work failed because somebody, who does not heed the lease, has done it meanwhile: the files were gone. Errors: kSystem.
template <typename Work>
Result<bool> History::is_overtaken(const Catalog& before, const Result<Work>& work) const {
    if (work || work.error().cause() != core::Cause::kNotFound) return false;
    BELAY_TRY(newest, store_.newest());
    return newest != before.sequence;
}

Result<PackRound> History::pack(bool all) {
    const std::lock_guard changing(changing_);
    BELAY_TRY(lease, take_lease());
    if (!lease) return PackRound{.is_busy = true};
    BELAY_CHECK(look());
    BELAY_TRY(next, next_catalog());
    const auto before = catalog();
    BELAY_CHECK(remove_packed_logs(*before));
    BELAY_TRY(leftovers, store_.remove_leftovers(*before));
    for (const std::string& name : leftovers) files_.forget(name);
    const core::Time now = clock_->now();
    const OwnLog own{.writer = intake_->writer(), .in_use = intake_->file_in_use()};
    BELAY_TRY(logs, list_logs(intake_->directory(), own, now, options_.idle));
    const std::vector<LogFile> group =
        next_group(logs, options_.group, all ? std::nullopt : std::optional(now));
    if (group.empty()) return PackRound();
    auto made = pack_logs(intake_->directory(), group, store_.directory(), *before, options_.packed);
    BELAY_TRY(was_overtaken, is_overtaken(*before, made));
    if (was_overtaken) return PackRound{.is_busy = true};
    BELAY_TRY(packed, std::move(made));
    std::ranges::copy(packed.files, std::back_inserter(next.files));
    std::erase_if(next.streams,
                  [&](const auto& stream) { return now - stream.second.arrived > options_.forget_streams; });
    for (const auto& [stream, blocks] : packed.streams) {
        PackedBlocks& known = next.streams[stream];
        known.blocks.add(blocks.blocks);
        known.arrived = std::max(known.arrived, blocks.arrived);
    }
    next.packed_logs.clear();  // those of before are gone
    for (const LogFile& log : group) next.packed_logs[log.name] = log.bytes;
    BELAY_TRY(is_first, commit(std::move(next)));
    if (!is_first) return PackRound{.is_busy = true};
    BELAY_CHECK(remove_packed_logs(*catalog()));
    return PackRound{.logs = std::move(packed.logs),
                     .files = std::move(packed.files),
                     .lost = std::move(packed.lost),
                     .duplicates = packed.duplicates};
}

Result<MergeRound> History::merge() {
    const std::lock_guard changing(changing_);
    BELAY_TRY(lease, take_lease());
    if (!lease) return MergeRound{.is_busy = true};
    BELAY_TRY(next, next_catalog());
    const auto before = catalog();
    const std::vector<PackedFile> files = next_merge(*before, options_.merge, clock_->now());
    if (files.empty()) return MergeRound();
    auto made = merge_tier(store_.directory(), files, *before, options_.packed);
    BELAY_TRY(was_overtaken, is_overtaken(*before, made));
    if (was_overtaken) return MergeRound{.is_busy = true};
    BELAY_TRY(merged, std::move(made));
    MergeRound round{.file = std::move(merged.file), .lost = std::move(merged.lost)};
    for (const PackedFile& file : files) round.merged.push_back(file.name);
    std::erase_if(next.files, [&](const PackedFile& file) {
        return std::ranges::find(round.merged, file.name) != round.merged.end();
    });
    if (round.file) next.files.push_back(*round.file);
    BELAY_TRY(is_first, commit(std::move(next)));
    if (!is_first) return MergeRound{.is_busy = true};
    BELAY_CHECK(remove_files(round.merged));
    return round;
}

Result<RetainRound> History::retain(const Held& held) {
    const std::lock_guard changing(changing_);
    BELAY_TRY(lease, take_lease());
    if (!lease) return RetainRound{.is_busy = true};
    BELAY_TRY(next, next_catalog());
    RetainRound round{.plan = plan_retention(next, options_.keep, clock_->now(), held)};
    if (round.plan.removed.empty()) return round;
    std::vector<std::string> names;
    for (const RemovedFile& removed : round.plan.removed) names.push_back(removed.file.name);
    std::erase_if(next.files,
                  [&](const PackedFile& file) { return std::ranges::find(names, file.name) != names.end(); });
    BELAY_TRY(is_first, commit(std::move(next)));
    if (!is_first) return RetainRound{.is_busy = true};
    BELAY_CHECK(remove_files(names));
    return round;
}

}  // namespace belay::server
