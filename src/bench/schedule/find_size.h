// The sizes of a model by the names of their profiles.
#pragma once

#include "core/error.h"
#include "core/text.h"

#include <span>
#include <string_view>
#include <vector>

#include <fmt/ranges.h>

namespace belay::bench {

// Size has a Profile `run`. Errors: kBadInput, with the nearest name.
template <typename Size>
core::Result<Size> find_size(std::span<const Size> sizes, std::string_view name) {
    std::vector<std::string_view> names;
    for (const Size& size : sizes) {
        if (size.run.name == name) return size;
        names.push_back(size.run.name);
    }
    const auto meant = core::nearest(name, names);
    return core::bad_input("no profile \"{}\"", name)
        .hint(meant ? fmt::format("did you mean \"{}\"?", *meant)
                    : fmt::format("the profiles are {}", fmt::join(names, " and ")));
}

}  // namespace belay::bench
