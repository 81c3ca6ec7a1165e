// What a program's command line admits, as plain data: made from the declarations (command.h) and read by the
// parser of the words, --help, the manual pages and the shell completion.
#pragma once

#include "core/error.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace belay::core {

struct Example {
    std::string command;  // as typed
    std::string meaning;
};

struct ExitMeaning {
    int status;
    std::string meaning;
};

// What a person reads about a command.
struct CommandPage {
    std::string name;     // "record run": the words after the program's name; empty: it is the program
    std::string summary;  // one line, what it does, without full stop
    std::string description = {};  // paragraphs separated by blank lines
    std::vector<Example> examples = {};
    std::vector<ExitMeaning> exit_statuses = {};  // where they differ from kCommonExitStatuses
    bool hidden = false;                          // not listed; for packaging and the like
    // It waits for another program as long as that takes, or for nothing: what it reads of files it bounds
    // itself. All others are given up where a file server does not answer them (Application::watch_files).
    bool bounds_own_waits = false;
    bool ends_in_order = false;  // at a signal, which it looks at itself (core/stop_on_signal.h)
};

// Every command: 0, 2 and 3.
std::vector<ExitMeaning> exit_statuses(const CommandPage& page);

struct OptionModel {
    std::vector<std::string> names;  // "-o", "--output"; for a positional its name alone, "RECORD"
    std::string value_name = {};     // "DIR"; empty for a flag
    std::string meaning = {};
    std::string default_text = {};  // empty: none to show
    std::vector<std::string> choices = {};
    bool required = false;
    bool repeatable = false;

    // How messages call it: the long name, "--output".
    const std::string& name() const { return names.back(); }
    std::string name_and_value() const;  // "--output DIR"
    bool has_name(std::string_view name) const;
    bool is_positional() const { return !names[0].starts_with('-'); }
    bool takes_value() const { return !value_name.empty(); }
};

struct CommandModel {
    std::string full_name;  // "belay record run"
    CommandPage page;
    std::vector<OptionModel> options;      // with --help
    std::vector<OptionModel> positionals;  // in order; only the last may be repeatable
    std::vector<OptionModel> command;  // none, or the one positional that takes the rest of the line verbatim
    std::vector<CommandModel> subcommands;
    bool runnable = false;  // a group may do something itself: `belay findings RECORD`, `belay findings list`

    bool is_group() const;  // has subcommands that are listed
    const OptionModel* find_option(std::string_view name) const;
    const CommandModel* find_subcommand(std::string_view word) const;
};

// "belay record run -o DIR [options] [--] CMD...", for --help and the manual: a line for each way.
std::vector<std::string> usage(const CommandModel& command);

// A value that the command line gives: for an option by its name(), for a positional by its own.
struct GivenValue {
    std::string name;
    std::string text;  // as typed; empty for a flag
    bool operator==(const GivenValue&) const = default;
};

// The words of a command line, checked against the model and taken apart.
struct ParsedWords {
    const CommandModel* command = nullptr;
    bool help = false;              // --help was among them; the rest is not checked
    std::vector<GivenValue> given;  // options in their order, then positionals in theirs
    std::vector<std::string> rest;  // the command to run, verbatim, of a command that takes one
};

// `words` without the program's name. Errors: kBadInput for an unknown command or option (with the nearest
// known one), an option without its value, a missing or superfluous argument. What the values mean is for
// Options::bind (options.h).
Result<ParsedWords> parse_words(const CommandModel& program, std::span<const std::string> words);

}  // namespace belay::core
