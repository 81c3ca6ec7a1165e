// Which packed files there are, and what of each stream they hold: the one place that says what is packed. A catalog is a file of
// its own, written whole for each change; the one with the highest number holds. So packing files, merging them and removing them
// each happen at once, for all readers, or not at all.
//
//   catalog := "belay-packed 1" sequence file* log* stream* "end" CRC-32                (lines, fields between tabs)
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "server/packed/block_runs.h"
#include "server/packed/tier.h"
#include "stream/stream_id.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// One packed file.
struct PackedFile {
    Tier tier = Tier::kRaw;
    std::string name;
    uint64_t bytes = 0;
    uint64_t rows = 0;
    uint64_t values = 0;
    core::Time first_time = {},
               last_time = {};  // of its rows; the latter before the former where there are none
    // When its blocks came, by belayd's clock: by that its age is told, since clocks of nodes may be wrong.
    core::Time arrived_from = {}, arrived_until = {};

    bool has_rows() const { return first_time <= last_time; }
    bool operator==(const PackedFile&) const = default;
};

struct PackedBlocks {
    BlockRuns blocks;
    core::Time arrived = {};  // the last of them
    bool operator==(const PackedBlocks&) const = default;
};

struct Catalog {
    uint64_t sequence = 0;
    std::vector<PackedFile> files;  // by tier and time of arrival
    // Files of the block log that are packed and may still lie there, and their sizes.
    std::map<std::string, uint64_t> packed_logs;
    // Which blocks were ever packed, also those that retention took since: they would be duplicates.
    std::map<stream::StreamId, PackedBlocks> streams;

    uint64_t bytes() const;
    const PackedFile* find(std::string_view name) const;
    void sort_files();
    bool operator==(const Catalog&) const = default;
};

std::string encode_catalog(const Catalog& catalog);
// Errors: kBadInput for anything that is damaged, or that encode_catalog() would not write.
core::Result<Catalog> decode_catalog(std::string_view text);

// "SEQUENCE.catalog", 16 hexadecimal digits.
std::string catalog_file_name(uint64_t sequence);
// Of a file of either kind: the number of the catalog that it is, or that first named it; nothing for other names.
std::optional<uint64_t> sequence_of_catalog(std::string_view name);
std::optional<uint64_t> sequence_of_packed(std::string_view name);
// "SEQUENCE-RANDOM-TIER.pak": files of two packers that are at work at once do not meet. Errors: kSystem.
core::Result<std::string> new_packed_name(uint64_t sequence, Tier tier);
std::optional<Tier> tier_of_packed(std::string_view name);

}  // namespace belay::server
