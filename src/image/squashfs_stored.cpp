#include "image/squashfs_stored.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <isa-l/crc.h>
#include <sqfs/block.h>
#include <sqfs/error.h>

namespace belay::image {

namespace {

constexpr uint32_t kStoredAsItIs = 1U << 24U;  // of a block's size in an inode

}  // namespace

void SquashfsStored::begin() {
    block_.clear();
    sizes_.clear();
    bytes_ = sparse_bytes_ = location_ = 0;
}

int SquashfsStored::append(std::string_view bytes) {
    while (!bytes.empty()) {
        if (block_.size() == block_bytes_)
            if (const int error = write_block(0); error != 0) return error;
        const std::string_view part = bytes.substr(0, block_bytes_ - block_.size());
        block_ += part;
        bytes_ += part.size();
        bytes.remove_prefix(part.size());
    }
    return 0;
}

int SquashfsStored::write_block(uint32_t flags) {
    if (sizes_.empty()) flags |= SQFS_BLK_FIRST_BLOCK;
    const auto size = static_cast<uint32_t>(block_.size());
    const bool is_zeros = block_.find_first_not_of('\0') == std::string::npos;
    if (is_zeros) {
        flags |= SQFS_BLK_IS_SPARSE;
        sparse_bytes_ += size;
    }
    const auto* data = reinterpret_cast<const unsigned char*>(block_.data());
    const uint32_t checksum = is_zeros ? 0 : crc32_gzip_refl(0, data, size);
    sizes_.push_back(is_zeros ? 0 : size | kStoredAsItIs);
    const int error = blocks_.write(data, size, checksum, flags, location_);
    block_.clear();
    return error;
}

int SquashfsStored::end(sqfs_inode_generic_t*& inode) {
    if (!block_.empty())
        if (const int error = write_block(SQFS_BLK_LAST_BLOCK); error != 0) return error;
    const size_t bytes = sizes_.size() * sizeof(uint32_t);
    auto* made = static_cast<sqfs_inode_generic_t*>(std::calloc(1, sizeof(sqfs_inode_generic_t) + bytes));
    if (made == nullptr) return SQFS_ERROR_ALLOC;
    inode = made;
    made->base.type = SQFS_INODE_FILE;
    made->payload_bytes_available = made->payload_bytes_used = static_cast<uint32_t>(bytes);
    std::ranges::copy(sizes_, made->extra);
    sqfs_inode_set_frag_location(made, UINT32_MAX, UINT32_MAX);
    sqfs_inode_set_file_size(made, bytes_);
    sqfs_inode_set_file_block_start(made, location_);
    if (sparse_bytes_ == 0) return 0;
    const int error = sqfs_inode_make_extended(made);
    made->data.file_ext.sparse = sparse_bytes_;
    return error;
}

}  // namespace belay::image
