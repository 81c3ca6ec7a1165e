// Which files a policy exempts, by patterns of their paths. Pure; any bytes.
//
//   *   any number of bytes but "/"      ?             one byte but "/"
//   **  any number of bytes              [a-z] [!a-z]  one of these, none of these
//
// A pattern without "/" is compared with each part of a path: ".uenv-images" exempts what is called so, and
// everything beneath it, wherever it lies. One with "/" is compared with the path from the root on:
// "ada/keep" exempts that file, or everything beneath that directory.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace belay::stage {

// Of one pattern and all of a text. Takes time in proportion to the product of their lengths at most.
bool matches_glob(std::string_view pattern, std::string_view text);

// Whether a path, or a directory that it is beneath, matches one of the patterns.
bool is_exempt(std::span<const std::string> patterns, std::string_view path);

}  // namespace belay::stage
