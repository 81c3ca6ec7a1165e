// What a walk adds up to. Sums of parts merge into those of the whole in any order, so that each thread has
// its own.
#pragma once

#include "stage/walk/walk.h"

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace belay::stage {

struct Amount {
    uint64_t files = 0;
    uint64_t bytes = 0;
    void add(uint64_t more_bytes) { ++files, bytes += more_bytes; }
    void add(const Amount& more) { files += more.files, bytes += more.bytes; }
    bool operator==(const Amount&) const = default;
};

// Sizes by powers of two: bucket 0 holds empty files, bucket i those from 2^(i-1) to below 2^i bytes.
inline constexpr size_t kSizeBuckets = 65;
size_t size_bucket(uint64_t bytes);

// Ages in days, the last without an end: the purges of large sites begin at 14, 30 or 90 days.
inline constexpr std::array<int, 6> kAgeDays = {1, 7, 14, 30, 90, 365};
inline constexpr size_t kAgeBuckets = kAgeDays.size() + 1;

// A file that is looked at more closely, chosen by a hash so that the same tree gives the same ones whatever
// thread comes to them first.
struct Candidate {
    uint64_t rank = 0;  // the hash
    std::string path;
    uint64_t bytes = 0;
    auto operator<=>(const Candidate&) const = default;
};

// Where a file stands among all: as good as random, and the same for the same path.
uint64_t rank_of_path(std::string_view path);

// Files with the lowest ranks: a sample in which each file is as likely as any other.
class Sample {
  public:
    explicit Sample(size_t most) : most_(most) {}
    bool wants(uint64_t rank) const { return kept_.size() < most_ || rank < kept_.rbegin()->rank; }
    void add(Candidate candidate);
    void add(const Sample& more);
    const std::set<Candidate>& files() const { return kept_; }

  private:
    size_t most_;
    std::set<Candidate> kept_;
};

// Files whose size has a low rank: all files of a size, or none, since only those of one size can be equal.
// The share of the sizes is halved until no more than `most` files are left.
class SizeSample {
  public:
    explicit SizeSample(size_t most) : most_(most) {}
    bool wants(uint64_t rank_of_size) const { return rank_of_size <= limit_; }
    void add(Candidate candidate);
    void add(const SizeSample& more);
    const std::map<uint64_t, std::vector<Candidate>>& by_size() const { return by_size_; }

  private:
    void shrink();
    size_t most_;
    uint64_t limit_ = UINT64_MAX;  // ranks of sizes up to this are kept
    size_t files_ = 0;
    std::map<uint64_t, std::vector<Candidate>> by_size_;
};

struct TreeSums {
    Amount files;         // names of regular files, bytes as they read: of two names of one inode both
    uint64_t links = 0;   // symbolic
    uint64_t others = 0;  // devices, pipes, sockets
    uint64_t allocated_bytes = 0;
    uint64_t sparse_files = 0;
    std::set<uint64_t> linked_inodes;  // that have other names
    uint64_t linked_files = 0;         // names of these that were seen
    std::array<Amount, kSizeBuckets> sizes{};
    std::array<Amount, kAgeBuckets> accessed{};  // without those of which that is not known
    std::array<Amount, kAgeBuckets> modified{};
    std::map<uint32_t, Amount> users;
    std::vector<uint64_t> files_at_depth;  // [i]: in directories i below the root
    uint64_t most_entries = 0;             // of one directory
    std::string fullest_directory;
    Sample sample{kSampledFiles};
    SizeSample same_size{kComparedFiles};

    static constexpr size_t kSampledFiles = 256;
    static constexpr size_t kComparedFiles = 2048;

    // `now` in nanoseconds since 1970.
    void add(const Listing& listing, int64_t now);
    void add(const TreeSums& part);

  private:
    void note_entries(uint64_t entries, std::string_view directory);
};

}  // namespace belay::stage
