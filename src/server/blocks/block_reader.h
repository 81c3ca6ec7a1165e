// The blocks of a stream out of the files of block logs, as pieces that a reader of segments takes.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "server/blocks/block_index.h"

#include <functional>
#include <string_view>
#include <vector>

namespace belay::server {

// `places`: by the numbers of their blocks. Each number is given once, also where two places have it. A piece has as
// many blocks of one session as lie in about 4 MiB. Errors: kSystem, kNotFound for a file that is gone; what `visit` returns.
core::Result<> read_places(const core::Directory& directory, const std::vector<BlockPlace>& places,
                           const std::function<core::Result<>(std::string_view piece)>& visit);

}  // namespace belay::server
