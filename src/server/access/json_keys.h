// Whether an object states a key twice: readers differ in which of the two counts, and so in what a token says. Pure.
#pragma once

#include <string_view>

namespace belay::server {

// Of valid JSON: any object in it. Keys are compared as what they mean ("a" is "\u0061").
bool repeats_a_key(std::string_view json);

}  // namespace belay::server
