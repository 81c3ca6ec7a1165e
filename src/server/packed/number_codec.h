// Whole numbers of a column as planes of bytes, and back.
//
//   numbers := base:zigzag factor:varint order:u8 planes:u8 packed*          (a plane: packed_bytes.h)
//
// A number is base + factor * n. Of the n, either themselves (order 0), or the differences of each from the one before are stored, as
// they are (1) or with the sign in the lowest bit (2), whichever comes to less: noise is smallest as it is, a counter in its steps,
// and a level that wanders in steps up and down. All lowest bytes come first, then all second bytes and so on, as far as any is not 0.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// False, and nothing is added, where differences of the numbers do not fit into 64 bits.
bool put_numbers(std::string& out, std::span<const int64_t> numbers, int level);
// Takes `count` numbers off the front of `in`; any bytes are safe. Errors: kBadInput; kSystem for want of memory.
core::Result<std::vector<int64_t>> take_numbers(std::string_view& in, size_t count);

}  // namespace belay::server
