// The bytes of a segment, of which a reader holds as many as it looks at.
#pragma once

#include "core/error.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::stream {

class SegmentBytes {
  public:
    // In memory.
    explicit SegmentBytes(std::string_view all) : all_(all), size_(all.size()) {}
    // In a file, read piece by piece, not mapped: a writer that meets a full disk cuts its last block off
    // again. Errors: kSystem.
    static core::Result<SegmentBytes> of_file(int fd, std::string name);

    uint64_t size() const { return size_; }
    // As if the file ended there.
    void cut_to(uint64_t size) { size_ = std::min(size_, size); }
    // At least `wanted` bytes from `offset` on, or all that there are; valid until the next call. Errors:
    // kSystem.
    core::Result<std::string_view> at(uint64_t offset, size_t wanted);
    // Where, from `offset` on, something may be other than zero: a file of terabytes need not take a byte on
    // disk.
    uint64_t skip_hole(uint64_t offset) const;

  private:
    SegmentBytes(int fd, std::string name, uint64_t size) : fd_(fd), name_(std::move(name)), size_(size) {}

    std::string_view all_;  // where there is no file
    int fd_ = -1;
    std::string name_;
    uint64_t size_ = 0;
    std::string window_;  // of the file, from window_at_
    uint64_t window_at_ = 0;
};

}  // namespace belay::stream
