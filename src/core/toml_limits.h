// What a TOML text may ask of its reader: the library takes tables nested without end and dies of them.
// Pure; knows strings and comments, and passes over everything else that is wrong: the parser says it better.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace belay::core {

// Far beyond what people write; 32 keys of 32 parts inside each other are taken without harm.
inline constexpr size_t kMaxTomlBytes = size_t{1} << 20;
inline constexpr size_t kMaxTomlKeyParts = 32;
inline constexpr size_t kMaxTomlDepth = 32;  // of brackets and braces

struct TomlExcess {
    size_t offset;
    std::string what;
};
// The first thing that is too much.
std::optional<TomlExcess> find_excess(std::string_view text);

}  // namespace belay::core
