// How large the content of a deflate stream is, without room for it: a stream may expand to a thousand times its size, and
// whoever expands it without a limit needs memory for that.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <string_view>

namespace belay::bench::deepcam {

// Expands a stream as zlib writes it (RFC 1950) until its end, or until there are more than `limit` bytes, and says how many
// there were. Errors: kBadInput where it is damaged or cut off; kSystem, ENOMEM.
core::Result<uint64_t> inflated_size(std::string_view stream, uint64_t limit);

}  // namespace belay::bench::deepcam
