// What copies brought to a directory, and nothing else: what may be taken away from it again. A file is known by
// its inode and the time at which that was made, since another file may have got its name. Pure.
//
// As the file .belay-copy, when all files of a copy have their names, and as "brought" in the directory in which
// a copy is made, before the first one gets its name (store.h); numbers are little-endian:
//
//   header       48 bytes  BLYSIGN1, version:u32 = 1, made_levels:u32, inode:u64, born:u64 (of the directory), copies:u64, zero:u64
//   copies       each      plan:u8[32] (SHA-256), kind:u32, zero:u32, files:u64, directories:u64, state_bytes:u64
//     files      each      bytes:u64, modified:u64, inode:u64, born:u64, path_bytes:u32, path
//     directories each     path_bytes:u32, path: those that it made
//     state                checksums of all chunks (chunk_state.h), or nothing
//   trailer      4 bytes   crc32c:u32 of all before
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/hash.h"
#include "stage/copy/layout.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

// What a name stands for, whatever has been put in its place since.
struct FileMark {
    uint64_t inode = 0;
    int64_t born = 0;  // nanoseconds since 1970; 0 where the file system does not say
    // What is not known of one of them tells them not apart.
    bool is_same(const FileMark& other) const {
        return inode == other.inode && (born == other.born || born == 0 || other.born == 0);
    }
    bool operator==(const FileMark&) const = default;
};

struct BroughtFile {
    std::string path;  // beneath the directory
    uint64_t bytes = 0;
    int64_t modified = 0;  // as the plan has it
    FileMark mark = {};
    bool operator==(const BroughtFile&) const = default;
};

// By one plan, at any time.
struct BroughtCopy {
    core::Sha256Digest plan{};
    CopyKind kind = CopyKind::kTree;
    std::vector<BroughtFile> files = {};        // by path
    std::vector<std::string> directories = {};  // that it made; by path
    std::string state = {};                     // chunk_state.h; nothing before all is there
    bool operator==(const BroughtCopy&) const = default;
};

inline constexpr uint32_t kMostMadeLevels = 64;

struct CopySign {
    FileMark directory = {};   // of which it speaks
    uint32_t made_levels = 0;  // 1: the directory itself was made for a copy; 2: the one around it, too; ...
    std::vector<BroughtCopy> copies = {};
    const BroughtCopy* find(const core::Sha256Digest& plan) const;
    bool operator==(const CopySign&) const = default;
};

inline constexpr uint64_t kMostSignBytes = 4 * kMostPlanBytes;

// A file that was brought is nobody else's any longer. What the same plan brought earlier stays its.
void add_copy(CopySign& sign, BroughtCopy copy);
// All that `more` says, too.
void add_sign(CopySign& sign, const CopySign& more);

std::string encode_sign(const CopySign& sign);
// Of any bytes. Errors: kBadInput, with what is wrong.
core::Result<CopySign> decode_sign(std::string_view bytes);

}  // namespace belay::stage
