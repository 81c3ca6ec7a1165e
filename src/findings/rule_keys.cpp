#include "findings/rule_keys.h"

#include "core/text.h"
#include "core/units.h"

#include <algorithm>
#include <cmath>

namespace belay::findings {

using core::Failure;
using core::Result;

Result<> TomlKeys::check(const toml::table& table, std::span<const std::string_view> known) const {
    for (auto&& [key, value] : table)
        if (std::ranges::find(known, key.str()) == known.end()) return unknown(key, known);
    return {};
}

Failure TomlKeys::unknown(const toml::key& key, std::span<const std::string_view> known) const {
    auto meant = core::nearest(key.str(), known);
    return core::bad_input("unknown key \"{}\"", key.str())
        .at(position(key))
        .hint(meant ? fmt::format("did you mean \"{}\"?", *meant)
                    : fmt::format("the keys are {}", fmt::join(known, ", ")));
}

Result<std::string> TomlKeys::text(const toml::table& table, std::string_view key,
                                   std::optional<std::string> otherwise) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
        if (otherwise) return *otherwise;
        return wrong(table, "{} is missing", key);
    }
    auto value = node->value_exact<std::string>();
    if (!value) return wrong(*node, "{} must be a text, not {}", key, core::describe(*node));
    if (!otherwise && core::trim(*value).empty()) return wrong(*node, "{} is empty", key);
    return *value;
}

Result<std::vector<std::string>> TomlKeys::texts(const toml::table& table, std::string_view key) const {
    std::vector<std::string> out;
    const toml::node* node = table.get(key);
    if (node == nullptr) return out;
    const auto* list = node->as_array();
    if (list == nullptr)
        return wrong(*node, "{} must be an array of texts, not {}", key, core::describe(*node));
    for (const toml::node& each : *list) {
        auto value = each.value_exact<std::string>();
        if (!value) return wrong(each, "{} must hold texts, not {}", key, core::describe(each));
        out.push_back(std::move(*value));
    }
    return out;
}

Result<std::string> TomlKeys::choice(const toml::table& table, std::string_view key,
                                     std::span<const std::string_view> choices,
                                     std::string_view otherwise) const {
    BELAY_TRY(value, text(table, key, std::string(otherwise)));
    if (std::ranges::find(choices, value) != choices.end()) return value;
    auto meant = core::nearest(value, choices);
    return wrong(*table.get(key), "unknown {} \"{}\"", key, value)
        .hint(meant ? fmt::format("did you mean \"{}\"?", *meant)
                    : fmt::format("one of {}", fmt::join(choices, ", ")));
}

Result<double> TomlKeys::number(const toml::table& table, std::string_view key, double otherwise,
                                double least, double most) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return otherwise;
    return number_of(*node, least, most);
}

Result<double> TomlKeys::number_of(const toml::node& value, double least, double most) const {
    auto number = value.is_number() ? value.value<double>() : std::nullopt;
    if (!number) return wrong(value, "must be a number, not {}", core::describe(value));
    if (!std::isfinite(*number) || *number < least || *number > most)
        return wrong(value, "must be between {:g} and {:g}", least, most);
    return *number;
}

Result<core::Duration> TomlKeys::duration(const toml::table& table, std::string_view key,
                                          core::Duration otherwise) const {
    if (!table.contains(key)) return otherwise;
    BELAY_TRY(written, text(table, key));
    auto value = core::parse_duration(written);
    if (!value)
        return wrong(*table.get(key), "{}: {}", key, value.error().message()).hint(value.error().hint_text());
    return *value;
}

Result<const toml::table*> TomlKeys::section(const toml::table& table, std::string_view key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return nullptr;
    const auto* found = node->as_table();
    if (found == nullptr) return wrong(*node, "{} must be a table, not {}", key, core::describe(*node));
    return found;
}

core::SourcePosition TomlKeys::position(const toml::node& node) const {
    return core::toml_position(source_, node.source().begin);
}

core::SourcePosition TomlKeys::position(const toml::key& key) const {
    return core::toml_position(source_, key.source().begin);
}

core::SourcePosition TomlKeys::place_of(std::string_view word, int from_line) const {
    int line = 0;
    for (std::string_view each : core::split(source_.text(), '\n')) {
        if (++line < from_line) continue;
        size_t at = each.find(word);
        if (at != std::string_view::npos) return source_.at(line, static_cast<int>(at) + 1);
    }
    return {source_.file(), std::max(from_line, 1), 1, {}};
}

Failure TomlKeys::wrong_key(const toml::key& key, std::string_view hint) const {
    return core::bad_input("\"{}\" cannot stand here", key.str()).at(position(key)).hint(hint);
}

}  // namespace belay::findings
