#include "record/archive/segments.h"

#include "core/file.h"

#include <algorithm>
#include <system_error>

namespace belay::record {

using core::Result;
namespace fs = std::filesystem;

namespace {

bool is_as_read(const fs::path& file, uint64_t bytes) {
    std::error_code error;
    auto size = fs::file_size(file, error);
    return !error && size == bytes;
}

// A manifest may come from anywhere; what it names must lie in the directory of the segments.
bool is_file_name(const std::string& name) {
    return !name.empty() && fs::path(name).filename() == name && name != "." && name != "..";
}

}  // namespace

Result<std::vector<fs::path>> segment_files(const fs::path& record) {
    std::vector<fs::path> files;
    std::error_code error;
    fs::directory_iterator entries(segments_path(record), error);
    if (error == std::errc::no_such_file_or_directory) return files;
    for (; !error && entries != fs::directory_iterator(); entries.increment(error))
        if (entries->path().extension() == ".seg") files.push_back(entries->path());
    if (error)
        return core::system_error("cannot list {}: {}", segments_path(record).string(), error.message());
    std::ranges::sort(files);
    return files;
}

std::map<std::string, SegmentFacts> segment_facts(const std::vector<SegmentSummary>& segments) {
    std::map<std::string, SegmentFacts> facts;
    for (const SegmentSummary& segment : segments)
        facts[segment.file] = {.bytes = segment.bytes, .whole = segment.whole()};
    return facts;
}

Result<> check_unchanged(const fs::path& record, const std::vector<SegmentSummary>& segments) {
    BELAY_TRY(files, segment_files(record));
    bool same = std::ranges::equal(files, segments, [](const fs::path& file, const SegmentSummary& segment) {
        return file.filename() == segment.file && is_as_read(file, segment.bytes);
    });
    if (!same)
        return core::bad_input("{} is still being recorded: its segments changed while they were read",
                               record.string())
            .hint("seal it when the job has ended");
    return {};
}

std::vector<fs::path> retire_segments(const fs::path& record, const Manifest& manifest) {
    std::vector<fs::path> left;
    std::error_code error;
    for (const auto& [name, facts] : manifest.segments) {
        if (!is_file_name(name)) continue;
        fs::path file = segments_path(record) / name;
        if (is_as_read(file, facts.bytes)) {
            if (facts.whole)
                fs::remove(file, error);
            else if (core::make_directories(kept_segments_path(record)))
                fs::rename(file, kept_segments_path(record) / name, error);
        }
        if (fs::path kept = kept_segments_path(record) / name; fs::exists(kept, error)) left.push_back(kept);
    }
    if (auto files = segment_files(record)) std::ranges::copy(*files, std::back_inserter(left));
    fs::remove(segments_path(record), error);  // which fails where something is left in it
    return left;
}

}  // namespace belay::record
