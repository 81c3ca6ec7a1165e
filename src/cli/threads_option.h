// --threads, the same for all commands that look at many files at once.
#pragma once

#include "core/command.h"

#include <cstddef>
#include <string>
#include <utility>

namespace belay::cli {

inline constexpr int64_t kMostThreads = 1024;

inline void add_threads(core::CommandDeclaration& command, size_t& threads, std::string meaning) {
    command.options()
        .add_option("--threads", threads, std::move(meaning))
        ->type_name("N")
        ->between(1, kMostThreads);
}

}  // namespace belay::cli
