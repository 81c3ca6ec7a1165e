#include "vet/parameter.h"

#include "core/text.h"
#include "gpu/xid.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <re2/re2.h>

namespace belay::vet {

namespace {

using core::YamlEntry;
using core::YamlNode;
using core::YamlType;
using Parsed = std::expected<ParsedParameter, Problem>;

std::unexpected<Problem> wrong(std::string message, std::string hint = {}) {
    return std::unexpected(Problem{std::move(message), std::move(hint)});
}

std::unexpected<Problem> wrong(const core::Error& error) {
    return wrong(error.message(), error.hint_text());
}

std::unexpected<Problem> unlike(std::string_view wanted, const YamlNode& node) {
    return wrong(fmt::format("must be {}, not {}", wanted, describe(node)));
}

Parsed done(ParameterValue value) {
    return ParsedParameter{std::move(value)};
}

bool is_number(const YamlNode& node) {
    return node.type == YamlType::kInteger || node.type == YamlType::kNumber;
}

// A finite number; YAML writes "+5", which from_chars does not take.
std::optional<double> number_of(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    auto value = core::parse_number<double>(text);
    return value && std::isfinite(*value) ? value : std::nullopt;
}

Parsed parse_text(const YamlNode& node) {
    if (node.type == YamlType::kText) return done(node.text);
    return wrong(
        fmt::format("must be a text, not {}", describe(node)),
        node.is_scalar() && !node.text.empty() ? fmt::format("write it in quotes: \"{}\"", node.text) : "");
}

Parsed parse_integer(const YamlNode& node) {
    if (!is_number(node) && node.type != YamlType::kText) return unlike("a whole number", node);
    auto value = number_of(node.text);
    constexpr double kLimit = 9.0e15;  // whole numbers stay exact as doubles
    if (!value || *value != std::floor(*value) || std::abs(*value) > kLimit)
        return unlike("a whole number", node);
    return done(static_cast<int64_t>(*value));
}

// A number, or a text of a number and the parameter's own unit: 2000, 2000 MHz.
Parsed parse_number(const YamlNode& node, std::string_view unit) {
    std::string_view text = core::trim(node.text);
    bool with_unit = node.type == YamlType::kText && !unit.empty() && text.ends_with(unit);
    if (with_unit) text = core::trim(text.substr(0, text.size() - unit.size()));
    auto value = with_unit || is_number(node) ? number_of(text) : std::nullopt;
    if (!value) return unlike(unit.empty() ? "a number" : fmt::format("a number of {}", unit), node);
    return done(*value);
}

Parsed parse_share(const YamlNode& node) {
    std::string_view text = core::trim(node.text);
    bool percent = node.type == YamlType::kText && text.ends_with('%');
    if (percent) text = core::trim(text.substr(0, text.size() - 1));
    auto value = percent || is_number(node) ? number_of(text) : std::nullopt;
    if (value && percent) *value /= 100;
    if (!value || *value < 0 || *value > 1) return unlike("a share such as 0.85 or \"85 %\"", node);
    return done(*value);
}

Parsed parse_boolean(const YamlNode& node) {
    if (node.type != YamlType::kBoolean) return unlike("true or false", node);
    const std::string lower = core::lower_case(node.text);
    return done(lower == "true" || lower == "yes" || lower == "on");
}

Parsed parse_duration(const YamlNode& node) {
    if (!node.is_scalar() || node.type == YamlType::kNull) return unlike("a duration such as 5s", node);
    auto value = core::parse_duration(node.text);
    if (!value) return wrong(value.error());
    return done(*value);
}

Parsed parse_seconds(const YamlNode& node) {
    auto value = is_number(node) || node.type == YamlType::kText ? number_of(node.text) : std::nullopt;
    constexpr double kDay = 86'400;
    if (!value || *value < 0 || *value > kDay) return unlike("a number of seconds", node);
    return done(std::chrono::duration_cast<core::Duration>(std::chrono::duration<double>(*value)));
}

Parsed parse_size(const YamlNode& node) {
    if (!node.is_scalar() || node.type == YamlType::kNull) return unlike("a size such as 4GiB", node);
    auto value = core::parse_size(node.text);
    if (!value) return wrong(value.error());
    return done(*value);
}

Parsed parse_bandwidth(const YamlNode& node) {
    if (!node.is_scalar() || node.type == YamlType::kNull)
        return unlike("a bandwidth such as 10 Gbit/s", node);
    auto value = core::parse_bandwidth(node.text);
    if (!value) return wrong(value.error());
    return done(*value);
}

Parsed parse_text_list(const YamlNode& node) {
    if (node.type == YamlType::kText) return done(TextList{node.text});
    if (node.type != YamlType::kList) return unlike("a list of texts", node);
    if (node.items.empty()) return wrong("is empty: a check against nothing would pass every node");
    TextList texts;
    for (const YamlNode& item : node.items) {
        if (item.type != YamlType::kText) return unlike("a list of texts", item);
        texts.push_back(item.text);
    }
    return done(std::move(texts));
}

Parsed parse_patterns(const YamlNode& node) {
    Parsed list = parse_text_list(node);
    if (!list) return list;
    for (const std::string& text : std::get<TextList>(*list->value)) {
        re2::RE2 pattern(text, re2::RE2::Quiet);
        if (!pattern.ok())
            return wrong(fmt::format("\"{}\" is not a regular expression: {}", text, pattern.error()));
    }
    return list;
}

Parsed parse_xid_classes(const YamlNode& node) {
    Parsed list = parse_text_list(node);
    if (!list) return list;
    std::vector<std::string_view> known;
    for (const gpu::XidMeaning& row : gpu::xid_table())
        if (std::find(known.begin(), known.end(), row.class_name) == known.end())
            known.push_back(row.class_name);
    for (const std::string& text : std::get<TextList>(*list->value)) {
        if (std::find(known.begin(), known.end(), text) != known.end()) continue;
        auto near = core::nearest(text, known);
        return wrong(
            fmt::format("\"{}\" is not a class of the table of XIDs", text),
            near ? fmt::format("did you mean \"{}\"?", *near)
                 : "there are: " + core::join(std::vector<std::string>(known.begin(), known.end()), ", "));
    }
    return list;
}

// vetnode's own may be empty; where Belay demands variables, none would pass every node.
Parsed parse_variables(const YamlNode& node, bool required) {
    if (node.type != YamlType::kMap) return unlike("a map of names to texts", node);
    if (required && node.entries.empty())
        return wrong("is empty: a check against nothing would pass every node");
    Variables variables;
    for (const YamlEntry& entry : node.entries) {
        if (entry.value.type == YamlType::kNull)
            variables[entry.key] = std::nullopt;
        else if (entry.value.type == YamlType::kText)
            variables[entry.key] = entry.value.text;
        else
            return wrong(
                fmt::format("{} must be a text or null, not {}", entry.key, describe(entry.value)),
                entry.value.is_scalar() ? fmt::format("write it in quotes: \"{}\"", entry.value.text) : "");
    }
    return done(std::move(variables));
}

// vetnode's sizes (pydantic's ByteSize): powers of 1024, any case, what follows a complete unit is ignored.
constexpr std::string_view kVetnodeHint =
    "vetnode's units are b kb mb gb tb pb eb, powers of 1024; write 4 GB or 4000000000";

struct VetnodeQuantity {
    double bytes;
    bool per_second;
    std::string_view ignored;
};

std::optional<VetnodeQuantity> vetnode_quantity(std::string_view text) {
    text = core::trim(text);
    size_t digits = text.find_first_not_of("0123456789.");
    if (digits == std::string_view::npos || digits == 0 || text[0] == '.') return std::nullopt;
    auto number = number_of(text.substr(0, digits));
    std::string_view rest = core::trim(text.substr(digits));
    constexpr std::string_view kPrefixes = "kmgtpe";
    size_t power = 0;
    if (!rest.empty())
        if (size_t at = kPrefixes.find(static_cast<char>(std::tolower(static_cast<unsigned char>(rest[0]))));
            at != std::string_view::npos) {
            power = at + 1;
            rest.remove_prefix(1);
        }
    if (!number || rest.empty() || std::tolower(static_cast<unsigned char>(rest[0])) != 'b')
        return std::nullopt;
    rest.remove_prefix(1);
    bool per_second =
        rest.size() >= 2 && rest[0] == '/' && std::tolower(static_cast<unsigned char>(rest[1])) == 's';
    if (per_second) rest.remove_prefix(2);
    if (!rest.empty() && std::isalnum(static_cast<unsigned char>(rest[0]))) return std::nullopt;
    double bytes = *number * std::pow(1024.0, static_cast<double>(power));
    if (bytes > 9.0e18) return std::nullopt;
    return VetnodeQuantity{bytes, per_second, core::trim(rest)};
}

// A bare integer is a number of bytes, where it fits.
std::optional<uint64_t> bare_bytes(const YamlNode& node) {
    constexpr uint64_t kLimit = uint64_t{1} << 60;
    auto value = node.type == YamlType::kInteger ? core::parse_number<uint64_t>(node.text) : std::nullopt;
    return value && *value <= kLimit ? value : std::nullopt;
}

std::string ignored_warning(const VetnodeQuantity& quantity, const YamlNode& node) {
    if (quantity.ignored.empty()) return {};
    return fmt::format("\"{}\": what follows the unit is ignored, as vetnode does", node.text);
}

Parsed parse_vetnode_size(const YamlNode& node) {
    if (auto bytes = bare_bytes(node)) return done(core::ByteSize{*bytes});
    auto quantity = node.type == YamlType::kText ? vetnode_quantity(node.text) : std::nullopt;
    if (!quantity)
        return wrong(fmt::format("must be a size, not {}", describe(node)), std::string(kVetnodeHint));
    return ParsedParameter{core::ByteSize{static_cast<uint64_t>(quantity->bytes)},
                           ignored_warning(*quantity, node)};
}

Parsed parse_vetnode_bandwidth(const YamlNode& node, bool bare_gigabytes) {
    constexpr double kLimit = 2.0e18;  // bytes per second whose bits still fit
    auto bits = [](double bytes) { return core::Bandwidth{static_cast<uint64_t>(bytes * 8)}; };
    if (bare_gigabytes && is_number(node))
        if (auto value = number_of(node.text); value && *value >= 0 && *value < kLimit / 1e9)
            return done(bits(*value * 1e9));
    if (auto bytes = bare_bytes(node)) return done(bits(static_cast<double>(*bytes)));
    auto quantity = node.type == YamlType::kText ? vetnode_quantity(node.text) : std::nullopt;
    if (!quantity || !quantity->per_second || quantity->bytes > kLimit)
        return wrong(fmt::format("must be a bandwidth such as 15 GB/s, not {}", describe(node)),
                     std::string(kVetnodeHint));
    return ParsedParameter{bits(quantity->bytes), ignored_warning(*quantity, node)};
}

Parsed parse_warmup(const YamlNode& node) {
    if (node.type != YamlType::kMap) return unlike("a map with payload and runs", node);
    std::string text;
    for (const YamlEntry& entry : node.entries) {
        Parsed value = entry.key == "payload" ? parse_vetnode_size(entry.value)
                       : entry.key == "runs"  ? parse_integer(entry.value)
                                              : wrong(fmt::format("unknown key \"{}\"", entry.key),
                                                      "a warmup has payload and runs");
        if (!value) return wrong(fmt::format("{}: {}", entry.key, value.error().message), value.error().hint);
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", entry.key, entry.value.text);
    }
    return done(text.empty() ? "payload: 256 MB, runs: 3" : text);
}

Parsed parse_requirements(const YamlNode& node) {
    if (node.type != YamlType::kList) return unlike("null or a list of texts", node);
    for (const YamlNode& item : node.items) {
        bool texts = item.type == YamlType::kList &&
                     std::all_of(item.items.begin(), item.items.end(),
                                 [](const YamlNode& word) { return word.type == YamlType::kText; });
        if (item.type != YamlType::kText && !texts) return unlike("a list of texts and lists of texts", item);
    }
    return ParsedParameter{};  // Belay installs nothing
}

Parsed parse_kind(const Parameter& parameter, const YamlNode& node) {
    switch (parameter.kind) {
        case Kind::kText:
            return parse_text(node);
        case Kind::kInteger:
            return parse_integer(node);
        case Kind::kNumber:
            return parse_number(node, parameter.unit);
        case Kind::kShare:
            return parse_share(node);
        case Kind::kBoolean:
            return parse_boolean(node);
        case Kind::kDuration:
            return parse_duration(node);
        case Kind::kSeconds:
            return parse_seconds(node);
        case Kind::kSize:
            return parse_size(node);
        case Kind::kBandwidth:
            return parse_bandwidth(node);
        case Kind::kTextList:
            return parse_text_list(node);
        case Kind::kPatternList:
            return parse_patterns(node);
        case Kind::kXidClassList:
            return parse_xid_classes(node);
        case Kind::kVariables:
            return parse_variables(node, parameter.required);
        case Kind::kVetnodeSize:
            return parse_vetnode_size(node);
        case Kind::kVetnodeBandwidth:
            return parse_vetnode_bandwidth(node, false);
        case Kind::kPaperBandwidth:
            return parse_vetnode_bandwidth(node, true);
        case Kind::kWarmup:
            return parse_warmup(node);
        case Kind::kRequirements:
            return parse_requirements(node);
    }
    return wrong("has an unknown kind");
}

// In the unit of ranges; of kinds that have none: nothing.
std::optional<double> magnitude(const ParameterValue& value) {
    if (auto* number = std::get_if<int64_t>(&value)) return static_cast<double>(*number);
    if (auto* number = std::get_if<double>(&value)) return *number;
    if (auto* duration = std::get_if<core::Duration>(&value)) return core::to_seconds(*duration);
    if (auto* size = std::get_if<core::ByteSize>(&value)) return static_cast<double>(size->bytes);
    return std::nullopt;
}

std::string written(Kind kind, double magnitude) {
    if (kind == Kind::kDuration)
        return core::to_text(std::chrono::round<core::Duration>(std::chrono::duration<double>(magnitude)));
    if (kind == Kind::kSize) return core::to_text(core::ByteSize{static_cast<uint64_t>(magnitude)});
    return fmt::format("{}", magnitude);
}

}  // namespace

std::string range_text(const Parameter& parameter) {
    if (!parameter.range) return {};
    if (std::isinf(parameter.range->most))
        return "at least " + written(parameter.kind, parameter.range->least);
    return fmt::format("{} to {}", written(parameter.kind, parameter.range->least),
                       written(parameter.kind, parameter.range->most));
}

std::expected<ParsedParameter, Problem> parse_parameter(const Parameter& parameter, const YamlNode& node) {
    if (node.type == YamlType::kNull) {
        if (!parameter.required) return ParsedParameter{};
        return wrong("must have a value");
    }
    Parsed parsed = parse_kind(parameter, node);
    if (!parsed || !parsed->value || !parameter.range) return parsed;
    auto value = magnitude(*parsed->value);
    if (value && (*value < parameter.range->least || *value > parameter.range->most))
        return wrong(fmt::format("must be {}, not {}", range_text(parameter), node.text));
    return parsed;
}

}  // namespace belay::vet
