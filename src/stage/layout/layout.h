// belay stage layout: over how many servers of a Lustre file system to stripe files, by their size, who reads
// or writes them, and how. Pure; a table of rules of our own, after a site's layouts (CSCS documentation,
// storage/filesystems).
//
//   less than 4 MiB                         1 stripe
//   4 to 64 MiB                             4
//   more, read or written by many in order  min(32, OSTs) of 4 MiB
//   an image that many nodes read           min(32, OSTs) of 4 MiB, or hand it on from node to node
//   one file for each rank                  about 4 stripes for each OST in all, so 1 to 4 for each file
//                                           where there are at least as many ranks as OSTs
//   random reads of less than 1 MiB         1 of 1 MiB, on flash
//   files of sizes that are not known       progressive: 1 up to 4 MiB, 4 up to 64 MiB, then min(32, OSTs)
//
// A layout is that of files which are made from then on; lfs-setstripe(1).
#pragma once

#include "core/error.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::stage {

enum class LayoutAccess { kSequential, kImage, kPerRank, kRandom };
std::vector<std::string> layout_access_names();
// Errors: kBadInput, naming those that there are.
core::Result<LayoutAccess> parse_layout_access(std::string_view name);
std::string_view to_text(LayoutAccess access);

struct LayoutInput {
    LayoutAccess access = LayoutAccess::kSequential;
    std::optional<uint64_t> file_bytes =
        {};                 // of a typical file; nothing where sizes differ or are not known
    uint64_t clients = 1;   // nodes that read, or ranks that write a file each
    uint64_t osts = 32;     // object storage targets of the file system
    std::string pool = {};  // of OSTs, as the site calls it ("flash"); empty: the usual one
};

// A part of a file, from the end of the one before it.
struct LayoutComponent {
    std::optional<uint64_t> end_bytes = {};  // nothing: the end of the file
    uint64_t stripes = 1;
    uint64_t stripe_bytes = uint64_t{1} << 20;
    bool operator==(const LayoutComponent&) const = default;
};

struct LayoutAdvice {
    std::vector<LayoutComponent> components = {};
    std::vector<std::string> reasons = {};
    std::vector<std::string> notes = {};  // what may be better still, or is needed besides
    std::string pool = {};
};

// Errors: kBadInput for no clients or no OSTs.
core::Result<LayoutAdvice> advise_layout(const LayoutInput& input);

// "lfs setstripe -E 4M -c 1 -S 1M … PATH". `migrate` instead of setstripe: of a file that has content, which
// is copied by it.
std::vector<std::string> layout_command(const LayoutAdvice& advice, const std::filesystem::path& path,
                                        bool migrate = false);

}  // namespace belay::stage
