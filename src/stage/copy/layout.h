// What is copied: a set of files, taken as one run of bytes, one file behind the other in the order of their paths, and cut into
// chunks. A chunk may hold many small files or a part of a large one. Pure.
//
// The plan, as nodes tell it to each other; numbers are little-endian:
//
//   header   32 bytes       BLYCOPY1, version:u32 = 1, kind:u32, chunk_bytes:u64, count:u64
//   files    each           bytes:u64, modified:u64, inode:u64, flags:u32 (1 executable, 2 a link in the source),
//                           path_bytes:u32, path
//   trailer  4 bytes        crc32c:u32 of all before
//
// Its SHA-256 is what a copy is known by: another size, time of change or inode of any file is another copy.
#pragma once

#include "core/error.h"
#include "core/hash.h"
#include "stage/pack/source_file.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

enum class CopyKind : uint32_t {
    kFile = 0,    // one file, whose name at its destination is the destination's
    kTree = 1,    // the files of a directory
    kPacked = 2,  // those that a manifest names, which is the last to appear
};

struct CopyPlan {
    CopyKind kind = CopyKind::kTree;
    uint64_t chunk_bytes = 0;
    std::vector<SourceFile> files = {};  // as rank 0 listed them; by path, as bytes
    bool operator==(const CopyPlan&) const = default;
};

// Small enough to stay in a processor's cache from the socket to the file; larger where there would be too many.
inline constexpr uint64_t kUsualChunk = uint64_t{2} << 20;
inline constexpr uint64_t kLeastChunk = uint64_t{4} << 10;
inline constexpr uint64_t kMostChunk = uint64_t{256} << 20;
// Of one copy: what is known of each, four bytes and a bit, fits into one message between nodes.
inline constexpr uint64_t kMostChunks = uint64_t{1} << 19;
// Of an encoded plan: some four million files.
inline constexpr uint64_t kMostPlanBytes = uint64_t{512} << 20;
// Names at the destination that are the copy's own begin so; a set may not hold one in its uppermost
// directory.
inline constexpr std::string_view kCopyPrefix = ".belay-copy";

// For that many bytes altogether: kUsualChunk, doubled until there are at most half of kMostChunks; kMostChunk at most.
uint64_t usual_chunk_bytes(uint64_t bytes);
// Errors: kBadInput for a chunk size out of range, too many chunks or files, names that are no names or the
// copy's own.
core::Result<> check_plan(const CopyPlan& plan);
std::string encode_plan(const CopyPlan& plan);
// Of any bytes. Errors: kBadInput, with what is wrong.
core::Result<CopyPlan> decode_plan(std::string_view bytes);

// A part of a file.
struct Segment {
    size_t file = 0;  // in the plan
    uint64_t offset = 0;
    uint64_t bytes = 0;
    bool operator==(const Segment&) const = default;
};

class CopyLayout {
  public:
    // A plan that check_plan() or decode_plan() admits.
    explicit CopyLayout(CopyPlan plan);

    const CopyPlan& plan() const { return plan_; }
    const std::vector<SourceFile>& files() const { return plan_.files; }
    uint64_t bytes() const { return starts_.back(); }
    uint64_t chunks() const { return (bytes() + plan_.chunk_bytes - 1) / plan_.chunk_bytes; }
    // Of one below chunks(); the last may be shorter.
    uint64_t bytes_of(uint64_t chunk) const;
    // Of what it is made, in this order; none is empty.
    std::vector<Segment> segments(uint64_t chunk) const;

  private:
    CopyPlan plan_;
    std::vector<uint64_t> starts_;  // where each file begins in the run, and at last where that ends
};

}  // namespace belay::stage
