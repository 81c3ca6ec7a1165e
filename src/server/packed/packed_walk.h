// The parts of a packed file whose index is lost, one after the other, and an index made of them.
#pragma once

#include "core/error.h"
#include "server/packed/packed_format.h"
#include "server/packed/tier.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// The payload of a part. Errors: kBadInput where its bytes are damaged; kSystem for want of memory.
core::Result<std::string> unpack_part(const PartHeader& header, std::string_view stored);

// A place of the file that holds no part, or one that nobody can tell what it is of.
struct PackedDamage {
    uint64_t at = 0;
    uint64_t bytes = 0;
    std::string reason;
};

struct FoundParts {
    std::string index;  // as a writer would have written it
    std::vector<PackedDamage> damage;
};

class PackedWalk {
  public:
    // Gives bytes of the file: as many as are asked for, or those that there are.
    using Bytes = std::function<core::Result<std::string>(uint64_t at, size_t size)>;
    PackedWalk(Bytes bytes, uint64_t size) : bytes_(std::move(bytes)), size_(size) {}
    // `tier` is assumed where the facts are lost. Errors: kSystem.
    core::Result<FoundParts> find_all(Tier tier);

  private:
    core::Result<uint64_t> next_part(uint64_t from);

    Bytes bytes_;
    uint64_t size_;
};

}  // namespace belay::server
