// Philox4x32-10: random numbers as a function of a counter and a key, so that any process can make any
// sample, in any order, with the same bytes. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as
// easy as 1, 2, 3", SC11.
#pragma once

#include <array>
#include <cstdint>

namespace belay::bench {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

// Ten rounds: four random words for this counter and key.
constexpr PhiloxCounter philox4x32(PhiloxCounter counter, PhiloxKey key) {
    constexpr uint64_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
    constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
    for (int round = 0; round < 10; ++round) {
        uint64_t product0 = kMultiplier0 * counter[0];
        uint64_t product1 = kMultiplier1 * counter[2];
        counter = {
            static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
            static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
        key[0] += kWeyl0;
        key[1] += kWeyl1;
    }
    return counter;
}

// A seed that follows from two numbers, and from no other two that anybody would choose: seeds that follow each other give
// seeds that have nothing in common.
constexpr uint64_t mix_seeds(uint64_t one, uint64_t other) {
    const PhiloxCounter words =
        philox4x32({static_cast<uint32_t>(other), static_cast<uint32_t>(other >> 32), 0, 0},
                   {static_cast<uint32_t>(one), static_cast<uint32_t>(one >> 32)});
    return uint64_t{words[0]} << 32 | words[1];
}

}  // namespace belay::bench
