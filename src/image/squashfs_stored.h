// The content of files as it is: blocks that are not compressed and that no two files share in part.
#pragma once

#include "image/squashfs_blocks.h"

#include <cstdint>
#include <sqfs/inode.h>
#include <string>
#include <string_view>
#include <vector>

namespace belay::image {

// What libsquashfs's block processor makes of files with SQFS_BLK_DONT_COMPRESS and SQFS_BLK_DONT_FRAGMENT, without its threads, which
// cost small files more than the work that they take over. `blocks` lives longer. Functions return an SQFS_ERROR.
class SquashfsStored {
  public:
    SquashfsStored(SquashfsBlocks& blocks, uint32_t block_bytes)
        : blocks_(blocks), block_bytes_(block_bytes) {}

    void begin();
    int append(std::string_view bytes);
    // The inode of the file, to be freed with sqfs_free().
    int end(sqfs_inode_generic_t*& inode);

  private:
    int write_block(uint32_t flags);

    SquashfsBlocks& blocks_;
    uint32_t block_bytes_;
    std::string block_;            // held back until it is known whether it is the last
    std::vector<uint32_t> sizes_;  // of the blocks, as an inode has them; 0: nothing but zeros
    uint64_t bytes_ = 0, sparse_bytes_ = 0, location_ = 0;
};

}  // namespace belay::image
