// The tar of a shard: POSIX ustar, with a pax header only before a file whose name or size does not fit
// (POSIX.1-2017, pax Interchange Format). Only regular files, all of them owned by nobody in particular: the
// same files give the same bytes, whoever packs them, when and where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::shard {

inline constexpr uint64_t kTarBlock = 512;
// Two blocks of zeros, and as many as make the whole a multiple of 20 blocks, as tar writes it.
inline constexpr uint64_t kTarRecord = 20 * kTarBlock;
inline constexpr size_t kTarNameBytes = 100;                  // without a pax header
inline constexpr uint64_t kTarSizeLimit = uint64_t{1} << 33;  // likewise: 11 octal digits

// What stands before the content of a file; a multiple of 512 bytes. `name` is relative, of any bytes but 0.
std::string tar_header(std::string_view name, uint64_t size);
uint64_t tar_header_bytes(std::string_view name, uint64_t size);
// What follows `size` bytes of content up to the next block.
constexpr uint64_t tar_padding(uint64_t size) {
    return (kTarBlock - size % kTarBlock) % kTarBlock;
}
// What follows the last file of an archive that is `bytes` long until there.
constexpr uint64_t tar_trailer(uint64_t bytes) {
    const uint64_t end = bytes + 2 * kTarBlock;
    return 2 * kTarBlock + (kTarRecord - end % kTarRecord) % kTarRecord;
}

// The most that a header takes, with the longest name of an index.
inline constexpr size_t kLongestTarHeader = size_t{68} << 10;

struct TarMember {
    std::string name;
    uint64_t bytes = 0;
    uint64_t header_bytes = 0;
};
// The file whose header, as tar_header() makes it, begins `bytes`; nothing for anything else, the end of an
// archive among it.
std::optional<TarMember> parse_tar_header(std::string_view bytes);

}  // namespace belay::shard
