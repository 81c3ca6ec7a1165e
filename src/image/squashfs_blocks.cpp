#include "image/squashfs_blocks.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <sqfs/block.h>
#include <sqfs/error.h>
#include <type_traits>

namespace belay::image {

namespace {

constexpr uint32_t kNoBlock = UINT32_MAX;
constexpr size_t kComparedBytes = 16384;  // at a time

}  // namespace

SquashfsBlocks::SquashfsBlocks(SquashfsFile& file) : file_(file) {
    static_assert(std::is_standard_layout_v<Handle>);
    handle_.blocks = this;
    handle_.interface.base.destroy = [](sqfs_object_t*) {};
    handle_.interface.base.copy = [](const sqfs_object_t*) -> sqfs_object_t* { return nullptr; };
    handle_.interface.write_data_block = [](sqfs_block_writer_t* writer, void*, sqfs_u32 size,
                                            sqfs_u32 checksum, sqfs_u32 flags, const sqfs_u8* data,
                                            sqfs_u64* location) {
        return reinterpret_cast<Handle*>(writer)->blocks->write(data, size, checksum, flags, *location);
    };
    handle_.interface.get_block_count = [](const sqfs_block_writer_t* writer) -> sqfs_u64 {
        return reinterpret_cast<const Handle*>(writer)->blocks->blocks_.size();
    };
}

int SquashfsBlocks::write(const void* data, uint32_t bytes, uint32_t checksum, uint32_t flags,
                          uint64_t& location) {
    if ((flags & SQFS_BLK_FIRST_BLOCK) != 0) file_start_ = static_cast<uint32_t>(blocks_.size());
    location = file_.size;
    if (bytes > 0 && (flags & SQFS_BLK_IS_SPARSE) == 0) {
        if (blocks_.size() == kNoBlock) return SQFS_ERROR_OVERFLOW;
        try {
            blocks_.push_back({.offset = location,
                               .bytes = bytes,
                               .checksum = checksum,
                               .is_compressed = (flags & SQFS_BLK_IS_COMPRESSED) != 0,
                               .next_alike = kNoBlock});
        } catch (const std::bad_alloc&) {
            return SQFS_ERROR_ALLOC;
        }
        if (const int error = file_.interface.write_at(&file_.interface, location, data, bytes); error != 0)
            return error;
    }
    return (flags & SQFS_BLK_LAST_BLOCK) != 0 ? share_file(location) : 0;
}

void SquashfsBlocks::index_until(uint32_t end) {
    for (; indexed_ < end; ++indexed_) {
        const auto [place, is_new] = by_key_.try_emplace(blocks_[indexed_].key(), Alike{indexed_, indexed_});
        if (is_new) continue;
        blocks_[place->second.last].next_alike = indexed_;
        place->second.last = indexed_;
    }
}

bool SquashfsBlocks::is_alike(uint32_t place, uint32_t count) const {
    for (uint32_t i = 0; i < count; ++i)
        if (!blocks_[place + i].is_like(blocks_[file_start_ + i])) return false;
    return true;
}

int SquashfsBlocks::is_same(uint64_t a, uint64_t b, uint64_t bytes, bool& same) {
    std::array<char, kComparedBytes> first, second;
    for (same = true; same && bytes > 0;) {
        const auto part = static_cast<size_t>(std::min<uint64_t>(bytes, kComparedBytes));
        if (const int error = file_.interface.read_at(&file_.interface, a, first.data(), part); error != 0)
            return error;
        if (const int error = file_.interface.read_at(&file_.interface, b, second.data(), part); error != 0)
            return error;
        same = std::memcmp(first.data(), second.data(), part) == 0;
        a += part;
        b += part;
        bytes -= part;
    }
    return 0;
}

int SquashfsBlocks::share_file(uint64_t& location) {
    const auto count = static_cast<uint32_t>(blocks_.size()) - file_start_;
    location = count > 0 ? blocks_[file_start_].offset : 0;
    if (count == 0) return 0;
    try {
        index_until(file_start_);
    } catch (const std::bad_alloc&) {
        return SQFS_ERROR_ALLOC;
    }
    const auto found = by_key_.find(blocks_[file_start_].key());
    for (uint32_t place = found != by_key_.end() ? found->second.first : kNoBlock; place != kNoBlock;
         place = blocks_[place].next_alike) {
        if (!is_alike(place, count)) continue;
        bool same = false;
        if (const int error = is_same(blocks_[place].offset, location, blocks_.back().end() - location, same);
            error != 0)
            return error;
        if (!same) continue;
        // Where the place reaches into the file itself, of whose blocks the last repeat the first, these stay.
        blocks_.erase(blocks_.begin() + std::max(file_start_, place + count), blocks_.end());
        location = blocks_[place].offset;
        return file_.interface.truncate(&file_.interface, blocks_.back().end());
    }
    return 0;
}

}  // namespace belay::image
