// A small file of /proc or /sys that is read again at every tick.
#pragma once

#include "core/file.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace belay::observe::collect {

// Keeps the file open between reads, and opens it again after a failure: it may come back.
class SourceFile {
  public:
    explicit SourceFile(std::filesystem::path path) : path_(std::move(path)) {}

    // The whole content, valid until the next read. Errors: kSystem, with the path.
    core::Result<std::string_view> read();
    // As read(), but "" where the file cannot be read: for sources that not every kernel has.
    std::string_view read_or_empty();
    // Whether the kernel has flagged a change (POLLPRI) since the last call; /proc/self/mountinfo does so.
    bool changed() const;

  private:
    std::filesystem::path path_;
    core::Descriptor fd_;
    std::string buffer_;
};

}  // namespace belay::observe::collect
