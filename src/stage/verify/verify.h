// belay stage verify, repair: whether a packed data set is what its manifest says, down to the sample, and
// making again what is not.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "shard/manifest.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace belay::stage {

struct Defect {
    std::string shard;                       // the file: a tar, its index, an image, the manifest
    std::optional<std::string> sample = {};  // the record in it, where it can be told
    std::string why;
    bool operator==(const Defect&) const = default;
};

struct Verification {
    uint64_t shards = 0;
    uint64_t bytes = 0;
    std::vector<Defect> bad = {};  // in the order of the shards
    bool ok() const { return bad.empty(); }
};

// Reads everything once. A manifest that is damaged is a defect, one that is missing an error. Errors:
// kBadInput, kSystem.
core::Result<Verification> verify(const std::filesystem::path& directory, size_t threads);

struct Repair {
    std::vector<std::string> repaired;  // files that are again what the manifest says
    std::vector<Defect> left;           // what could not be, and why
};

// Makes the files again in which verify() finds a defect, from the source or, an index, from its tar; only
// what then equals the manifest's digest takes the place of what was there. `source` is where the manifest
// says where nothing is given.
// Errors: as verify(); kBadInput where another process packs or repairs there.
core::Result<Repair> repair(const std::filesystem::path& directory,
                            const std::optional<std::filesystem::path>& source, size_t threads);

}  // namespace belay::stage
