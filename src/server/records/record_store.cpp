#include "server/records/record_store.h"

#include "record/archive/archive.h"
#include "server/records/new_directory.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace belay::server {

using core::Directory;
using core::Result;
namespace fs = std::filesystem;

namespace {

constexpr size_t kMostJudgedBytes = size_t{1} << 20;

std::string name_of(const JobKey& key) {
    return fmt::format("{}/{}/{}", key.cluster, month_of(key), to_text(key));
}

// Directories within it that are not in the making.
Result<std::vector<Directory>> folders_of(const Directory& directory) {
    std::vector<Directory> folders;
    BELAY_TRY(names, directory.list());
    for (const std::string& name : names) {
        if (name.starts_with('.')) continue;
        BELAY_TRY(facts, directory.facts(name));
        if (!facts || facts->type != core::FileType::kDirectory) continue;
        BELAY_TRY(folder, directory.enter(name));
        folders.push_back(std::move(folder));
    }
    return folders;
}

// Each directory on the way to a new one, on the disk.
Result<Directory> enter_or_make(const Directory& parent, const std::string& name) {
    BELAY_TRY(is_new, parent.make_directory(name, 0700));
    if (is_new) BELAY_CHECK(parent.sync());
    return parent.enter(name);
}

core::Failure no_record_of(std::string_view key) {
    return core::bad_input("{} has no record", key).because(core::Cause::kNotFound);
}

}  // namespace

Result<RecordStore> RecordStore::open(const fs::path& directory, RecordStoreOptions options,
                                      core::Clock& clock) {
    std::error_code error;
    const fs::path whole = fs::absolute(directory, error);
    if (error) return core::errno_error(error, fmt::format("cannot open {}", directory.string()));
    BELAY_TRY(root, Directory::make_guarded(whole, 0700));
    // It runs elsewhere.
    if (options.belay.has_parent_path()) options.belay = fs::absolute(options.belay, error);
    if (error) return core::errno_error(error, fmt::format("cannot find {}", options.belay.string()));
    RecordStore store(std::move(root), std::move(options), clock);
    BELAY_TRY(months, store.months());
    for (const Directory& month : months) BELAY_CHECK(remove_leftovers(month));
    return store;
}

Result<std::vector<Directory>> RecordStore::months() const {
    std::vector<Directory> all;
    BELAY_TRY(clusters, folders_of(root_));
    for (const Directory& cluster : clusters) {
        BELAY_TRY(months, folders_of(cluster));
        std::ranges::move(months, std::back_inserter(all));
    }
    return all;
}

Result<Directory> RecordStore::month_for(const JobKey& key) const {
    BELAY_TRY(cluster, enter_or_make(root_, key.cluster));
    return enter_or_make(cluster, month_of(key));
}

Result<BuiltRecord> RecordStore::make(const StreamSources& sources, std::string_view text,
                                      const JobToCut& job, bool replaces) const {
    BELAY_TRY(key, parse_job_key(text));
    BELAY_TRY(month, month_for(key));
    BELAY_TRY(made, NewDirectory::begin(month));
    const fs::path record = made.path() / kRecordName;
    const core::Time now = clock_->now();
    BELAY_TRY(cut, cut_from(sources, job, record, now));
    BELAY_CHECK(record::seal(record, now));
    BuiltRecord built{.path = root_.path_of(name_of(key)),
                      .nodes = std::move(cut.nodes),
                      .rows = cut.rows,
                      .lost = std::move(cut.lost)};
    if (replaces) {
        BELAY_CHECK(std::move(made).replace(text));
        return built;
    }
    BELAY_TRY(is_first, std::move(made).create(text));
    built.was_there = !is_first;
    return built;
}

Result<BuiltRecord> RecordStore::build(const StreamSources& sources, std::string_view key,
                                       const JobToCut& job) const {
    BELAY_TRY(is_there, has(key));
    if (!is_there) return make(sources, key, job, false);
    BELAY_TRY(path, path_of(key));
    return BuiltRecord{.path = std::move(path), .was_there = true, .nodes = {}, .lost = {}};
}

Result<BuiltRecord> RecordStore::rebuild(const StreamSources& sources, std::string_view key,
                                         const JobToCut& job) const {
    return make(sources, key, job, true);
}

Result<BuiltRecord> RecordStore::build(Intake& intake, std::string_view key, const JobToCut& job) const {
    BELAY_CHECK(intake.look());
    return build(sources_in(intake), key, job);
}

Result<BuiltRecord> RecordStore::rebuild(Intake& intake, std::string_view key, const JobToCut& job) const {
    BELAY_CHECK(intake.look());
    return rebuild(sources_in(intake), key, job);
}

Result<> RecordStore::adopt(std::string_view text, const fs::path& directory) const {
    BELAY_TRY(key, parse_job_key(text));
    const auto taken = [&] { return core::bad_input("there is a record of {} already", text); };
    BELAY_TRY(is_there, has(text));
    if (is_there) return taken();
    BELAY_TRY(from, Directory::open(directory));
    BELAY_TRY(month, month_for(key));
    BELAY_TRY(made, NewDirectory::begin(month));
    BELAY_CHECK(made.directory().make_directory(kRecordName, 0700));
    BELAY_TRY(record, made.directory().enter(kRecordName));
    BELAY_CHECK(copy_record(from, record, options_.adopting));
    BELAY_CHECK(check_record(made.path() / kRecordName, options_.belay, options_.judging));
    BELAY_TRY(is_first, std::move(made).create(text));
    if (!is_first) return taken();
    return {};
}

Result<Judged> RecordStore::judge(std::string_view text) const {
    BELAY_TRY(key, parse_job_key(text));
    BELAY_TRY(is_there, has(text));
    if (!is_there) return no_record_of(text);
    BELAY_TRY(entry, root_.enter(name_of(key)));
    return core::with_context(judge_record(entry, options_.belay, options_.judging, clock_->now()), text);
}

Result<std::optional<Judged>> RecordStore::judged(std::string_view text) const {
    BELAY_TRY(key, parse_job_key(text));
    const std::string file = fmt::format("{}/{}", name_of(key), kJudgedName);
    BELAY_TRY(there, root_.facts(file));
    if (!there) return std::nullopt;
    BELAY_TRY(json, root_.read_file(file, kMostJudgedBytes));
    BELAY_TRY(judged, judged_from_json(json, root_.path_of(file).string()));
    return std::optional(std::move(judged));
}

Result<bool> RecordStore::erase(std::string_view text) const {
    BELAY_TRY(key, parse_job_key(text));
    BELAY_TRY(is_there, has(text));
    if (!is_there) return false;
    BELAY_TRY(month, month_for(key));
    return remove_tree(month, text);
}

Result<fs::path> RecordStore::path_of(std::string_view text) const {
    BELAY_TRY(key, parse_job_key(text));
    return root_.path_of(name_of(key));
}

Result<bool> RecordStore::has(std::string_view text) const {
    BELAY_TRY(key, parse_job_key(text));
    BELAY_TRY(facts, root_.facts(name_of(key)));
    return facts && facts->type == core::FileType::kDirectory;
}

Result<std::vector<std::string>> RecordStore::keys() const {
    std::vector<std::string> keys;
    BELAY_TRY(all, months());
    for (const Directory& month : all) {
        BELAY_TRY(names, month.list());
        for (std::string& name : names)
            if (parse_job_key(name)) keys.push_back(std::move(name));
    }
    std::ranges::sort(keys);
    return keys;
}

}  // namespace belay::server
