// YAML text to a tree with positions. The one place that includes the YAML library, whose exceptions, cycles
// (an alias inside its own anchor) and depth stay behind it.
#pragma once

#include "core/source_text.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::core {

enum class YamlType { kNull, kBoolean, kInteger, kNumber, kText, kList, kMap };

struct YamlEntry;

struct YamlNode {
    YamlType type = YamlType::kNull;
    std::string text = {};           // a scalar as written, without quotes
    std::vector<YamlNode> items;     // of a list
    std::vector<YamlEntry> entries;  // of a map, in the order written, each key once
    int line = 1;                    // both count from 1; columns count bytes
    int column = 1;

    bool is_scalar() const { return type != YamlType::kList && type != YamlType::kMap; }
    const YamlEntry* find(std::string_view key) const;
};

struct YamlEntry {
    std::string key;
    int line = 1;
    int column = 1;
    YamlNode value;
};

// "a text", "the integer 5": for messages.
std::string describe(const YamlNode& node);

// Limits on what a text from outside can make us hold.
inline constexpr size_t kMaxYamlBytes = size_t{256} << 10;
inline constexpr int kMaxYamlDepth = 16;
inline constexpr size_t kMaxYamlNodes = 20'000;
inline constexpr size_t kMaxYamlText = size_t{1}
                                       << 20;  // of keys and values, each alias with all it stands for

// The only document of the text. Plain scalars are typed as YAML 1.1 does ("yes" is
// a boolean), quoted ones are texts. Errors: kBadInput with the position.
Result<YamlNode> parse_yaml(const SourceText& source);

}  // namespace belay::core
