#include "stage/scan/sums.h"

#include "core/hash.h"

#include <algorithm>
#include <bit>

namespace belay::stage {

namespace {

constexpr int64_t kNanosecondsOfDay = int64_t{86'400} * 1'000'000'000;

// FNV-1a's last step leaves its upper bits as they were; this mixes all of them (the finaliser of
// MurmurHash3).
uint64_t mixed(uint64_t hash) {
    hash = (hash ^ (hash >> 33U)) * 0xff51afd7ed558ccdU;
    hash = (hash ^ (hash >> 33U)) * 0xc4ceb9fe1a85ec53U;
    return hash ^ (hash >> 33U);
}

uint64_t rank_of_size(uint64_t bytes) {
    return mixed(bytes);
}

size_t age_bucket(int64_t time, int64_t now) {
    const int64_t days = now > time ? (now - time) / kNanosecondsOfDay : 0;  // a clock may be ahead
    return static_cast<size_t>(std::ranges::upper_bound(kAgeDays, days) - kAgeDays.begin());
}

template <size_t kCount>
void add_all(std::array<Amount, kCount>& sum, const std::array<Amount, kCount>& part) {
    for (size_t i = 0; i < kCount; ++i) sum[i].add(part[i]);
}

}  // namespace

uint64_t rank_of_path(std::string_view path) {
    return mixed(core::fnv1a(path));
}

size_t size_bucket(uint64_t bytes) {
    return static_cast<size_t>(std::bit_width(bytes));
}

void Sample::add(Candidate candidate) {
    kept_.insert(std::move(candidate));
    if (kept_.size() > most_) kept_.erase(std::prev(kept_.end()));
}

void Sample::add(const Sample& more) {
    for (const Candidate& candidate : more.kept_) add(candidate);
}

void SizeSample::add(Candidate candidate) {
    by_size_[candidate.bytes].push_back(std::move(candidate));
    ++files_;
    if (files_ > most_) shrink();
}

void SizeSample::add(const SizeSample& more) {
    limit_ = std::min(limit_, more.limit_);
    for (const auto& [bytes, files] : more.by_size_) {
        auto& kept = by_size_[bytes];
        kept.insert(kept.end(), files.begin(), files.end());
        files_ += files.size();
    }
    shrink();
}

void SizeSample::shrink() {
    auto drop = [&] {
        for (auto place = by_size_.begin(); place != by_size_.end();) {
            if (rank_of_size(place->first) <= limit_) {
                ++place;
                continue;
            }
            files_ -= place->second.size();
            place = by_size_.erase(place);
        }
    };
    drop();
    while (files_ > most_ && limit_ > 0) {
        limit_ /= 2;
        drop();
    }
}

// Of two that are equally full the first by name, whichever thread came upon it.
void TreeSums::note_entries(uint64_t entries, std::string_view directory) {
    if (entries < most_entries || (entries == most_entries && directory >= fullest_directory)) return;
    most_entries = entries;
    fullest_directory = directory;
}

void TreeSums::add(const Listing& listing, int64_t now) {
    if (listing.directory_entries) note_entries(*listing.directory_entries, listing.path);
    const uint64_t hash_before_name =
        listing.path.empty() ? core::kFnv1aOfNothing : core::fnv1a("/", core::fnv1a(listing.path));
    uint64_t regular = 0;
    uint32_t user = 0;
    Amount* of_user = nullptr;
    for (const Entry& entry : listing.entries) {
        if (entry.type == core::FileType::kLink) ++links;
        if (entry.type == core::FileType::kOther) ++others;
        if (entry.type != core::FileType::kRegular) continue;
        ++regular;
        if (entry.links > 1) {
            ++linked_files;
            linked_inodes.insert(entry.inode);
        }
        files.add(entry.bytes);
        allocated_bytes += entry.allocated_bytes;
        if (entry.allocated_bytes < entry.bytes) ++sparse_files;
        sizes[size_bucket(entry.bytes)].add(entry.bytes);
        if (entry.accessed != 0) accessed[age_bucket(entry.accessed, now)].add(entry.bytes);
        modified[age_bucket(entry.modified, now)].add(entry.bytes);
        // Most files lie beside others of their owner.
        if (of_user == nullptr || entry.user != user) of_user = &users[user = entry.user];
        of_user->add(entry.bytes);
        if (entry.bytes == 0) continue;
        const uint64_t rank = mixed(core::fnv1a(entry.name, hash_before_name));
        const bool is_sampled = sample.wants(rank);
        const bool is_compared = same_size.wants(rank_of_size(entry.bytes));
        if (!is_sampled && !is_compared) continue;
        Candidate candidate{.rank = rank, .path = listing.path_of(entry.name), .bytes = entry.bytes};
        if (is_sampled) sample.add(candidate);
        if (is_compared) same_size.add(std::move(candidate));
    }
    if (regular == 0) return;
    if (files_at_depth.size() <= listing.depth) files_at_depth.resize(listing.depth + 1);
    files_at_depth[listing.depth] += regular;
}

void TreeSums::add(const TreeSums& part) {
    files.add(part.files);
    links += part.links;
    others += part.others;
    allocated_bytes += part.allocated_bytes;
    sparse_files += part.sparse_files;
    linked_files += part.linked_files;
    linked_inodes.insert(part.linked_inodes.begin(), part.linked_inodes.end());
    add_all(sizes, part.sizes);
    add_all(accessed, part.accessed);
    add_all(modified, part.modified);
    for (const auto& [user, amount] : part.users) users[user].add(amount);
    files_at_depth.resize(std::max(files_at_depth.size(), part.files_at_depth.size()));
    for (size_t depth = 0; depth < part.files_at_depth.size(); ++depth)
        files_at_depth[depth] += part.files_at_depth[depth];
    note_entries(part.most_entries, part.fullest_directory);
    sample.add(part.sample);
    same_size.add(part.same_size);
}

}  // namespace belay::stage
