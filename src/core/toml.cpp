#define TOML_IMPLEMENTATION
#include "core/toml.h"

namespace belay::core {

Result<toml::table> parse_toml(std::string_view text, const std::string& file) {
    toml::parse_result result = toml::parse(text, std::string_view(file));
    if (result) return std::move(result).table();
    const toml::parse_error& error = result.error();
    return bad_input("{}", error.description()).at(toml_position(text, file, error.source().begin));
}

SourcePosition toml_position(std::string_view text, const std::string& file, toml::source_position position) {
    SourcePosition out{file, static_cast<int>(position.line), 1, {}};
    for (toml::source_index line = 1; line < position.line; ++line) {
        size_t newline = text.find('\n');
        if (newline == std::string_view::npos) return out;
        text.remove_prefix(newline + 1);
    }
    std::string_view line = text.substr(0, text.find('\n'));
    if (line.ends_with('\r')) line.remove_suffix(1);
    out.line_text = line;
    // The parser counts columns in characters, SourcePosition in bytes.
    size_t byte = 0;
    for (toml::source_index column = 1; column < position.column && byte < line.size(); ++column) {
        ++byte;
        while (byte < line.size() && (static_cast<unsigned char>(line[byte]) & 0xC0) == 0x80) ++byte;
    }
    out.column = static_cast<int>(byte) + 1;
    return out;
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
