// What of the packed files is archived, and what is being archived now. Pure.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace belay::server {

// Written before the first part of a plan and after the last one. A plan that is found is carried out again: its parts have the
// plan's number in their names and come out the same, so they take the places of those that are there.
struct ArchiveState {
    uint64_t plan = 1;               // number of the next plan, or of the one that is pending
    std::set<std::string> pending;   // packed files of that plan; none: nothing is pending
    std::set<std::string> archived;  // packed files whose rows are all in the archive
    bool operator==(const ArchiveState&) const = default;
};

std::string encode_archive_state(const ArchiveState& state);
// Errors: kBadInput for anything that is damaged, or that encode_archive_state() would not write.
core::Result<ArchiveState> decode_archive_state(std::string_view text);

// "table=host/day=2026-03-01/cluster=alps". Other characters of a cluster's name than letters, digits, ".", "_" and "-" stand as
// %2F, as Hive writes them; `unnamed` is the cluster of streams that name none.
std::string archive_cluster(std::string_view cluster, std::string_view unnamed);
std::string archive_directory(std::string_view table, std::string_view day, std::string_view cluster);
// "part-0000000000000001.parquet"
std::string archive_part_name(uint64_t plan);

}  // namespace belay::server
