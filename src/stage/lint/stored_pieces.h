// What the file ".metadata" of a torch distributed checkpoint says of the files beside it: which there are,
// and how long each must be at least.
//
// It is a pickle (protocols 2 to 5) of torch.distributed.checkpoint.metadata.Metadata, whose storage_data
// maps each piece of a tensor to a _StorageInfo(relative_path, offset, length);
// torch/distributed/checkpoint/filesystem.py. A pickle is a program; this follows how it builds its values
// and calls nothing.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace belay::stage {

// By name of the file: where its last piece ends. Errors: kBadInput for what is not such a pickle.
core::Result<std::map<std::string, uint64_t>> stored_pieces(std::string_view pickle);

}  // namespace belay::stage
