#include "stage/trace/trace.h"

#include "core/directory.h"
#include "core/file.h"
#include "core/user.h"
#include "record/archive/archive.h"
#include "record/place.h"
#include "stage/dataset/dataset.h"

#include <algorithm>
#include <array>
#include <map>
#include <sys/stat.h>
#include <system_error>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace belay::stage {

namespace fs = std::filesystem;
using core::Result;

namespace {

constexpr int kDepth = 4;                                // of records beneath a place
constexpr std::string_view kDataStaged = "data_staged";  // whose subject is the source as srun was given it

// Without its symbolic links, as far as it is still there.
fs::path canonical_or_same(const fs::path& path) {
    std::error_code error;
    fs::path found = fs::weakly_canonical(path, error);
    return error ? path : found;
}

Result<std::optional<shard::Manifest>> manifest_in(const fs::path& directory) {
    BELAY_TRY(opened, core::Directory::open(directory));
    auto manifest = read_manifest(opened);
    if (manifest) return std::optional(std::move(*manifest));
    if (manifest.error().cause() == core::Cause::kNotFound) return std::optional<shard::Manifest>();
    return std::unexpected(std::move(manifest.error()));
}

// "/a/b" and what lies in it, of "/a/b".
bool is_or_holds(const fs::path& directory, const fs::path& path) {
    return std::ranges::mismatch(directory, path).in1 == directory.end();
}

// Whether data are what is asked about, by where they lie or by what their manifest says of them.
class Matcher {
  public:
    explicit Matcher(const TracedData& data) : data_(data) {}

    // `is_tree`: all that lies beneath `where` was read, and not only files in it.
    bool matches(const std::string& where, bool is_tree) {
        const fs::path path = is_tree ? canonical_or_same(where) : fs::path(where);
        if (data_.directory &&
            (is_or_holds(*data_.directory, path) || (is_tree && is_or_holds(path, *data_.directory))))
            return true;
        auto [known, is_new] = by_source_.try_emplace(where);
        if (is_new) known->second = comes_from_it(path);
        return known->second;
    }

  private:
    bool comes_from_it(const fs::path& directory) const {
        const auto manifest = manifest_in(directory);
        if (!manifest || !*manifest) return false;
        const shard::Manifest& packed = **manifest;
        if (data_.manifest) return packed == *data_.manifest;  // a copy of it
        const std::string root = data_.directory ? data_.directory->string() : data_.words;
        return packed.source.root == root ||
               std::ranges::any_of(
                   std::to_array<std::string_view>(
                       {packed.name, packed.source.url, packed.source.licence, packed.source.revision}),
                   [&](std::string_view word) { return word == data_.words; });
    }

    const TracedData& data_;
    std::map<std::string, bool> by_source_;
};

std::string owner_of(const fs::path& path) {
    struct stat facts{};
    if (stat(path.c_str(), &facts) != 0) return "";
    return core::user_name(facts.st_uid);
}

Result<std::optional<TracedJob>> read_record(const fs::path& path, Matcher& matcher) {
    BELAY_TRY(archive, record::Archive::open(path));
    if (const auto damaged = archive.unreadable().find("event"); damaged != archive.unreadable().end())
        return std::unexpected(core::Error(damaged->second));
    BELAY_TRY(
        rows,
        archive.query(
            "SELECT kind, subject, node, min(time) FROM event WHERE kind IN ('data_read', 'data_staged') "
            "AND subject IS NOT NULL GROUP BY ALL ORDER BY min(time), subject"));
    TracedJob job{.record = path, .job = archive.manifest().job, .owner = owner_of(path), .readings = {}};
    for (const auto& row : rows.rows) {
        if (!matcher.matches(record::as_text(row[1]), record::as_text(row[0]) == kDataStaged)) continue;
        const auto* time = std::get_if<core::Time>(&row[3]);
        Reading reading{.kind = record::as_text(row[0]),
                        .where = record::as_text(row[1]),
                        .nodes = {record::as_text(row[2])},
                        .first = time != nullptr ? *time : core::Time()};
        const auto known = std::ranges::find_if(job.readings, [&](const Reading& other) {
            return other.kind == reading.kind && other.where == reading.where;
        });
        if (known == job.readings.end())
            job.readings.push_back(std::move(reading));
        else
            known->nodes.merge(reading.nodes);
    }
    if (job.readings.empty()) return std::optional<TracedJob>();
    return std::optional(std::move(job));
}

void find_records(const fs::path& directory, int depth, std::vector<fs::path>& found,
                  std::vector<UnreadRecord>& unread) {
    std::error_code error;
    if (fs::exists(record::manifest_path(directory), error)) {
        found.push_back(directory);
        return;
    }
    if (depth == 0) return;
    fs::directory_iterator entry(directory, error), end;
    for (; !error && entry != end; entry.increment(error))
        if (std::error_code ignored; entry->is_directory(ignored) && !entry->is_symlink(ignored))
            find_records(entry->path(), depth - 1, found, unread);
    if (error)
        unread.push_back(
            {directory,
             core::errno_error(error.value(), fmt::format("cannot list {}", directory.string())).error()});
}

}  // namespace

Result<TracedData> find_data(const std::string& words) {
    if (words.empty())
        return core::bad_input("nothing is asked about")
            .hint("name a shard, a directory, or a source as manifests name it");
    TracedData data{.words = words};
    std::error_code error;
    const fs::path path = fs::canonical(words, error);
    if (error) return data;
    const bool is_directory = fs::is_directory(path, error);
    data.directory = is_directory ? path : path.parent_path();
    BELAY_TRY(manifest, manifest_in(*data.directory));
    data.manifest = std::move(manifest);
    if (!is_directory && !data.manifest) data.directory = path;  // a file that is not of packed data
    return data;
}

Result<TraceReport> trace(const TracedData& data, std::span<const fs::path> places) {
    TraceReport report;
    Matcher matcher(data);
    std::vector<fs::path> records;
    for (const fs::path& place : places) find_records(place, kDepth, records, report.unread);
    std::ranges::sort(records);
    records.erase(std::ranges::unique(records).begin(), records.end());
    for (const fs::path& path : records) {
        ++report.records;
        auto job = read_record(path, matcher);
        if (!job)
            report.unread.push_back({path, std::move(job.error())});
        else if (*job)
            report.jobs.push_back(std::move(**job));
    }
    std::ranges::stable_sort(report.jobs, std::less{},
                             [](const TracedJob& job) { return job.readings.front().first; });
    return report;
}

}  // namespace belay::stage
