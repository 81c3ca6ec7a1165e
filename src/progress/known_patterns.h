// How common training programs print their progress. Where nobody has declared a pattern, these are tried.
#pragma once

#include "core/error.h"
#include "progress/pattern.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::progress {

struct KnownShape {
    std::string_view program;  // whose
    std::string_view line;     // as it prints it
    std::string_view expression;
};

// Tried in this order. Each wants a loss and what it belongs to on one line: other output of programs has
// steps and epochs too.
std::span<const KnownShape> known_shapes();

// The person's own patterns, or without any the known ones. Errors: as of compile_patterns().
core::Result<std::vector<Pattern>> patterns_for(std::span<const std::string> own);

}  // namespace belay::progress
