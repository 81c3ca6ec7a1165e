// The keys that somebody asks for, numbered from 0: most lines of a long log have another one, and looking that
// up must cost next to nothing.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace belay::bench {

class KeySet {
  public:
    static constexpr int kUnknown = -1;

    // The number of the key, which is a new one where it is not in the set yet. `key` must outlive the set.
    int add(std::string_view key) {
        if (const int known = find(key); known != kUnknown) return known;
        keys_.push_back(key);
        if (keys_.size() * 4 > slots_.size()) {
            slots_.assign(slots_.size() * 4, 0);
            for (size_t number = 0; number < keys_.size(); ++number) put(number);
        } else {
            put(keys_.size() - 1);
        }
        return static_cast<int>(keys_.size()) - 1;
    }
    int find(std::string_view key) const {
        for (size_t at = slot(key); slots_[at] != 0; at = (at + 1) & (slots_.size() - 1))
            if (keys_[slots_[at] - 1] == key) return slots_[at] - 1;
        return kUnknown;
    }
    size_t size() const { return keys_.size(); }
    std::string_view operator[](int number) const { return keys_[static_cast<size_t>(number)]; }

  private:
    // Of the length, the first eight bytes and the last eight.
    size_t slot(std::string_view key) const {
        uint64_t first = 0, last = 0;
        const size_t count = key.size() < 8 ? key.size() : 8;
        std::memcpy(&first, key.data(), count);
        std::memcpy(&last, key.data() + key.size() - count, count);
        const uint64_t mixed =
            (first * 0x9E3779B97F4A7C15u ^ last * 0xC2B2AE3D27D4EB4Fu) + key.size() * 0x165667B19E3779F9u;
        return (mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9u >> 32 & (slots_.size() - 1);
    }
    void put(size_t number) {
        size_t at = slot(keys_[number]);
        while (slots_[at] != 0) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = static_cast<uint16_t>(number + 1);
    }

    std::vector<std::string_view> keys_;
    std::vector<uint16_t> slots_ = std::vector<uint16_t>(256, 0);  // number + 1; a power of two of them
};

}  // namespace belay::bench
