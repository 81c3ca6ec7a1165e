// The options and positionals of one command, each declared once with the variable that takes its value:
//
//     options.add_option("-o,--output", output, "directory of the record")->required()->type_name("DIR");
//     options.add_option("RECORD", record, "directory of the record")->required();
//     options.add_flag("--strict", strict, "warnings count as errors");
//
// A name without dashes, in capitals, is a positional. A declaration is an OptionModel (plain data, by which
// the words of a command line are taken apart, see command_model.h) and a function that assigns the texts
// given.
//
// A variable is a text, a number, an optional or a vector of these, or a bool for a flag. Whole numbers are
// written in decimal digits ("12", "-5"), others as in "1.5" or "2e3"; blanks, "+5" and "0x10" are refused.
// An option takes one value per occurrence and may be given once; of a flag any number of times; a vector
// collects.
#pragma once

#include "core/command_model.h"
#include "core/text.h"

#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>

namespace belay::core {

// A mistake in a program's own declarations, such as one name for two options: ends the program.
[[noreturn]] void program_mistake(std::string_view what, std::string_view name);

// `range` is "LOWEST to HIGHEST" of a whole number, empty for others.
Error wrong_number(std::string_view text, std::string_view range);

template <typename T>
concept OptionNumber =
    (std::integral<T> || std::floating_point<T>) && !std::same_as<T, bool> && !std::same_as<T, char>;

// How each type of variable reads one text. Errors: kBadInput, without the option's name.
inline Result<> read_option(std::string_view text, std::string& value) {
    value = text;
    return {};
}

template <OptionNumber Number>
Result<> read_option(std::string_view text, Number& value) {
    auto number = parse_number<Number>(text);
    if constexpr (std::floating_point<Number>) {
        if (!number || !std::isfinite(*number)) return std::unexpected(wrong_number(text, ""));
    } else {
        using Limits = std::numeric_limits<Number>;
        if (!number)
            return std::unexpected(wrong_number(text, fmt::format("{} to {}", Limits::min(), Limits::max())));
    }
    value = *number;
    return {};
}

template <typename Value>
Result<> read_option(std::string_view text, std::optional<Value>& value) {
    Value read{};
    BELAY_CHECK(read_option(text, read));
    value = std::move(read);
    return {};
}

// What --help calls a value for which no name is declared.
template <typename Value>
inline constexpr std::string_view kOptionTypeName = std::floating_point<Value>      ? "FLOAT"
                                                    : std::unsigned_integral<Value> ? "UINT"
                                                    : std::integral<Value>          ? "INT"
                                                                                    : "TEXT";
template <typename Value>
inline constexpr std::string_view kOptionTypeName<std::optional<Value>> = kOptionTypeName<Value>;

class OptionDeclaration {
  public:
    // Takes what was given, at least one text; only the last where that alone counts.
    using Assign = std::function<Result<>(std::span<const std::string> texts)>;

    OptionDeclaration(OptionModel model, Assign assign);

    OptionDeclaration* required();
    OptionDeclaration* type_name(std::string_view name);  // what --help calls the value
    OptionDeclaration* default_str(std::string text);     // what --help shows as default
    // The words that --help and the completion show; to refuse others is the matter of `assign`.
    OptionDeclaration* choices(std::vector<std::string> words);
    OptionDeclaration* between(int64_t lowest, int64_t highest);  // of a whole number
    OptionDeclaration* needs(const OptionDeclaration* other);     // which must be given too
    OptionDeclaration* repeatable();                              // all texts count, in their order
    OptionDeclaration* last_counts();                             // may be repeated, but is not a list

    const OptionModel& model() const { return model_; }

  private:
    friend class Options;
    Result<> assign(std::span<const std::string> texts) const;
    Result<> check_range(std::span<const std::string> texts) const;

    OptionModel model_;
    Assign assign_;
    bool last_counts_ = false;
    std::optional<std::pair<int64_t, int64_t>> range_;
    std::vector<const OptionDeclaration*> needs_;
};

class Options {
  public:
    // The variable must live as long as the Options; what add_... returns does so.
    template <typename Value>
    OptionDeclaration* add_option(std::string_view names, Value& variable, std::string meaning) {
        return add(names, std::move(meaning),
                   [&variable](auto texts) { return read_option(texts.back(), variable); })
            ->type_name(kOptionTypeName<Value>);
    }
    template <typename Value>
    OptionDeclaration* add_option(std::string_view names, std::vector<Value>& variable, std::string meaning) {
        auto assign = [&variable](std::span<const std::string> texts) -> Result<> {
            std::vector<Value> values(texts.size());
            for (size_t i = 0; i < texts.size(); ++i) BELAY_CHECK(read_option(texts[i], values[i]));
            variable = std::move(values);
            return {};
        };
        return add(names, std::move(meaning), assign)->type_name(kOptionTypeName<Value>)->repeatable();
    }
    OptionDeclaration* add_flag(std::string_view names, bool& variable, std::string meaning);
    // What the others are made with; a flag if it gets no type_name().
    OptionDeclaration* add(std::string_view names, std::string meaning, OptionDeclaration::Assign assign);

    std::vector<OptionModel> models() const;  // in the order of their declaration

    // Gives each declaration its texts, in the order of declaration. Errors: kBadInput for a value that is
    // none, for one value too many and for an option without one that it needs, with the option's name.
    Result<> bind(std::span<const GivenValue> given) const;

  private:
    std::vector<std::unique_ptr<OptionDeclaration>> declarations_;
};

}  // namespace belay::core
