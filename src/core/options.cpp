#include "core/options.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace belay::core {

namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// "12" or "-5", of any length.
bool is_whole_number(std::string_view text) {
    if (text.starts_with('-')) text.remove_prefix(1);
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

Failure out_of_range(std::string_view text, std::string_view range) {
    return bad_input("\"{}\" is not in range: {}", text, range);
}

// "-o,--output", short names first.
std::vector<std::string> names_of(std::string_view names) {
    std::vector<std::string> out;
    for (std::string_view name : split(names, ',')) {
        bool is_short = name.size() == 2 && name[0] == '-' && name[1] != '-';
        bool is_long = name.size() > 2 && name.starts_with("--");
        bool is_positional = names == name && !name.empty() && name[0] != '-';
        if (!is_short && !is_long && !is_positional) program_mistake("name of an option", names);
        out.emplace_back(name);
    }
    std::stable_partition(out.begin(), out.end(), [](const auto& name) { return !name.starts_with("--"); });
    return out;
}

}  // namespace

void program_mistake(std::string_view what, std::string_view name) {
    std::fputs(fmt::format("belay: internal error: {}: {}\n", what, name).c_str(), stderr);
    std::abort();
}

Error wrong_number(std::string_view text, std::string_view range) {
    if (range.empty()) return bad_input("\"{}\" is not a number or not in range", text).error();
    if (is_whole_number(text)) return out_of_range(text, range).error();
    bool begins_as_one = !text.empty() && (is_digit(text[0]) || text[0] == '+' || text[0] == '-');
    return bad_input("\"{}\" is not a {}number", text, begins_as_one ? "whole " : "")
        .hint("a whole number is written in decimal digits")
        .error();
}

OptionDeclaration::OptionDeclaration(OptionModel model, Assign assign)
    : model_(std::move(model)), assign_(std::move(assign)) {}

OptionDeclaration* OptionDeclaration::required() {
    model_.required = true;
    return this;
}

OptionDeclaration* OptionDeclaration::type_name(std::string_view name) {
    if (!model_.is_positional()) model_.value_name = name;
    return this;
}

OptionDeclaration* OptionDeclaration::default_str(std::string text) {
    model_.default_text = std::move(text);
    return this;
}

OptionDeclaration* OptionDeclaration::choices(std::vector<std::string> words) {
    model_.choices = std::move(words);
    return this;
}

OptionDeclaration* OptionDeclaration::between(int64_t lowest, int64_t highest) {
    range_ = {lowest, highest};
    return this;
}

OptionDeclaration* OptionDeclaration::needs(const OptionDeclaration* other) {
    needs_.push_back(other);
    return this;
}

OptionDeclaration* OptionDeclaration::repeatable() {
    model_.repeatable = true;
    last_counts_ = false;
    return this;
}

OptionDeclaration* OptionDeclaration::last_counts() {
    model_.repeatable = false;
    last_counts_ = true;
    return this;
}

namespace {

// An empty name of a file never means what was meant.
constexpr std::string_view kNamesOfFiles[] = {"FILE", "DIR", "PATH", "SRC", "DST", "OUT", "RECORD"};

}  // namespace

Result<> OptionDeclaration::assign(std::span<const std::string> texts) const {
    if (last_counts_) texts = texts.last(1);
    if (texts.size() > 1 && !model_.repeatable)
        return bad_input("option \"{}\" is given more than once, with \"{}\" and \"{}\"", model_.name(),
                         texts[0], texts[1])
            .hint("it takes one value");
    BELAY_CHECK(with_context(check_range(texts), model_.name()));
    const bool names_file = std::ranges::any_of(kNamesOfFiles, [this](std::string_view name) {
        return name == model_.value_name || name == model_.name();
    });
    if (names_file && std::ranges::find(texts, "") != texts.end())
        return bad_input("{}: a name is missing", model_.name())
            .hint("is a variable of the command line empty?");
    return with_context(assign_(texts), model_.name());
}

// A text that is not a whole number is left to assign_, which says so.
Result<> OptionDeclaration::check_range(std::span<const std::string> texts) const {
    if (!range_) return {};
    auto [lowest, highest] = *range_;
    for (const std::string& text : texts) {
        auto number = parse_number<int64_t>(text);
        if (number ? *number < lowest || *number > highest : is_whole_number(text))
            return out_of_range(text, fmt::format("{} to {}", lowest, highest));
    }
    return {};
}

OptionDeclaration* Options::add_flag(std::string_view names, bool& variable, std::string meaning) {
    auto assign = [&variable](std::span<const std::string>) -> Result<> {
        variable = true;
        return {};
    };
    return add(names, std::move(meaning), assign)->last_counts();
}

OptionDeclaration* Options::add(std::string_view names, std::string meaning,
                                OptionDeclaration::Assign assign) {
    OptionModel model{.names = names_of(names), .meaning = std::move(meaning)};
    for (const auto& other : declarations_)
        for (const std::string& name : model.names)
            if (other->model().has_name(name)) program_mistake("option declared twice", name);
    declarations_.push_back(std::make_unique<OptionDeclaration>(std::move(model), std::move(assign)));
    return declarations_.back().get();
}

std::vector<OptionModel> Options::models() const {
    std::vector<OptionModel> out;
    for (const auto& declaration : declarations_) out.push_back(declaration->model());
    return out;
}

Result<> Options::bind(std::span<const GivenValue> given) const {
    auto is_given = [&](const OptionDeclaration& option) {
        return std::any_of(given.begin(), given.end(),
                           [&](const GivenValue& value) { return value.name == option.model().name(); });
    };
    for (const auto& option : declarations_) {
        std::vector<std::string> texts;
        for (const GivenValue& value : given)
            if (value.name == option->model().name()) texts.push_back(value.text);
        if (!texts.empty()) BELAY_CHECK(option->assign(texts));
    }
    for (const auto& option : declarations_)
        for (const OptionDeclaration* other : option->needs_)
            if (is_given(*option) && !is_given(*other))
                return bad_input("option \"{}\" needs option \"{}\": {}", option->model().name(),
                                 other->model().name_and_value(), other->model().meaning);
    return {};
}

}  // namespace belay::core
