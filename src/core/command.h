// The command framework: a command is declared once, and parsing, --help, the manual page and the shell
// completion follow.
//
//   void add_seal(core::Application& application) {
//       auto command = application.add({.name = "record seal", .summary = "close a record"});
//       struct Options { std::string record; bool json = false; };
//       auto options = std::make_shared<Options>();
//       command.options().add_option("RECORD", options->record, "the record's directory")->required();
//       command.json(options->json);
//       command.run([options](const core::CommandContext& context) { return seal(*options, context); });
//   }
//
// How options and positionals are declared says options.h (a positional is a name without dashes, in
// capitals). What is written wrong on a command line becomes a message with the nearest right word and exit
// status 2; an Error that a handler returns is shown and gives its exit status; an exception of a library
// gives 3.
//
// An option takes one value per occurrence ("--tag a --tag b" for a vector), a flag none.
#pragma once

#include "core/command_model.h"
#include "core/config.h"
#include "core/error.h"
#include "core/options.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json_fwd.hpp>

namespace belay::core {

class Application;
struct DeclaredCommand;

// What a handler is given.
class CommandContext {
  public:
    CommandContext(const Application& application, const DeclaredCommand& command)
        : application_(application), command_(command) {}

    // Layered configuration, with the flags that the command declared by setting(); read once. Errors:
    // kBadInput, kSystem.
    Result<Configuration> configuration() const;

    // Facts go to standard output; messages, progress and logs to standard error.
    std::FILE* out() const;
    template <typename... Args>
    void print(fmt::format_string<Args...> format, Args&&... args) const {
        fmt::print(out(), format, std::forward<Args>(args)...);
    }
    // One JSON value and a newline, with its keys in alphabetical order. Text that is not UTF-8 is shown
    // with replacement characters.
    void print_json(const nlohmann::json& value) const;
    void print_json(const nlohmann::ordered_json& value) const;

    const Application& application() const { return application_; }

  private:
    const Application& application_;
    const DeclaredCommand& command_;
    mutable std::optional<Configuration> configuration_;
};

// Returns the exit status.
using CommandHandler = std::function<Result<int>(const CommandContext&)>;

// Fills in a command of an application; valid as long as that.
class CommandDeclaration {
  public:
    explicit CommandDeclaration(Application& application, DeclaredCommand& command)
        : application_(application), command_(command) {}

    // For add_option and add_flag with a name, a variable that lives as long as the handler, and a meaning.
    Options& options();

    // --json: facts as one JSON value.
    void json(bool& wanted);
    // Options whose value has a unit or is one of a few words.
    OptionDeclaration* duration(std::string names, Duration& value, std::string meaning);
    OptionDeclaration* size(std::string names, ByteSize& value, std::string meaning);
    OptionDeclaration* choice(std::string names, std::string& value, std::vector<std::string> choices,
                              std::string meaning);
    // A flag that sets a declared setting for this run; the handler reads it from context.configuration().
    OptionDeclaration* setting(std::string names, std::string_view key);
    // The rest of the line from the first word that is no option, or after "--", is another program's command
    // line and is left as it is: "CMD" in `belay record run -o r -- python train.py --lr 3`.
    void passthrough(std::string name, std::vector<std::string>& words, std::string meaning,
                     bool required = true);

    void run(CommandHandler handler);

  private:
    Application& application_;
    DeclaredCommand& command_;
};

struct ApplicationPage {
    std::string name;         // "belay"
    std::string summary;      // one line
    std::string description;  // paragraphs
    std::string version;      // what --version prints
};

class Application {
  public:
    explicit Application(ApplicationPage page, std::FILE* out = stdout, std::FILE* err = stderr);
    ~Application();
    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    // Settings that `belay config` shows and setting() refers to: before the commands.
    void add_settings(std::span<const Setting> settings);
    // A group such as "record", so that its page says what its commands have in common.
    void add_group(CommandPage page);
    CommandDeclaration add(CommandPage page);
    // Each command but those of bounds_own_waits runs in a process of its own, which is given up where one
    // file does not answer for the setting files.wait: of a program that ends after the command.
    void watch_files() { watches_files_ = true; }

    // Parses, runs, shows errors; the exit status of the program.
    int run(int argc, const char* const* argv);
    int run(std::vector<std::string> words);  // without the program's name

    CommandModel model() const;
    std::span<const Setting> settings() const { return settings_; }
    std::FILE* out() const { return out_; }
    std::FILE* err() const { return err_; }
    const std::string& name() const { return page_.name; }

  private:
    friend class CommandDeclaration;
    Result<int> dispatch(std::vector<std::string> words);
    Result<int> run_command(const ParsedWords& parsed);
    Result<int> run_watched(const DeclaredCommand& command, const CommandContext& context);
    Result<int> call(const DeclaredCommand& command, const CommandContext& context);
    const DeclaredCommand* find(std::string_view name) const;

    ApplicationPage page_;
    std::FILE* out_;
    std::FILE* err_;
    bool watches_files_ = false;
    std::vector<Setting> settings_;
    std::vector<CommandPage> groups_;
    std::vector<std::unique_ptr<DeclaredCommand>> commands_;
};

}  // namespace belay::core
