#include "server/archive/archiver.h"

#include "core/file.h"
#include "core/new_file.h"
#include "core/text.h"
#include "record/archive/database.h"
#include "record/archive/parquet_file.h"
#include "server/archive/archive_rows.h"

#include <algorithm>
#include <fcntl.h>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace belay::server {

using core::Result;

namespace {

constexpr const char* kStateName = "state";
constexpr const char* kArchiveLock = "archive.lock";
constexpr const char* kArchiveLease = "archive.lease";
constexpr size_t kMaxStateBytes = size_t{256} << 20;
constexpr std::string_view kUnfinished = ".parquet.tmp-";

Result<> make_path(const core::Directory& directory, std::string_view path) {
    for (size_t end = path.find('/');; end = path.find('/', end + 1)) {
        BELAY_TRY(is_new, directory.make_directory(path.substr(0, end)));
        (void)is_new;
        if (end == std::string_view::npos) break;
    }
    return {};
}

// What a kill left there, where a file cannot be without a name until it is whole.
Result<> remove_unfinished(const core::Directory& directory) {
    BELAY_TRY(names, directory.list());
    for (const std::string& name : names)
        if (name.find(kUnfinished) != std::string::npos) BELAY_CHECK(directory.remove_file(name));
    return {};
}

}  // namespace

Result<Archiver> Archiver::open(const std::filesystem::path& path, History& history, ArchiveOptions options,
                                core::Clock& clock) {
    BELAY_TRY(directory, core::Directory::make_guarded(path, 0700));
    Archiver archiver(std::move(directory), history, std::move(options), clock);
    BELAY_CHECK(archiver.read_state());
    return archiver;
}

Result<ArchiveState> Archiver::read_state() const {
    auto text = directory_.read_file(kStateName, kMaxStateBytes);
    if (!text && text.error().cause() == core::Cause::kNotFound) return ArchiveState();
    if (!text) return std::unexpected(std::move(text.error()));
    auto state = decode_archive_state(*text);
    if (state) return state;
    return std::unexpected(std::move(state.error())
                               .context(directory_.path_of(kStateName).string())
                               .hint("put it back from a backup; without it rows that are archived would be "
                                     "archived again"));
}

Result<> Archiver::write_state(const ArchiveState& state) const {
    BELAY_TRY(file, core::NewFile::begin(directory_, kStateName));
    BELAY_CHECK(core::write_all(file.fd(), encode_archive_state(state), file.path().string()));
    return std::move(file).replace();
}

// Of one day of arrival, the oldest: what came in ten minutes would make small parts.
std::vector<PackedFile> Archiver::next_files(const Catalog& catalog, const ArchiveState& state,
                                             bool all) const {
    std::vector<PackedFile> files;
    for (const PackedFile& file : catalog.files) {
        if (file.tier != Tier::kRaw || state.archived.contains(file.name)) continue;
        const TimeRange day = range_of_day(file.arrived_until);
        if (!all && clock_->now() - options_.settled < day.end) continue;
        if (!files.empty() && day.begin > range_of_day(files.front().arrived_until).begin) continue;
        if (!files.empty() && day.begin < range_of_day(files.front().arrived_until).begin) files.clear();
        files.push_back(file);
    }
    return files;
}

Result<> Archiver::carry_out(uint64_t plan, const std::vector<PackedFile>& files, ArchiveRound& round) const {
    BELAY_TRY(parts, parts_of(*history_, files, options_.unnamed_cluster, round.lost));
    std::vector<std::string> names;
    for (const PackedFile& file : files) names.push_back(file.name);
    for (const auto& [part, wanted] : parts) {
        const auto rows =
            std::make_shared<ArchiveRows>(*history_, files, part, wanted, options_.unnamed_cluster);
        // Looked at before a file is begun: there may be none.
        BELAY_TRY(first, rows->next(1));
        if (first.count == 0) {
            std::ranges::copy(rows->lost(), std::back_inserter(round.lost));
            continue;
        }
        const std::string place = archive_directory(part.table->name, part.day, part.cluster);
        BELAY_CHECK(make_path(directory_, place));
        BELAY_TRY(directory, directory_.enter(place));
        BELAY_CHECK(remove_unfinished(directory));
        BELAY_TRY(database, record::Database::open(1, {.memory = options_.memory}));
        const record::RowSource source{
            .table = part.table, .rows = 0, .begin = [&]() -> record::RowCursor {
                return [rows, first = std::optional(first)](size_t most) mutable -> Result<record::RowRun> {
                    if (const auto run = std::exchange(first, std::nullopt)) return *run;
                    return rows->next(most);
                };
            }};
        BELAY_CHECK(database.register_rows("belay_archive_rows", source));
        BELAY_CHECK(database.execute(
            fmt::format("CREATE VIEW \"{}\" AS SELECT * FROM belay_archive_rows()", part.table->name)));
        const std::string name = archive_part_name(plan);
        BELAY_TRY(file, core::NewFile::begin(directory, name, 0600, name + ".tmp-"));
        BELAY_CHECK(record::write_parquet(database, *part.table, record::RowOrder::kAsTheyCome,
                                          std::move(file), core::join(names, " ")));
        BELAY_TRY(facts, directory.facts(name));
        round.parts.push_back({place + "/" + name, rows->rows(), facts ? facts->bytes : 0});
        std::ranges::copy(rows->lost(), std::back_inserter(round.lost));
    }
    return {};
}

Result<ArchiveRound> Archiver::run(bool all) {
    BELAY_TRY(lock_file, directory_.open_file(kArchiveLock, O_RDWR | O_CREAT, 0600));
    BELAY_TRY(lock, core::FileLock::try_acquire(lock_file.get(), directory_, kArchiveLease));
    if (!lock) return ArchiveRound{.is_busy = true};
    BELAY_CHECK(history_->look());
    BELAY_TRY(state, read_state());
    const auto catalog = history_->catalog();
    std::vector<PackedFile> files;
    if (state.pending.empty()) {
        files = next_files(*catalog, state, all);
        if (files.empty()) return ArchiveRound();
        for (const PackedFile& file : files) state.pending.insert(file.name);
        BELAY_CHECK(write_state(state));
    } else {
        for (const PackedFile& file : catalog->files)
            if (state.pending.contains(file.name)) files.push_back(file);
    }
    ArchiveRound round;
    for (const std::string& name : state.pending)
        if (catalog->find(name) == nullptr)
            round.lost.push_back({name, 0, 0, "was removed before all of it was archived"});
    BELAY_CHECK(carry_out(state.plan, files, round));
    round.packed.assign(state.pending.begin(), state.pending.end());
    state.archived.insert(state.pending.begin(), state.pending.end());
    state.pending.clear();
    ++state.plan;
    std::erase_if(state.archived, [&](const std::string& name) { return catalog->find(name) == nullptr; });
    BELAY_CHECK(write_state(state));
    return round;
}

Result<Held> Archiver::held() const {
    BELAY_TRY(state, read_state());
    return Held([state](const PackedFile& file) {
        return file.tier == Tier::kRaw && !state.archived.contains(file.name);
    });
}

}  // namespace belay::server
