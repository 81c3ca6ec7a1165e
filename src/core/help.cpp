#include "core/help.h"

#include "core/text.h"

#include <algorithm>

namespace belay::core {

namespace {

constexpr size_t kWidth = 79;
constexpr size_t kMeaningColumn = 26;

// "  TERM      meaning", the meaning in a column of its own, on the next line where the term is too long.
void add_entry(std::string& out, const std::string& term, const std::string& meaning) {
    std::string line = "  " + term;
    std::vector<std::string> lines = wrap(meaning, kWidth - kMeaningColumn);
    if (!lines.empty() && line.size() + 2 > kMeaningColumn) {
        out += line + "\n";
        line.clear();
    }
    for (const std::string& part : lines) {
        line.resize(kMeaningColumn, ' ');
        out += line + part + "\n";
        line.clear();
    }
    if (lines.empty()) out += line + "\n";
}

std::string option_term(const OptionModel& option) {
    std::string term = join(option.names, ", ");
    return option.value_name.empty() ? term : term + " " + option.value_name;
}

void add_indented(std::string& out, std::string_view text, size_t indent) {
    for (const std::string& line : wrap(text, kWidth - indent))
        out += line.empty() ? "\n" : std::string(indent, ' ') + line + "\n";
}

}  // namespace

std::vector<std::string> wrap(std::string_view text, size_t width) {
    std::vector<std::string> out;
    std::string line;
    bool paragraph_ended = false;
    auto flush = [&] {
        if (!line.empty()) out.push_back(std::move(line));
        line.clear();
    };
    for (std::string_view source : split(text, '\n')) {
        std::vector<std::string_view> words = split_words(source);
        if (words.empty()) {
            flush();
            paragraph_ended = !out.empty();
        }
        for (std::string_view word : words) {
            if (paragraph_ended) out.emplace_back();
            paragraph_ended = false;
            if (!line.empty() && line.size() + 1 + word.size() > width) flush();
            if (!line.empty()) line += ' ';
            line += word;
        }
    }
    flush();
    return out;
}

std::string describe(const OptionModel& option) {
    std::vector<std::string> notes;
    if (!option.choices.empty()) notes.push_back(join(option.choices, ", "));
    if (option.required) notes.emplace_back("required");
    if (option.repeatable && option.names[0].starts_with('-')) notes.emplace_back("may be repeated");
    if (!option.default_text.empty()) notes.push_back("default " + option.default_text);
    return notes.empty() ? option.meaning : fmt::format("{} ({})", option.meaning, join(notes, "; "));
}

std::string render_help(const CommandModel& command) {
    std::string out = fmt::format("{}: {}\n\n", command.full_name, command.page.summary);
    std::string_view label = "usage: ";
    for (const std::string& line : usage(command)) {
        out += fmt::format("{}{}\n", label, line);
        label = "       ";
    }
    if (!command.page.description.empty()) {
        out += '\n';
        add_indented(out, command.page.description, 0);
    }
    if (command.is_group()) {
        out += "\ncommands:\n";
        for (const CommandModel& subcommand : command.subcommands)
            if (!subcommand.page.hidden)
                add_entry(out, subcommand.full_name.substr(command.full_name.size() + 1),
                          subcommand.page.summary);
    }
    if (!command.positionals.empty() || !command.command.empty()) {
        out += "\narguments:\n";
        for (const auto* arguments : {&command.positionals, &command.command})
            for (const OptionModel& positional : *arguments)
                add_entry(out, positional.names[0], describe(positional));
    }
    out += "\noptions:\n";
    for (const OptionModel& option : command.options) add_entry(out, option_term(option), describe(option));
    if (!command.page.examples.empty()) {
        out += "\nexamples:\n";
        for (const Example& example : command.page.examples) {
            out += "  " + example.command + "\n";
            add_indented(out, example.meaning, 6);
        }
    }
    if (command.runnable) {
        out += "\nexit status:\n";
        for (const ExitMeaning& entry : exit_statuses(command.page))
            add_entry(out, fmt::format("{}", entry.status), entry.meaning);
    }
    return out;
}

}  // namespace belay::core
