// Numbers in files, little-endian whatever the processor.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace belay::stage {

template <std::unsigned_integral Number>
void put_little(std::string& out, Number value) {
    for (size_t i = 0; i < sizeof(Number); ++i)
        out += static_cast<char>(static_cast<uint64_t>(value) >> (8 * i) & 0xFF);
}

// Reads from the front; after a read past the end ok() is false and values are 0 and empty.
class LittleReader {
  public:
    explicit LittleReader(std::string_view bytes) : rest_(bytes) {}

    std::string_view bytes(uint64_t count) {
        if (count > rest_.size()) {
            ok_ = false;
            rest_ = {};
            return {};
        }
        const std::string_view out = rest_.substr(0, count);
        rest_.remove_prefix(count);
        return out;
    }
    uint32_t u32() { return static_cast<uint32_t>(number(sizeof(uint32_t))); }
    uint64_t u64() { return number(sizeof(uint64_t)); }

    size_t left() const { return rest_.size(); }
    bool ok() const { return ok_; }
    bool complete() const { return ok_ && rest_.empty(); }

  private:
    uint64_t number(size_t count) {
        uint64_t value = 0;
        const std::string_view taken = bytes(count);
        for (size_t i = taken.size(); i > 0; --i) value = value << 8 | static_cast<uint8_t>(taken[i - 1]);
        return value;
    }
    std::string_view rest_;
    bool ok_ = true;
};

}  // namespace belay::stage
