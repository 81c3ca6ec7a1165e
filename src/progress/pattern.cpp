#include "progress/pattern.h"

#include "core/text.h"
#include "progress/fields.h"

#include <algorithm>
#include <array>

#include <re2/re2.h>

namespace belay::progress {

using core::bad_input;
using core::Result;
using re2::RE2;
using re2::StringPiece;

namespace {

constexpr int kMostGroups = 32;

double from_milliseconds(double number) {
    return number / 1000;
}
double from_rate(double number) {
    return 1 / number;
}

// Several names may lead to one field. Those of observability.md, of the record's columns, and the units that
// programs print.
constexpr Field kFields[] = {
    {"step", &ProgressEvent::step},
    {"total", &ProgressEvent::total_steps},
    {"total_steps", &ProgressEvent::total_steps},
    {"epoch", &ProgressEvent::epoch},
    {"loss", &ProgressEvent::loss},
    {"metric", &ProgressEvent::metric},
    {"learning_rate", &ProgressEvent::learning_rate},
    {"gradient_norm", &ProgressEvent::gradient_norm},
    {"seconds", &ProgressEvent::step_seconds},
    {"step_seconds", &ProgressEvent::step_seconds},
    {"milliseconds", &ProgressEvent::step_seconds, from_milliseconds},
    {"steps_per_second", &ProgressEvent::step_seconds, from_rate},
    {"data_wait_seconds", &ProgressEvent::data_wait_seconds},
    {"exposed_communication_seconds", &ProgressEvent::exposed_communication_seconds},
    {"samples_per_second", &ProgressEvent::samples_per_second},
    {"tokens_per_second", &ProgressEvent::tokens_per_second},
    {"flops_per_second", &ProgressEvent::flops_per_second},
    {"fp64_flops_per_second", &ProgressEvent::fp64_flops_per_second},
    {"fp32_flops_per_second", &ProgressEvent::fp32_flops_per_second},
    {"memory_bytes_per_second", &ProgressEvent::memory_bytes_per_second},
    {"samples", &ProgressEvent::samples},
    {"tokens", &ProgressEvent::tokens},
    {"value", &ProgressEvent::value},
};

struct Advice {
    RE2::ErrorCode code;
    std::string_view text;
};

constexpr Advice kAdvice[] = {
    {RE2::ErrorBadEscape, "a literal backslash is written \\\\; RE2 knows no back-references"},
    {RE2::ErrorBadCharClass, "see the syntax of RE2; [[:digit:]] and \\d are digits"},
    {RE2::ErrorBadCharRange, "a range goes from the lower to the higher character, as in [a-z]"},
    {RE2::ErrorMissingBracket, "close the [, or write \\[ for the character itself"},
    {RE2::ErrorMissingParen, "close the (, or write \\( for the character itself"},
    {RE2::ErrorUnexpectedParen, "open it with (, or write \\) for the character itself"},
    {RE2::ErrorTrailingBackslash, "a literal backslash is written \\\\"},
    {RE2::ErrorRepeatArgument,
     "put before it what is to be repeated, or write \\ before it for the character itself"},
    {RE2::ErrorRepeatSize, "repeat at most 1000 times, the lower number first"},
    {RE2::ErrorRepeatOp, "write \\ before it for the character itself"},
    {RE2::ErrorBadPerlOp, "a named group is written (?P<step>...); RE2 has no look-ahead and no look-behind"},
    {RE2::ErrorBadUTF8, "write the pattern in UTF-8"},
    {RE2::ErrorBadNamedCapture, "a named group is written (?P<step>...)"},
    {RE2::ErrorPatternTooLarge, "repeat less"},
};

// The unmatched parenthesis: the last open one if `missing`, else the first that closes nothing.
std::optional<size_t> unbalanced_parenthesis(std::string_view pattern, bool missing) {
    std::vector<size_t> open;
    bool in_class = false;
    for (size_t i = 0; i < pattern.size(); ++i) {
        char c = pattern[i];
        if (c == '\\')
            ++i;
        else if (in_class)
            in_class = c != ']';
        else if (c == '[') {
            in_class = true;
            if (pattern.substr(i + 1).starts_with('^')) ++i;
            if (pattern.substr(i + 1).starts_with(']')) ++i;  // a ] in first place is a character
        } else if (c == '(')
            open.push_back(i);
        else if (c == ')' && open.empty())
            return missing ? std::nullopt : std::optional(i);
        else if (c == ')')
            open.pop_back();
    }
    if (!missing || open.empty()) return std::nullopt;
    return open.back();
}

// Where in the pattern RE2's complaint belongs, counted from 0.
size_t place_of_fault(std::string_view pattern, const RE2& expression) {
    RE2::ErrorCode code = expression.error_code();
    if (code == RE2::ErrorMissingParen || code == RE2::ErrorUnexpectedParen)
        return unbalanced_parenthesis(pattern, code == RE2::ErrorMissingParen).value_or(0);
    if (code == RE2::ErrorTrailingBackslash) return pattern.size() - 1;
    size_t found = pattern.find(expression.error_arg());
    return found == std::string_view::npos ? 0 : found;
}

core::SourcePosition position(std::string_view name, std::string_view pattern, size_t offset) {
    return {std::string(name), 1, static_cast<int>(offset) + 1, std::string(pattern)};
}

core::Failure bad_expression(std::string_view name, std::string_view pattern, const RE2& expression) {
    auto advice = std::ranges::find(kAdvice, expression.error_code(), &Advice::code);
    core::Failure failure = bad_input("not a regular expression: {}", expression.error());
    failure = std::move(failure).at(position(name, pattern, place_of_fault(pattern, expression)));
    if (advice == std::end(kAdvice)) return failure;
    return std::move(failure).hint(advice->text);
}

std::string list_of_names() {
    std::vector<std::string> names;
    for (const Field& field : kFields) names.emplace_back(field.name);
    return core::join(names, ", ");
}

core::Failure unknown_group(std::string_view name, std::string_view pattern, std::string_view group) {
    size_t place = pattern.find(fmt::format("(?P<{}>", group));
    size_t offset = place == std::string_view::npos ? 0 : place + std::string_view("(?P<").size();
    core::Failure failure = bad_input("unknown group \"{}\"", group).at(position(name, pattern, offset));
    std::vector<std::string_view> names = group_names();
    if (std::optional<std::string_view> meant = core::nearest(group, names))
        return std::move(failure).hint(fmt::format("did you mean \"{}\"?", *meant));
    return std::move(failure).hint(fmt::format("a group may be named {}", list_of_names()));
}

StringPiece piece(std::string_view text) {
    return {text.data(), text.size()};
}

}  // namespace

std::vector<std::string_view> group_names() {
    std::vector<std::string_view> names;
    for (const Field& field : kFields) names.push_back(field.name);
    return names;
}

Pattern::Pattern(std::shared_ptr<const RE2> expression, std::vector<Group> groups)
    : expression_(std::move(expression)), groups_(std::move(groups)) {}

Result<Pattern> Pattern::compile(std::string_view expression, std::string_view name) {
    RE2::Options options;
    options.set_log_errors(false);
    auto compiled = std::make_shared<const RE2>(piece(expression), options);
    if (!compiled->ok()) return bad_expression(name, expression, *compiled);
    std::vector<Group> groups;
    for (const auto& [index, group] : compiled->CapturingGroupNames()) {
        auto field = std::ranges::find(kFields, group, &Field::name);
        if (field == std::end(kFields)) return unknown_group(name, expression, group);
        groups.push_back({index, static_cast<size_t>(field - std::begin(kFields))});
    }
    core::SourcePosition start = position(name, expression, 0);
    if (groups.empty())
        return bad_input("the pattern names no group")
            .at(start)
            .hint(fmt::format("name what it finds, as in (?P<step>\\d+); a group may be named {}",
                              list_of_names()));
    if (compiled->NumberOfCapturingGroups() >= kMostGroups)
        return bad_input("the pattern has {} groups", compiled->NumberOfCapturingGroups())
            .at(start)
            .hint(fmt::format("use fewer than {}; (?:...) groups without capturing", kMostGroups));
    return Pattern(std::move(compiled), std::move(groups));
}

std::optional<ProgressEvent> Pattern::match(std::string_view line, size_t label_length) const {
    std::array<StringPiece, kMostGroups> found;
    int groups = expression_->NumberOfCapturingGroups() + 1;
    if (!expression_->Match(piece(line), 0, line.size(), RE2::UNANCHORED, found.data(), groups))
        return std::nullopt;
    if (found[0].data() + found[0].size() <= line.data() + label_length && label_length > 0)
        return std::nullopt;
    ProgressEvent event;
    bool any = false;
    for (const Group& group : groups_) {
        const StringPiece& text = found[static_cast<size_t>(group.index)];
        std::optional<double> number = parse_printed_number({text.data(), text.size()});
        if (number) any |= set_field(event, kFields[group.field], *number);
    }
    if (!any) return std::nullopt;
    event.source = kFromPattern;
    event.kind = event.metric && !event.loss ? kEvaluation : kTrain;
    return event;
}

const std::string& Pattern::expression() const {
    return expression_->pattern();
}

Result<std::vector<Pattern>> compile_patterns(std::span<const std::string> expressions) {
    std::vector<Pattern> patterns;
    for (size_t i = 0; i < expressions.size(); ++i) {
        std::string name =
            expressions.size() > 1 ? fmt::format("progress pattern {}", i + 1) : "progress pattern";
        BELAY_TRY(pattern, Pattern::compile(expressions[i], name));
        patterns.push_back(std::move(pattern));
    }
    return patterns;
}

}  // namespace belay::progress
