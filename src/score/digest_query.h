// A record's GPUs as a digest: the one place that reads the table `gpu` as a whole.
#pragma once

#include "core/error.h"
#include "record/archive/archive.h"
#include "score/digest.h"

#include <optional>
#include <string>
#include <vector>

namespace belay::score {

// Reads sealed records with as many threads as there are cores. A record without GPUs makes an empty digest.
// What the allocation names counts as held, sampled or not; where it names no devices, those that were
// sampled count, for the time that their node was held. Errors: kBadInput for damaged tables; kSystem.
core::Result<Digest> read_digest(record::Archive& archive,
                                 const std::vector<DeviceCeilings>& ceilings = builtin_ceilings(),
                                 const std::optional<std::string>& step = std::nullopt,
                                 Detail detail = Detail::kFull);

// The steps that the allocation names; "" for a batch script. Errors: kSystem.
core::Result<std::vector<std::string>> steps_of(record::Archive& archive);

}  // namespace belay::score
