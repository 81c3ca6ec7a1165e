#define TOML_IMPLEMENTATION
#include "core/toml.h"

#include "core/toml_limits.h"

namespace belay::core {

Result<toml::table> parse_toml(const SourceText& source) {
    if (auto excess = find_excess(source.text()))
        return bad_input("{}", excess->what).at(source.at_offset(excess->offset));
    toml::parse_result result = toml::parse(source.text(), std::string_view(source.file()));
    if (result) return std::move(result).table();
    const toml::parse_error& error = result.error();
    return bad_input("{}", error.description())
        .at(toml_position(source, error.source().begin))
        .hint(
            "correct it there: TOML has lines KEY = VALUE, texts in quotes, and [TABLE] or [[TABLE]] before "
            "them");
}

SourcePosition toml_position(const SourceText& source, toml::source_position position) {
    return source.at_character(static_cast<int>(position.line), static_cast<int>(position.column));
}

std::string describe(const toml::node& node) {
    switch (node.type()) {
        case toml::node_type::table:
            return "a table";
        case toml::node_type::array:
            return "an array";
        case toml::node_type::string:
            return "a text";
        case toml::node_type::integer:
            return fmt::format("the integer {}", node.as_integer()->get());
        case toml::node_type::floating_point:
            return fmt::format("the number {}", node.as_floating_point()->get());
        case toml::node_type::boolean:
            return node.as_boolean()->get() ? "the boolean true" : "the boolean false";
        default:
            return "a date or time";
    }
}

}  // namespace belay::core
