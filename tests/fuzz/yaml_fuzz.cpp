// YAML from any text: an error has a place inside the text, and a tree keeps within its limits.
#include "core/yaml.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>

using namespace belay::core;

namespace {

struct Tree {
    int lines = 0;
    size_t nodes = 0;

    void check(const YamlNode& node, int depth) {
        if (depth > kMaxYamlDepth || ++nodes > kMaxYamlNodes) abort();
        if (node.line < 1 || node.line > lines || node.column < 1) abort();
        if (node.type != YamlType::kList && !node.items.empty()) abort();
        if (node.type != YamlType::kMap && !node.entries.empty()) abort();
        if (describe(node).empty()) abort();
        for (const YamlNode& item : node.items) check(item, depth + 1);
        std::set<std::string_view> keys;
        for (const YamlEntry& entry : node.entries) {
            if (!keys.insert(entry.key).second || node.find(entry.key) != &entry) abort();
            check(entry.value, depth + 1);
        }
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    int lines = 2 + static_cast<int>(std::count(text.begin(), text.end(), '\n'));
    auto root = parse_yaml({text, "fuzz.yaml"});
    if (root) {
        Tree{.lines = lines}.check(*root, 1);
        return 0;
    }
    const Error& error = root.error();
    if (error.kind() != ErrorKind::kBadInput || error.message().empty() || !error.position()) abort();
    if (error.position()->line < 1 || error.position()->line > lines || error.render().empty()) abort();
    return 0;
}
