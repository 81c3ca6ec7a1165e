// Memory for one chunk, used again and again: it is neither cleared nor given back in between.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

namespace belay::stage {

class ChunkBuffer {
  public:
    ChunkBuffer() = default;
    ChunkBuffer(ChunkBuffer&& other) noexcept
        : bytes_(std::move(other.bytes_)),
          capacity_(std::exchange(other.capacity_, 0)),
          size_(std::exchange(other.size_, 0)) {}
    ChunkBuffer& operator=(ChunkBuffer&& other) noexcept {
        bytes_ = std::move(other.bytes_);
        capacity_ = std::exchange(other.capacity_, 0);
        size_ = std::exchange(other.size_, 0);
        return *this;
    }
    // What was in it is lost where it has to grow.
    void resize(size_t bytes) {
        if (bytes > capacity_) {
            bytes_ = std::make_unique_for_overwrite<char[]>(bytes);
            capacity_ = bytes;
        }
        size_ = bytes;
    }
    char* data() { return bytes_.get(); }
    size_t size() const { return size_; }
    std::string_view view() const { return {bytes_.get(), size_}; }

  private:
    std::unique_ptr<char[]> bytes_;
    size_t capacity_ = 0;
    size_t size_ = 0;
};

}  // namespace belay::stage
