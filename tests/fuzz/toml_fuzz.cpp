// TOML: what find_excess() lets pass has no keys and values nested deeper than it says, so that nothing that
// walks the table, its destructor first, needs a stack without end.
#include "core/toml.h"
#include "core/toml_limits.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

size_t depth_of(const toml::node& node) {
    size_t deepest = 0;
    if (const toml::table* table = node.as_table())
        for (const auto& [key, value] : *table) deepest = std::max(deepest, depth_of(value));
    if (const toml::array* array = node.as_array())
        for (const toml::node& value : *array) deepest = std::max(deepest, depth_of(value));
    return deepest + 1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace belay::core;
    // The byte 1 stands for a key of many parts, which a text of a few bytes can then hide.
    std::string text;
    for (size_t i = 0; i < size; ++i)
        if (data[i] == 0x01)
            for (int part = 0; part < 2000; ++part) text += "a.";
        else
            text.push_back(static_cast<char>(data[i]));
    const auto table = parse_toml({text, "f"});
    if (!table) return 0;
    // A header, then a key in each level of inline tables, each of so many parts at most.
    if (depth_of(*table) > kMaxTomlKeyParts * (kMaxTomlDepth + 2)) std::abort();
    return 0;
}
