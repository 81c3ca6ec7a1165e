// The files of a sealed record: its tables, what was made of them, annexes and kept answers.
#include "core/file.h"
#include "record/archive/archive.h"
#include "record/archive/older_events.h"
#include "record/archive/parquet_file.h"
#include "schema/tables/coverage.h"
#include "schema/tables/event.h"

#include <algorithm>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::record {

using core::Result;
namespace fs = std::filesystem;

// A file that is older than a column of its table has null there; one that somebody else wrote has the types
// that are declared, or cannot be read.
Result<std::string> Archive::rows_of_file(const schema::Table& table, const TableFile& file) {
    const std::string source = fmt::format("read_parquet({})", file.lent);
    BELAY_TRY(described, database_.query(fmt::format(
                             "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {})", source)));
    std::map<std::string, std::string, std::less<>> types;
    for (const auto& row : described.rows) types[as_text(row[0])] = as_text(row[1]);
    std::string added;
    std::string cast;
    for (const schema::Column& column : table.columns) {
        auto found = types.find(column.name);
        const std::string_view type = sql_type(column.type);
        if (found == types.end())
            added += fmt::format(", CAST(NULL AS {}) AS \"{}\"", type, column.name);
        else if (found->second != type)
            cast += fmt::format("{0}CAST(\"{1}\" AS {2}) AS \"{1}\"", cast.empty() ? "" : ", ", column.name,
                                type);
    }
    const std::string replaced = cast.empty() ? "" : fmt::format(" REPLACE ({})", cast);
    std::string rows = added.empty() && cast.empty()
                           ? source
                           : fmt::format("(SELECT *{}{} FROM {})", replaced, added, source);
    // A type that cannot become the declared one is the file's fault: it is met here, not when the view is
    // made.
    if (!cast.empty())
        BELAY_CHECK(database_.columns_of(fmt::format("SELECT * FROM {}", rows), Statement::kOwnQuery));
    if (&table == &schema::kEvent && !types.contains("source")) rows = facts_of_older_events(rows);
    return rows;
}

Result<> Archive::make_view(const schema::Table& table, const TableFile& file) {
    BELAY_TRY(rows, rows_of_file(table, file));
    BELAY_CHECK(database_.execute(fmt::format("CREATE VIEW \"{}\" AS SELECT * FROM {}", table.name, rows)));
    sources_[std::string(table.name)] = rows;
    return {};
}

Result<std::optional<std::string>> Archive::kept_facts(const schema::Table& table) {
    auto file = files_.find(table.name);
    if (file == files_.end()) return std::optional<std::string>();
    if (!file->second.opened) return std::unexpected(file->second.opened.error());
    BELAY_TRY(facts, parquet_facts(database_, file->second.lent));
    return std::optional(std::move(facts));
}

Result<> Archive::attach(const schema::Table& table) {
    if (sources_.contains(table.name)) return {};
    auto file = files_.find(table.name);
    if (file == files_.end()) return core::bad_input("the record has no table {}", table.name);
    if (!file->second.opened) return std::unexpected(file->second.opened.error());
    return make_view(table, file->second);
}

Result<> Archive::detach(const schema::Table& table) {
    sources_.erase(std::string(table.name));
    return database_.execute(fmt::format("DROP VIEW IF EXISTS \"{}\"", table.name));
}

Result<> Archive::open_files(const core::Directory& record) {
    constexpr std::string_view kSuffix = ".parquet";
    constexpr size_t kMostFiles = 64;  // beside the tables of a record there are a few of its digest
    BELAY_TRY(facts, record.facts(kTablesName));
    if (!facts) return {};
    BELAY_TRY(directory, record.enter(kTablesName));
    BELAY_TRY(names, directory.list());
    for (const std::string& name : names) {
        if (!name.ends_with(kSuffix)) continue;
        const std::string table = name.substr(0, name.size() - kSuffix.size());
        const bool is_ours =
            std::ranges::find(schema::tables(), table, &schema::Table::name) != schema::tables().end();
        if (!is_ours && files_.size() >= kMostFiles) continue;
        TableFile file{.path = directory.path_of(name), .opened = directory.open_file(name, O_RDONLY)};
        if (file.opened) file.lent = database_.lend(file.opened->get(), file.path);
        files_.emplace(table, std::move(file));
    }
    return {};
}

Result<> Archive::open_annexes(const core::Directory& record) {
    BELAY_TRY(facts, record.facts(kAnnexesName));
    if (!facts) return {};
    BELAY_TRY(directory, record.enter(kAnnexesName));
    BELAY_TRY(names, directory.list());
    std::ranges::sort(names);
    for (const std::string& name : names) {
        const auto annex = parse_annex_file(name);
        if (!annex) continue;
        const std::string place = fmt::format("{}/{}", kAnnexesName, name);
        if (annexes_.size() == kMostAnnexes) {
            lost_.push_back({place, 0, 0, fmt::format("is not read: only {} annexes are", kMostAnnexes)});
            continue;
        }
        TableFile file{.path = directory.path_of(name), .opened = directory.open_file(name, O_RDONLY)};
        if (file.opened) {
            file.lent = database_.lend(file.opened->get(), file.path);
            // All of it: what is damaged must not make the table unreadable.
            auto rows = rows_of_file(*annex->table, file);
            auto whole = rows ? database_.query(fmt::format("SELECT max(COLUMNS(*)) FROM {}", *rows))
                              : std::unexpected(std::move(rows.error()));
            if (!whole) file.opened = std::unexpected(std::move(whole.error()));
        }
        // What this machine lacks is not a loss of the record.
        if (!file.opened && file.opened.error().kind() == core::ErrorKind::kSystem)
            return std::unexpected(std::move(file.opened.error()).context(place + " cannot be read"));
        if (!file.opened) {
            lost_.push_back({place, 0, 0, "cannot be read: " + file.opened.error().message()});
            unread_annexes_.try_emplace(std::string(annex->table->name),
                                        std::move(file.opened.error()).context(place + " cannot be read"));
        } else
            annexes_.emplace_back(*annex, std::move(file));
    }
    for (const schema::Table* table : schema::tables())
        if (table->takes_annexes) BELAY_CHECK(add_annexes_to(*table));
    return {};
}

// The table becomes a view of what was recorded and what came later.
Result<> Archive::add_annexes_to(const schema::Table& table) {
    std::string select;
    for (const auto& [annex, file] : annexes_) {
        if (annex.table != &table) continue;
        BELAY_TRY(rows, rows_of_file(table, file));
        select += fmt::format("{}SELECT * FROM {}", select.empty() ? "" : " UNION ALL BY NAME ", rows);
    }
    if (select.empty()) return {};
    if (auto recorded = sources_.find(table.name); recorded != sources_.end()) {
        select = fmt::format("SELECT * FROM {} UNION ALL BY NAME {}", recorded->second, select);
        sources_.erase(recorded);
        BELAY_CHECK(database_.execute(fmt::format("DROP VIEW \"{}\"", table.name)));
    } else {  // nothing was recorded
        BELAY_CHECK(database_.execute(fmt::format("DROP TABLE \"{}\"", table.name)));
    }
    return database_.execute(fmt::format("CREATE VIEW \"{}\" AS {}", table.name, select));
}

// One that cannot be read is none: all can be asked again. Nor is what another user wrote: SQL gives rows of
// the shape that was asked for, and this file may hold anything.
void Archive::read_answers(const core::Directory& record) {
    constexpr uint64_t kMostBytes = 32U << 20;
    auto directory = record.enter(kTablesName);
    if (!directory) return;
    auto file = directory->open_file(kAnswersName, O_RDONLY);
    struct stat status{};
    if (!file || fstat(file->get(), &status) != 0 || status.st_uid != geteuid()) return;
    if (auto text = core::read_to_end(file->get(), directory->path_of(kAnswersName).string(), kMostBytes))
        answers_ = answers_from_json(*text, *manifest_.sealed);
}

Result<> Archive::open_tables(const fs::path& record, std::span<const StandIn> stand_ins) {
    for (const schema::Table* table : schema::tables()) BELAY_CHECK(open_table(record, *table, stand_ins));
    return uncover_unreadable();
}

// What cannot be read covers nothing, whoever asks.
Result<> Archive::uncover_unreadable() {
    std::string names;
    for (const auto& [table, error] : unreadable_)
        if (!is_thrown_away(table)) names += (names.empty() ? "" : ", ") + sql_literal(table);
    auto coverage = sources_.find(schema::kCoverage.name);
    if (names.empty() || coverage == sources_.end()) return {};
    return database_.execute(
        fmt::format("CREATE OR REPLACE VIEW \"{}\" AS SELECT * REPLACE (CASE WHEN table_name IN ({}) THEN 0 "
                    "ELSE received "
                    "END AS received) FROM {}",
                    schema::kCoverage.name, names, coverage->second));
}

Result<> Archive::open_table(const fs::path& record, const schema::Table& table,
                             std::span<const StandIn> stand_ins) {
    const std::string name = fmt::format("{}.parquet", table.name);
    const fs::path path = tables_path(record) / name;
    const auto file = files_.find(table.name);
    const auto stand_in = std::ranges::find_if(
        stand_ins, [&](const StandIn& one) { return one.table == table.name && files_.contains(one.kept); });
    if (file != files_.end()) {
        Result<> opened = file->second.opened ? make_view(table, file->second)
                                              : std::unexpected(file->second.opened.error());
        if (opened) return {};
        const std::string reason = "cannot be read: " + opened.error().message();
        core::Error why = std::move(opened.error()).context(fmt::format("{} cannot be read", path.string()));
        if (why.kind() == core::ErrorKind::kSystem) return std::unexpected(std::move(why));
        // It is damaged. The other tables are still worth reading.
        lost_.push_back({name, 0, 0, reason});
        why = std::move(why).hint("copy the record again: what the file held counts as missing");
        unreadable_.try_emplace(std::string(table.name), std::move(why));
    } else if (stand_in != stand_ins.end()) {
        lost_.push_back({name, 0, 0, "is missing; its digest is there"});
        thrown_away_.emplace(table.name);
        unreadable_.try_emplace(
            std::string(table.name),
            core::bad_input("{} is not there: its samples were thrown away", path.string())
                .hint(fmt::format("{}.parquet beside it holds what was made of them", stand_in->kept))
                .error());
    } else if (manifest_.tables.contains(std::string(table.name))) {
        return core::bad_input("{} is incomplete: {} is missing", record.string(), path.string())
            .hint("copy the record again, with its tables directory");
    }  // else the record is older than the table
    return database_.execute(create_table_sql(table));
}

}  // namespace belay::record
