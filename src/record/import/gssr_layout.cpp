#include "record/import/gssr_layout.h"

#include "core/file.h"
#include "core/text.h"
#include "core/utf8.h"
#include "record/import/source_files.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace belay::record {

using core::bad_input;
using core::Result;
namespace fs = std::filesystem;

namespace {

// N of a name PREFIX N SUFFIX.
std::optional<int64_t> number_in(std::string_view name, std::string_view prefix, std::string_view suffix) {
    if (!name.starts_with(prefix) || !name.ends_with(suffix) || name.size() < prefix.size() + suffix.size())
        return std::nullopt;
    name.remove_prefix(prefix.size());
    name.remove_suffix(suffix.size());
    auto number = core::parse_number<int64_t>(name);
    return number && *number >= 0 ? number : std::nullopt;
}

Result<GssrStep> read_step(const fs::path& directory, int64_t number) {
    GssrStep step{.number = number, .directory = directory, .tables = {}, .metas = {}};
    BELAY_TRY(entries, entries_of(directory));
    for (const SourceEntry& entry : entries) {
        if (!entry.is_file()) continue;
        std::string name = entry.path.filename().string();
        GssrFile file{.rank = 0, .path = entry.path};
        for (auto [suffix, files] : {std::pair{".csv", &step.tables}, std::pair{".meta.txt", &step.metas}}) {
            auto rank = number_in(name, "proc_", suffix);
            if (!rank) continue;
            file.rank = *rank;
            std::error_code error;
            file.bytes = fs::file_size(entry.path, error);
            if (error)
                return core::errno_error(error, "cannot look at " + core::printable(file.path.string()));
            files->push_back(file);
        }
    }
    std::ranges::sort(step.tables, {}, &GssrFile::rank);
    std::ranges::sort(step.metas, {}, &GssrFile::rank);
    return step;
}

// The directories step_N of a job, or the job itself if it is one.
Result<std::vector<GssrStep>> steps_of(const fs::path& directory) {
    std::vector<GssrStep> steps;
    BELAY_TRY(entries, entries_of(directory));
    for (const SourceEntry& entry : entries) {
        auto number = number_in(entry.path.filename().string(), "step_", "");
        if (!number || !entry.is_directory()) continue;
        BELAY_TRY(step, read_step(entry.path, *number));
        steps.push_back(std::move(step));
    }
    std::ranges::sort(steps, {}, &GssrStep::number);
    return steps;
}

bool is_json_of_gssr(const SourceEntry& entry) {
    std::string name = entry.path.filename().string();
    size_t rank = name.rfind("_proc_");
    return rank != std::string::npos && number_in(name.substr(rank), "_proc_", ".json") && entry.is_file();
}

Result<std::vector<fs::path>> jsons_of(const fs::path& directory) {
    std::vector<fs::path> files;
    BELAY_TRY(entries, entries_of(directory));
    for (const SourceEntry& entry : entries)
        if (is_json_of_gssr(entry)) files.push_back(entry.path);
    return files;
}

Result<bool> is_sqlite(const fs::path& path) {
    constexpr std::string_view kMagic = "SQLite format 3";
    std::string start(kMagic.size(), '\0');
    BELAY_TRY(file, core::open_file(path, O_RDONLY | O_NONBLOCK));
    const ssize_t got = pread(file.get(), start.data(), start.size(), 0);
    if (got < 0) return core::errno_error(errno, "cannot read " + core::printable(path.string()));
    return start == kMagic;
}

core::Failure not_found(const fs::path& source) {
    return bad_input("{} is not a recording of gssr", core::printable(source.string()))
        .hint(
            "looked for step_N/proc_N.csv (gssr-record) and for *_proc_N.json (gssr 0.3), in it and one "
            "level "
            "below");
}

// Of gssr-record, at most; empty if there is nothing of it. Several jobs are an error.
Result<GssrLayout> find_steps(const fs::path& source) {
    std::error_code error;
    std::string name = fs::absolute(source, error).lexically_normal().filename().string();
    if (error) return core::errno_error(error, "cannot find " + core::printable(source.string()));
    if (auto number = number_in(name, "step_", "")) {
        BELAY_TRY(step, read_step(source, *number));
        return GssrLayout{.root = source, .steps = {std::move(step)}, .jsons = {}};
    }
    BELAY_TRY(steps, steps_of(source));
    if (!steps.empty()) return GssrLayout{.root = source, .steps = std::move(steps), .jsons = {}};
    GssrLayout found{.root = source, .steps = {}, .jsons = {}};
    BELAY_TRY(entries, entries_of(source));
    for (const SourceEntry& entry : entries) {
        if (!entry.is_directory()) continue;
        BELAY_TRY(below, steps_of(entry.path));
        if (below.empty()) continue;
        if (!found.steps.empty())
            return bad_input("{} holds the recordings of several jobs", core::printable(source.string()))
                .hint(fmt::format("name one of them: {}, {} ...", core::printable(found.root.string()),
                                  core::printable(entry.path.string())));
        found = {.root = entry.path, .steps = std::move(below), .jsons = {}};
    }
    return found;
}

}  // namespace

Result<GssrLayout> find_gssr(const fs::path& source) {
    BELAY_TRY(found, look_at_source(source));
    if (!found.is_directory()) {
        BELAY_TRY(sqlite, found.is_file() ? is_sqlite(source) : Result<bool>(false));
        if (sqlite)
            return bad_input(
                       "{} is an SQLite export of gssr, which has lost all GPUs of each rank but the last",
                       core::printable(source.string()))
                .hint("import the JSON files that it was made from: profile_out_JobID_N/LABEL/*_proc_N.json");
        return not_found(source);
    }
    BELAY_TRY(layout, find_steps(source));
    if (!layout.steps.empty()) return layout;
    BELAY_TRY(jsons, jsons_of(source));
    if (jsons.empty()) {
        BELAY_TRY(entries, entries_of(source));
        for (const SourceEntry& entry : entries) {
            if (!entry.is_directory()) continue;
            BELAY_TRY(below, jsons_of(entry.path));
            jsons.insert(jsons.end(), below.begin(), below.end());
        }
    }
    if (jsons.empty()) return not_found(source);
    return GssrLayout{.root = source, .steps = {}, .jsons = std::move(jsons)};
}

}  // namespace belay::record
