// The variables in an environment file. A parser of its own, without a shell:
//
//   text := ( "$$" | "${" NAME [ ":-" text ] "}" | other )*       NAME := [A-Za-z_][A-Za-z0-9_]*
//
// "$$" gives "$". A variable that is not set is an error, one that is set but empty is empty; the default
// after ":-" holds where it is unset or empty. Any other "$" is itself, with a warning. What comes out is
// never looked at again.
#pragma once

#include "core/process.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace belay::env {

// Deeper nested defaults are refused.
inline constexpr int kDeepestDefault = 8;

// Something in a text, with where it stands there, in bytes.
struct ExpansionProblem {
    enum class Kind { kUndefined, kSyntax, kBareDollar };
    Kind kind = Kind::kSyntax;
    size_t offset = 0;
    size_t length = 1;
    std::string message;  // "variable DATA is not set"
    std::string hint;
};

struct Expansion {
    std::string text;
    std::vector<ExpansionProblem> problems;
    bool ok() const;  // without undefined variables and mistakes; a bare "$" is none
};

// Looks variables up in each of `scopes` in turn; the first that has one wins.
Expansion expand(std::string_view text, const std::vector<const core::Environment*>& scopes);

// The pieces between those ":" that stand outside "${...}", as offset and length: a mount is split before it
// is expanded, so that no value can add a field.
struct Piece {
    size_t offset = 0;
    std::string_view text;
};
std::vector<Piece> split_outside_variables(std::string_view text, char separator);

}  // namespace belay::env
