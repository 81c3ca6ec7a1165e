// Bytes that have come and are not yet used.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace belay::http {

class InputBuffer {
  public:
    std::string_view view() const { return std::string_view(bytes_).substr(at_); }
    bool empty() const { return at_ == bytes_.size(); }
    size_t size() const { return bytes_.size() - at_; }
    void consume(size_t count) { at_ += count; }

    // Room for so many more behind what is there; what was used is given away. Valid until the next call.
    char* prepare(size_t count) {
        bytes_.erase(0, at_);
        at_ = 0;
        filled_ = bytes_.size();
        bytes_.resize(filled_ + count);
        return bytes_.data() + filled_;
    }
    // So many have come.
    void commit(size_t count) { bytes_.resize(filled_ + count); }
    // Gives the memory back where nothing waits.
    void shrink() {
        if (empty()) *this = {};
    }

  private:
    std::string bytes_;
    size_t at_ = 0;
    size_t filled_ = 0;
};

}  // namespace belay::http
