// TOML text to a tree with positions. The one place that includes the TOML library, always with the same
// settings: compiled into this module (toml.cpp), without exceptions, and without its assertions, which abort
// on "[[[" where the parser behind them reports an error (https://github.com/marzer/tomlplusplus/pull/301,
// not in the version of Debian 12).
#pragma once

#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#define TOML_HEADER_ONLY 0
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include "core/error.h"

#include <string>
#include <string_view>

namespace belay::core {

// Errors: kBadInput with the position in `file`, which is only a name here.
Result<toml::table> parse_toml(std::string_view text, const std::string& file);

// Where a node or key of that text stands, node.source().begin or key.source().begin: for Error::at().
SourcePosition toml_position(std::string_view text, const std::string& file, toml::source_position position);

// What a node is, for a message: "a table", "the integer 5".
std::string describe(const toml::node& node);

}  // namespace belay::core
