// A model with its sizes, as people choose it.
#pragma once

#include "bench/train/model.h"

#include <memory>
#include <string_view>

namespace belay::bench {

// sizes(): a model's sizes, the first of which is taken unless another is asked for; size_named(name) -> Result<Size>;
// make_model(size) -> std::unique_ptr<Model>.
template <auto sizes, auto size_named, auto make_model>
KnownModel known_model_of(std::string_view name, std::string_view summary) {
    KnownModel known{.name = name,
                     .summary = summary,
                     .profiles = {},
                     .profile_help = "mini: minutes on a CPU; full: the MLPerf HPC reference",
                     .make = [](std::string_view profile) -> core::Result<std::unique_ptr<Model>> {
                         BELAY_TRY(size, size_named(profile));
                         return make_model(size);
                     }};
    for (const auto& size : sizes()) known.profiles.push_back(size.run.name);
    return known;
}

}  // namespace belay::bench
