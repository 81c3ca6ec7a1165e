// The segments of a record as files: which there are, whether they still are what was read, and what becomes
// of them once their rows are in the tables.
#pragma once

#include "core/error.h"
#include "record/manifest.h"
#include "record/segment.h"

#include <filesystem>
#include <vector>

namespace belay::record {

// Where sealing leaves segments of which a part is not in the tables.
inline std::filesystem::path kept_segments_path(const std::filesystem::path& record) {
    return record / "segments-lost";
}

// Sorted by name; none where there is no such directory. Errors: kSystem if it cannot be listed to its end.
core::Result<std::vector<std::filesystem::path>> segment_files(const std::filesystem::path& record);

// For the manifest of a sealed record.
std::map<std::string, SegmentFacts> segment_facts(const std::vector<SegmentSummary>& segments);

// Errors: kBadInput if a segment has come or changed since `segments` were read; kSystem.
core::Result<> check_unchanged(const std::filesystem::path& record,
                               const std::vector<SegmentSummary>& segments);

// Removes the segments that are in the tables of the sealed record as a whole; of the others those that were
// damaged move to kept_segments_path(), those that were never read or have grown stay. Answers with all that
// are left. Does what it can: the record is sealed, whatever becomes of them.
std::vector<std::filesystem::path> retire_segments(const std::filesystem::path& record,
                                                   const Manifest& manifest);

}  // namespace belay::record
