// What must be known of a kept digest before it is believed: of which record, by which model and with which
// ceilings it was made.
#pragma once

#include "core/error.h"
#include "record/manifest.h"
#include "score/digest.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::score {

// As JSON, to be kept with the tables.
std::string digest_facts(const Digest& digest, const record::Manifest& manifest);
// The frame of the digest (all but `gpus` and `job`), if the facts hold for this record and these ceilings;
// nothing if they do not, or are no facts. One of an earlier model holds where it is all that there is.
std::optional<Digest> digest_frame(std::string_view facts, const record::Manifest& manifest,
                                   const std::vector<DeviceCeilings>& ceilings, bool samples_are_gone);

}  // namespace belay::score
