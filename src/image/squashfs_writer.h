// Writes a SquashFS file (zstd level 3, blocks of 128 KiB) through libsquashfs. The content of files may come
// in any order; names, inodes and directories are written at the end, from the merged tree. All belongs to
// root (0:0).
//
// Two profiles. In an environment, small files share blocks (fragments): fewer bytes, and they are read
// together. In training data they are read in any order, and each read of a shared block unpacks all that is
// in it: no file shares one.
//
// The same calls give the same bytes, whatever the number of threads is.
#pragma once

#include "core/error.h"
#include "image/layer_tree.h"

#include <filesystem>
#include <memory>
#include <string_view>

namespace belay::image {

struct SquashfsProfile {
    bool fragments = true;
    bool compressed = true;  // what files hold; names and inodes always are
};

class SquashfsWriter {
  public:
    // Writes to `fd`, an empty file open for reading and writing, which stays the caller's; `name` is for
    // messages. Errors: kSystem.
    static core::Result<SquashfsWriter> create(int fd, std::string name, unsigned threads,
                                               SquashfsProfile profile = {});
    SquashfsWriter(SquashfsWriter&&) noexcept;
    SquashfsWriter& operator=(SquashfsWriter&&) = delete;
    ~SquashfsWriter();

    // The content of a file, in pieces, between begin_file and end_file; each entry of a layer once. Errors:
    // kSystem, with the reason of the failed write (a full disk is said so).
    core::Result<> begin_file(uint32_t layer, uint64_t ordinal);
    core::Result<> append(std::string_view bytes);
    core::Result<> end_file();

    // Every file of the tree must have been given; others are left out. `mtime` is that of the whole (seconds
    // since 1970). Errors: kSystem.
    core::Result<> finish(const Inodes& inodes, const Node& root, uint32_t mtime);

  private:
    struct State;
    explicit SquashfsWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace belay::image
