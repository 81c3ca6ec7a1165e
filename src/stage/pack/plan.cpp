#include "stage/pack/plan.h"

#include "core/hash.h"
#include "core/utf8.h"
#include "shard/index.h"
#include "shard/tar_format.h"
#include "stage/pack/sample.h"

#include <algorithm>

namespace belay::stage {

namespace {

struct Sample {
    std::string_view key;
    uint64_t rank = 0;
    size_t begin = 0;  // in the order of files
    size_t end = 0;
    uint64_t bytes = 0;  // in a tar
};

// Where a sample stands in a shuffled order: SplitMix64 (Steele and others, OOPSLA 2014) over both.
uint64_t rank_of(std::string_view key, uint64_t shuffle_key) {
    uint64_t state = core::fnv1a(key) + (shuffle_key + 1) * 0x9e3779b97f4a7c15U;
    state = (state ^ (state >> 30U)) * 0xbf58476d1ce4e5b9U;
    state = (state ^ (state >> 27U)) * 0x94d049bb133111ebU;
    return state ^ (state >> 31U);
}

struct Place {
    std::string_view key, path;
    size_t file = 0;
    auto operator<=>(const Place&) const = default;
};

uint64_t tar_bytes_of(const SourceFile& file) {
    return shard::tar_header_bytes(file.path, file.bytes) + file.bytes + shard::tar_padding(file.bytes);
}

}  // namespace

core::Result<std::vector<PlannedShard>> plan_shards(const SourceListing& listing,
                                                    const PlanOptions& options) {
    const std::vector<SourceFile>& files = listing.files;
    std::vector<Place> order;
    order.reserve(files.size());
    for (size_t i = 0; i < files.size(); ++i) order.push_back({sample_key(files[i].path), files[i].path, i});
    // Not by path alone: "a-b.jpg" stands between "a" and "a.jpg". That is rare, so paths in order are mostly in this one.
    if (!std::ranges::is_sorted(order)) std::ranges::sort(order);
    std::vector<Sample> samples;
    for (size_t at = 0; at < order.size(); ++at) {
        const SourceFile& file = files[order[at].file];
        if (file.path.size() > shard::kLongestRecordName)
            return core::bad_input("{}...: the name is longer than {} bytes",
                                   core::printable(file.path.substr(0, 60)), shard::kLongestRecordName);
        const std::string_view key = order[at].key;
        if (samples.empty() || samples.back().key != key)
            samples.push_back({.key = key,
                               .rank = options.shuffle_key ? rank_of(key, *options.shuffle_key) : 0,
                               .begin = at});
        samples.back().end = at + 1;
        samples.back().bytes += tar_bytes_of(file);
    }
    if (options.shuffle_key)
        std::ranges::sort(samples, {},
                          [](const Sample& sample) { return std::pair(sample.rank, sample.key); });
    std::vector<PlannedShard> shards;
    uint64_t filled = 0;
    for (const Sample& sample : samples) {
        if (shards.empty() ||
            (filled > 0 &&
             filled + sample.bytes + shard::tar_trailer(filled + sample.bytes) > options.shard_bytes)) {
            shards.emplace_back();
            filled = 0;
        }
        PlannedShard& shard = shards.back();
        for (size_t at = sample.begin; at < sample.end; ++at)
            shard.files.push_back({order[at].file, shard.samples});
        ++shard.samples;
        filled += sample.bytes;
        shard.tar_bytes = filled + shard::tar_trailer(filled);
    }
    return shards;
}

std::string digest_of(const SourceListing& listing, const PlannedShard& shard) {
    core::Sha256 hash;
    for (const PlannedFile& planned : shard.files) hash.update(line_of(listing.files[planned.file]));
    return core::to_hex(hash.finish());
}

}  // namespace belay::stage
