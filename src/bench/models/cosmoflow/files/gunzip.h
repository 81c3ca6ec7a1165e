// Unpacks gzip in memory, up to a limit.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace belay::bench::cosmoflow {

// By its first bytes, whatever it is called. A record of 559,903 bytes would begin so too, or of a multiple of 16 MiB more, which
// is no profile's sample.
bool is_gzip(std::string_view bytes);

// What is packed in all members, one after the other, as gzip does; zeros behind the last are padding. Errors: kBadInput
// where more than `limit` bytes would come of it, and for anything that is not whole; kSystem, ENOMEM.
core::Result<std::string> gunzip(std::string_view bytes, size_t limit);

}  // namespace belay::bench::cosmoflow
