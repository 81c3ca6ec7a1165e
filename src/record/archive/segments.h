// The segments of a record as files: which there are, whether they still are what was read, and what becomes
// of them once their rows are in the tables.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "record/manifest.h"
#include "stream/segment.h"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace belay::record {

// Their names ("n1-0.seg"), sorted; none where there is no such directory. Errors: kBadInput if it is a link;
// kSystem if it cannot be listed to its end.
core::Result<std::vector<std::string>> segment_names(const core::Directory& record);
// What the record's directory knows such a file by.
std::string segment_file(std::string_view name);

// For the manifest of a sealed record.
std::map<std::string, SegmentFacts> segment_facts(const std::vector<stream::SegmentSummary>& segments);

// Errors: kBadInput if a segment has come or changed since `segments` were read; kSystem.
core::Result<> check_unchanged(const core::Directory& record,
                               const std::vector<stream::SegmentSummary>& segments);

// A segment that is left beside the tables of a sealed record.
struct LeftSegment {
    std::filesystem::path path;
    std::optional<core::Error> failure = {};  // why it is not gone, or moved; nothing where it is to be here
};

// Removes the segments that are in the tables of the sealed record as a whole; of the others those that were
// damaged move to segments-lost, those that were never read or have grown stay. Answers with all that
// are left. Does what it can: the record is sealed, whatever becomes of them.
std::vector<LeftSegment> retire_segments(const core::Directory& record, const Manifest& manifest);

}  // namespace belay::record
