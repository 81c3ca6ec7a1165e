// What reading a data set costs from where it lies, packed, or copied to the nodes; and what follows.
//
// The model is that of two costs, a call for each file and the bytes, from figures that were measured on the file system
// itself: no rule of thumb about small files (packing gained nothing on local NVMe for some: rf-detr#1396).
//
//   loose  = E (N t/w + B/b)            N files, B bytes, w workers that read at once, t seconds to open and close one
//   packed = P + E (M t/w + B/b)        M shards; P = N t/w + B/b + B/s, s bytes a second written
//   local  = B/b + E B/l                l bytes a second of the local file system
//
// all for E epochs on one reader of w workers; b is what these workers read together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

struct CostInput {
    uint64_t files = 0;
    uint64_t bytes = 0;
    double open_seconds = 0;                       // of one file, in one thread
    double read_bytes_per_second = 0;              // of all workers together
    std::optional<double> write_bytes_per_second;  // nothing: as fast as it reads
    std::optional<double> local_bytes_per_second;  // nothing: no local file system was named
    std::optional<uint64_t> local_free_bytes;
    std::optional<uint64_t> inode_quota;  // of this user on the file system
    double epochs = 10;
    double workers = 8;
    uint64_t shard_bytes = uint64_t{512} << 20;
};

enum class Verdict { kLeave, kPack, kCopy };
std::string_view to_text(Verdict verdict);

struct Cost {
    double loose_epoch_seconds = 0;
    double packed_epoch_seconds = 0;
    double pack_seconds = 0;
    std::optional<double> local_epoch_seconds;
    std::optional<double> copy_seconds;
    std::optional<double>
        break_even_epochs;  // from which packing is worth its cost; nothing where it never is
    Verdict verdict = Verdict::kLeave;
    std::vector<std::string> reasons;
};

// What of the cost must be saved before anything is advised.
inline constexpr double kWorthwhileShare = 0.2;
inline constexpr double kInodeShare = 0.1;  // of a quota: above it, packing is advised whatever it saves

Cost predict(const CostInput& input);

}  // namespace belay::stage
