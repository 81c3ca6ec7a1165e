// Where the blocks of files lie in a SquashFS file, so that files of the same content share them.
#pragma once

#include "image/squashfs_file.h"

#include <cstdint>
#include <sqfs/block_writer.h>
#include <unordered_map>
#include <vector>

namespace belay::image {

// Writes blocks one after the other, and takes those of a file back where the same bytes lie in the file already: the first such
// place, as libsquashfs's own block writer, which compares each file with all blocks before it. The object is one of libsquashfs,
// for its block processor; of its flags, SQFS_BLK_ALIGN is not known. `file` lives longer.
class SquashfsBlocks {
  public:
    explicit SquashfsBlocks(SquashfsFile& file);
    SquashfsBlocks(const SquashfsBlocks&) = delete;
    SquashfsBlocks& operator=(const SquashfsBlocks&) = delete;

    sqfs_block_writer_t* interface() { return &handle_.interface; }
    // As write_data_block of that: `checksum` is of the bytes; `location` becomes that of the block or, with
    // SQFS_BLK_LAST_BLOCK, of the file's first one. Returns an SQFS_ERROR.
    int write(const void* data, uint32_t bytes, uint32_t checksum, uint32_t flags, uint64_t& location);

  private:
    struct Block {
        uint64_t offset;
        uint32_t bytes, checksum;
        bool is_compressed;
        uint32_t next_alike;  // with the same key, further on
        bool is_like(const Block& other) const {
            return bytes == other.bytes && checksum == other.checksum && is_compressed == other.is_compressed;
        }
        uint64_t key() const { return uint64_t{bytes} << 32U | checksum; }
        uint64_t end() const { return offset + bytes; }
    };
    struct Alike {
        uint32_t first, last;
    };
    struct Handle {
        sqfs_block_writer_t interface;  // first, so that a pointer to it is one to this
        SquashfsBlocks* blocks;
    };

    int share_file(uint64_t& location);
    bool is_alike(uint32_t place, uint32_t count) const;
    int is_same(uint64_t a, uint64_t b, uint64_t bytes, bool& same);
    void index_until(uint32_t end);

    SquashfsFile& file_;
    Handle handle_{};
    std::vector<Block> blocks_;
    std::unordered_map<uint64_t, Alike> by_key_;  // of the blocks before indexed_
    uint32_t indexed_ = 0;
    uint32_t file_start_ = 0;  // the first block of the file that is written
};

}  // namespace belay::image
