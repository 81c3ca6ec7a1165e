#include "record/archive/segments.h"

#include "record/place.h"

#include <algorithm>

namespace belay::record {

using core::Directory;
using core::Result;
namespace fs = std::filesystem;

namespace {

std::string lost_segment_file(std::string_view name) {
    return fmt::format("{}/{}", kLostSegmentsName, name);
}

Result<bool> is_as_read(const Directory& record, std::string_view name, uint64_t bytes) {
    BELAY_TRY(facts, record.facts(segment_file(name)));
    return facts && facts->type == core::FileType::kRegular && facts->bytes == bytes;
}

// A manifest may come from anywhere; what it names must lie in the directory of the segments.
bool is_file_name(std::string_view name) {
    return core::is_name_beneath(name) && !name.contains('/');
}

bool is_there(const Directory& record, const std::string& name) {
    auto facts = record.facts(name);
    return facts && *facts;
}

// Of a segment that the manifest knows: it goes, or moves to those that were damaged. One that is not as it
// was read holds rows that nobody has: it stays.
Result<> retire(const Directory& record, const std::string& name, const SegmentFacts& facts) {
    BELAY_TRY(as_read, is_as_read(record, name, facts.bytes));
    if (!as_read) return {};
    if (facts.whole)
        return core::with_context(record.remove_file(segment_file(name)), "all of it is in the tables");
    auto moved = make_directory(record, kLostSegmentsName);
    if (moved) moved = record.rename(segment_file(name), lost_segment_file(name));
    return core::with_context(std::move(moved), "not all of it is in the tables");
}

}  // namespace

std::string segment_file(std::string_view name) {
    return fmt::format("{}/{}", kSegmentsName, name);
}

Result<std::vector<std::string>> segment_names(const Directory& record) {
    BELAY_TRY(facts, record.facts(kSegmentsName));
    if (!facts) return std::vector<std::string>();
    BELAY_TRY(segments, record.enter(kSegmentsName));
    BELAY_TRY(names, segments.list());
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(".seg"); });
    return names;
}

std::map<std::string, SegmentFacts> segment_facts(const std::vector<stream::SegmentSummary>& segments) {
    std::map<std::string, SegmentFacts> facts;
    for (const stream::SegmentSummary& segment : segments)
        facts[segment.file] = {.bytes = segment.bytes, .whole = segment.whole()};
    return facts;
}

Result<> check_unchanged(const Directory& record, const std::vector<stream::SegmentSummary>& segments) {
    BELAY_TRY(names, segment_names(record));
    bool same = std::ranges::equal(names, segments, {}, {}, &stream::SegmentSummary::file);
    for (const stream::SegmentSummary& segment : segments) {
        if (!same) break;
        BELAY_TRY(as_read, is_as_read(record, segment.file, segment.bytes));
        same = as_read;
    }
    if (!same)
        return core::bad_input("{} is still being recorded: its segments changed while they were read",
                               record.path().string())
            .hint("seal it when the job has ended");
    return {};
}

std::vector<LeftSegment> retire_segments(const Directory& record, const Manifest& manifest) {
    std::vector<LeftSegment> left;
    std::map<std::string, core::Error, std::less<>> failures;
    for (const auto& [name, facts] : manifest.segments) {
        if (!is_file_name(name)) continue;
        if (auto retired = retire(record, name, facts); !retired)
            failures.emplace(name, std::move(retired.error()));
        if (is_there(record, lost_segment_file(name)))
            left.push_back({.path = record.path_of(lost_segment_file(name))});
    }
    auto names = segment_names(record);
    if (!names) left.push_back({.path = record.path_of(kSegmentsName), .failure = std::move(names.error())});
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
        left.push_back({.path = record.path_of(segment_file(name))});
        if (auto failure = failures.find(name); failure != failures.end())
            left.back().failure = std::move(failure->second);
    }
    (void)record.remove_directory(kSegmentsName);  // which fails where something is left in it
    return left;
}

}  // namespace belay::record
