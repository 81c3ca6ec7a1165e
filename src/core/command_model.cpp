#include "core/command_model.h"

#include "core/text.h"

#include <algorithm>

namespace belay::core {

namespace {

std::string help_hint(const CommandModel& command) {
    return fmt::format("\"{} --help\" lists the commands and options", command.full_name);
}

Failure unknown(std::string_view what, std::string_view word, std::span<const std::string_view> known,
                const CommandModel& command) {
    auto meant = nearest(word, known);
    return bad_input("unknown {} \"{}\"", what, word)
        .hint(meant ? fmt::format("did you mean \"{}\"?", *meant) : help_hint(command));
}

Failure unknown_option(std::string_view name, const CommandModel& command) {
    std::vector<std::string_view> known;
    for (const OptionModel& option : command.options)
        known.insert(known.end(), option.names.begin(), option.names.end());
    return unknown("option", name, known, command);
}

Failure unknown_command(std::string_view word, const CommandModel& group) {
    std::vector<std::string_view> known;
    std::vector<std::string> names;
    for (const CommandModel& command : group.subcommands) {
        if (command.page.hidden) continue;
        names.push_back(command.full_name.substr(group.full_name.size() + 1));
    }
    known.assign(names.begin(), names.end());
    return unknown("command", word, known, group);
}

// One walk over the words of one command line.
class Walk {
  public:
    Walk(const CommandModel& program, std::span<const std::string> words) : words_(words) {
        parsed_.command = &program;
    }

    Result<ParsedWords> run() {
        while (at_ < words_.size() && !parsed_.help && !done_) {
            const std::string& word = words_[at_++];
            if (word == "--")
                take_rest();
            else if (word.starts_with("--"))
                BELAY_CHECK(take_long(word));
            else if (word.starts_with("-") && word.size() > 1)
                BELAY_CHECK(take_short(word));
            else
                BELAY_CHECK(take_word(word));
        }
        if (parsed_.help) return std::move(parsed_);
        BELAY_CHECK(check_complete());
        give_arguments();
        return std::move(parsed_);
    }

  private:
    const CommandModel& command() const { return *parsed_.command; }

    Result<> take_word(const std::string& word) {
        const CommandModel* next = arguments_.empty() ? command().find_subcommand(word) : nullptr;
        if (next == nullptr && command().is_group() && !command().runnable)
            return unknown_command(word, command());
        if (next == nullptr) {
            take_argument(word);
            return {};
        }
        if (!parsed_.given.empty())
            return bad_input("option \"{}\" stands before the command \"{}\"", first_option_, word)
                .hint("write options after the command");
        parsed_.command = next;
        return {};
    }

    // After "--" nothing is an option any more.
    void take_rest() {
        done_ = true;
        auto rest = words_.subspan(at_);
        auto& taker = command().command.empty() ? arguments_ : parsed_.rest;
        taker.insert(taker.end(), rest.begin(), rest.end());
    }

    void take_argument(const std::string& word) {
        if (command().command.empty()) {
            arguments_.push_back(word);
        } else {  // its first word; all that follows is its own
            --at_;
            take_rest();
        }
    }

    // "--name VALUE" and "--name=VALUE", where the value may be empty.
    Result<> take_long(const std::string& word) {
        size_t equals = word.find('=');
        std::string name = word.substr(0, equals);
        const OptionModel* option = command().find_option(name);
        if (option == nullptr) return unknown_option(name, command());
        if (equals == std::string::npos) return take_option(*option, name);
        if (!option->takes_value())
            return bad_input("option \"{}\" takes no value", name).hint(help_hint(command()));
        give(*option, name, word.substr(equals + 1));
        return {};
    }

    // "-o DIR", "-oDIR", and flags together as in "-vo DIR".
    Result<> take_short(const std::string& word) {
        for (size_t i = 1; i < word.size() && !parsed_.help; ++i) {
            std::string name = {'-', word[i]};
            const OptionModel* option = command().find_option(name);
            if (option == nullptr) return unknown_option(i == 1 ? word : name, command());
            if (option->takes_value() && i + 1 < word.size()) {
                give(*option, name, word.substr(i + 1));
                return {};
            }
            BELAY_CHECK(take_option(*option, name));
        }
        return {};
    }

    // The value of one that takes it is the next word, whatever that looks like.
    Result<> take_option(const OptionModel& option, const std::string& name) {
        if (!option.takes_value()) {
            if (option.name() == "--help") parsed_.help = true;
            give(option, name, "");
            return {};
        }
        if (at_ == words_.size())
            return bad_input("option \"{}\" needs a value: {}", name, option.value_name)
                .hint(help_hint(command()));
        give(option, name, words_[at_++]);
        return {};
    }

    void give(const OptionModel& option, const std::string& as_typed, std::string text) {
        if (parsed_.given.empty()) first_option_ = as_typed;
        parsed_.given.push_back({option.name(), std::move(text)});
    }

    bool is_given(const OptionModel& option) const {
        return std::any_of(parsed_.given.begin(), parsed_.given.end(),
                           [&](const GivenValue& value) { return value.name == option.name(); });
    }

    Result<> check_complete() const {
        if (!command().runnable)
            return bad_input("\"{}\" needs a command", command().full_name).hint(help_hint(command()));
        for (const OptionModel& option : command().options)
            if (option.required && !is_given(option))
                return bad_input("missing option \"{}\": {}", option.name_and_value(), option.meaning);
        size_t wanted = 0, allowed = 0;
        for (const OptionModel& positional : command().positionals) {
            if (positional.required && arguments_.size() <= wanted)
                return bad_input("missing argument {}: {}", positional.name(), positional.meaning);
            if (positional.required) ++wanted;
            allowed = positional.repeatable ? words_.size() : allowed + 1;
        }
        if (arguments_.size() > allowed)
            return bad_input("too many arguments, the last is \"{}\"", arguments_.back())
                .hint(help_hint(command()));
        for (const OptionModel& rest : command().command)
            if (rest.required && parsed_.rest.empty())
                return bad_input("missing argument {}: {}", rest.name(), rest.meaning);
        return {};
    }

    // One for each positional; what is left is the last one's, which then is repeatable.
    void give_arguments() {
        const auto& positionals = command().positionals;
        for (size_t i = 0; i < arguments_.size(); ++i)
            parsed_.given.push_back(
                {positionals[std::min(i, positionals.size() - 1)].name(), std::move(arguments_[i])});
    }

    std::span<const std::string> words_;
    size_t at_ = 0;
    bool done_ = false;
    std::string first_option_;            // as typed
    std::vector<std::string> arguments_;  // for the positionals
    ParsedWords parsed_;
};

}  // namespace

std::vector<ExitMeaning> exit_statuses(const CommandPage& page) {
    std::vector<ExitMeaning> out{{0, "done"}, {2, "the input is wrong"}, {3, "the system failed"}};
    for (const ExitMeaning& own : page.exit_statuses) {
        auto common =
            std::find_if(out.begin(), out.end(), [&](auto& entry) { return entry.status == own.status; });
        if (common != out.end())
            common->meaning = own.meaning;
        else
            out.push_back(own);
    }
    std::sort(out.begin(), out.end(), [](auto& a, auto& b) { return a.status < b.status; });
    return out;
}

std::string OptionModel::name_and_value() const {
    return takes_value() ? name() + " " + value_name : name();
}

bool OptionModel::has_name(std::string_view name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
}

const OptionModel* CommandModel::find_option(std::string_view name) const {
    for (const OptionModel& option : options)
        if (option.has_name(name)) return &option;
    return nullptr;
}

const CommandModel* CommandModel::find_subcommand(std::string_view word) const {
    for (const CommandModel& subcommand : subcommands)
        if (std::string_view(subcommand.full_name).substr(full_name.size() + 1) == word) return &subcommand;
    return nullptr;
}

bool CommandModel::is_group() const {
    return std::ranges::any_of(subcommands, [](const CommandModel& command) { return !command.page.hidden; });
}

std::vector<std::string> usage(const CommandModel& command) {
    std::vector<std::string> lines;
    if (command.is_group()) lines.push_back(command.full_name + " COMMAND ...");
    if (!command.runnable) return lines;
    std::string out = command.full_name;
    bool optional = false;
    for (const OptionModel& option : command.options) {
        if (option.required)
            out += fmt::format(" {} {}", option.names.front(), option.value_name);
        else
            optional = true;
    }
    if (optional) out += " [options]";
    for (const OptionModel& positional : command.positionals) {
        std::string name = positional.names[0] + (positional.repeatable ? "..." : "");
        out += positional.required ? " " + name : " [" + name + "]";
    }
    for (const OptionModel& rest : command.command)
        out += rest.required ? fmt::format(" [--] {}...", rest.names[0])
                             : fmt::format(" [[--] {}...]", rest.names[0]);
    lines.push_back(out);
    return lines;
}

Result<ParsedWords> parse_words(const CommandModel& program, std::span<const std::string> words) {
    return Walk(program, words).run();
}

}  // namespace belay::core
