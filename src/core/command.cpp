#include "core/command.h"

#include "core/help.h"
#include "core/log.h"
#include "core/text.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <new>

#include <nlohmann/json.hpp>

namespace belay::core {

struct DeclaredCommand {
    struct Passthrough {
        OptionModel model;
        std::vector<std::string>* words;
    };
    struct SettingOption {
        std::string key;
        std::string flag;
        std::shared_ptr<std::vector<std::string>> texts;
    };

    CommandPage page;
    CLI::App app;
    CommandHandler handler;
    std::vector<Passthrough> passthrough;
    std::vector<SettingOption> settings;
    std::map<const CLI::Option*, std::vector<std::string>> choices;
};

namespace {

// Carries an Error through CLI11's parser, which knows only exceptions.
class OptionError : public CLI::ValidationError {
  public:
    explicit OptionError(core::Error error)
        : CLI::ValidationError(error.message()), error_(std::move(error)) {}
    const core::Error& error() const { return error_; }

  private:
    core::Error error_;
};

[[noreturn]] void program_mistake(std::string_view what, std::string_view name) {
    std::fputs(fmt::format("belay: internal error: {}: {}\n", what, name).c_str(), stderr);
    std::abort();
}

// The longest of "-o,--output": how messages call the option.
std::string display_name(const std::string& names) {
    std::string longest;
    for (std::string_view name : split(names, ','))
        if (trim(name).size() > longest.size()) longest = trim(name);
    return longest;
}

// An option whose text `parse` turns into *value; its error becomes "--name: WHY".
template <typename Value, typename Parse>
CLI::Option* add_parsed(CLI::App& app, const std::string& names, const std::string& meaning, Value& value,
                        Parse parse) {
    auto assign = [&value, parse, name = display_name(names)](const std::string& text) {
        Result<Value> parsed = parse(text);
        if (!parsed) throw OptionError(std::move(parsed.error()).context(name));
        value = std::move(*parsed);
    };
    return app.add_option_function<std::string>(names, assign, meaning);
}

OptionModel help_option() {
    return {.names = {"-h", "--help"}, .meaning = "show this help"};
}

OptionModel option_model(const CLI::Option& option, const DeclaredCommand& command) {
    OptionModel model{.names = {},
                      .meaning = option.get_description(),
                      .default_text = option.get_default_str(),
                      .required = option.get_required(),
                      .repeatable = option.get_items_expected_max() > 1};
    if (option.get_positional()) {
        model.names = {option.get_name(true)};
    } else {
        for (const std::string& name : option.get_snames()) model.names.push_back("-" + name);
        for (const std::string& name : option.get_lnames()) model.names.push_back("--" + name);
        if (option.get_items_expected_max() > 0)
            model.value_name = option.get_type_name();
        else
            model.default_text.clear();
    }
    if (auto known = command.choices.find(&option); known != command.choices.end())
        model.choices = known->second;
    return model;
}

CommandModel command_model(const DeclaredCommand& command, const std::string& program) {
    CommandModel model{.full_name = program + " " + command.page.name,
                       .page = command.page,
                       .options = {},
                       .positionals = {},
                       .command = {},
                       .subcommands = {},
                       .runnable = true};
    for (const CLI::Option* option : command.app.get_options())
        (option->get_positional() ? model.positionals : model.options)
            .push_back(option_model(*option, command));
    model.options.push_back(help_option());
    for (const auto& passthrough : command.passthrough) model.command.push_back(passthrough.model);
    return model;
}

// The node for `name` below `program`, with the groups on the way.
CommandModel& place(CommandModel& program, const std::string& name, std::span<const CommandPage> groups) {
    CommandModel* node = &program;
    std::string path;
    for (std::string_view word : split_words(name)) {
        path += path.empty() ? std::string(word) : " " + std::string(word);
        auto next = std::find_if(node->subcommands.begin(), node->subcommands.end(),
                                 [&](const CommandModel& model) { return model.page.name == path; });
        if (next == node->subcommands.end()) {
            auto page =
                std::find_if(groups.begin(), groups.end(), [&](auto& group) { return group.name == path; });
            CommandModel group{
                .full_name = program.full_name + " " + path,
                .page = page != groups.end() ? *page : CommandPage{.name = path, .summary = "commands"},
                .options = {help_option()},
                .positionals = {},
                .command = {},
                .subcommands = {}};
            next = node->subcommands.insert(node->subcommands.end(), std::move(group));
        }
        node = &*next;
    }
    return *node;
}

Error translate(const CLI::ParseError& error) {
    constexpr std::string_view kConversion = "Could not convert: ";
    std::string text = error.what();
    if (text.starts_with(kConversion)) {
        text.erase(0, kConversion.size());
        size_t equals = text.find(" = ");
        if (equals != std::string::npos)
            text = fmt::format("{}: \"{}\" is not a number or not in range", text.substr(0, equals),
                               text.substr(equals + 3));
    }
    return Error(ErrorKind::kBadInput, text);
}

Result<> convert(DeclaredCommand& command, std::vector<std::string> words) {
    for (CLI::Option* option :
         command.app.get_options([](CLI::Option* each) { return !each->get_positional(); }))
        option->allow_extra_args(false);
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the back
    try {
        command.app.parse(std::move(words));
    } catch (const OptionError& error) {
        return std::unexpected(error.error());
    } catch (const CLI::ParseError& error) {
        return std::unexpected(translate(error));
    }
    return {};
}

}  // namespace

Result<Configuration> CommandContext::configuration() const {
    ConfigurationSources sources = default_sources();
    for (const auto& option : command_.settings)
        if (!option.texts->empty()) sources.flags.push_back({option.key, option.flag, *option.texts});
    return load_configuration(application_.settings(), sources);
}

std::FILE* CommandContext::out() const {
    return application_.out();
}

void CommandContext::print_json(const nlohmann::json& value) const {
    print("{}\n", value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

CLI::App& CommandDeclaration::options() {
    return command_.app;
}

void CommandDeclaration::json(bool& wanted) {
    command_.app.add_flag("--json", wanted, "print the facts as JSON");
}

CLI::Option* CommandDeclaration::duration(std::string names, Duration& value, std::string meaning) {
    return add_parsed(command_.app, names, meaning, value, parse_duration)
        ->type_name("DURATION")
        ->default_str(value == Duration() ? "" : to_text(value));
}

CLI::Option* CommandDeclaration::size(std::string names, ByteSize& value, std::string meaning) {
    return add_parsed(command_.app, names, meaning, value, parse_size)
        ->type_name("SIZE")
        ->default_str(value == ByteSize() ? "" : to_text(value));
}

CLI::Option* CommandDeclaration::choice(std::string names, std::string& value,
                                        std::vector<std::string> choices, std::string meaning) {
    auto parse = [choices](std::string_view text) -> Result<std::string> {
        if (std::find(choices.begin(), choices.end(), text) != choices.end()) return std::string(text);
        std::vector<std::string_view> known(choices.begin(), choices.end());
        auto meant = nearest(text, known);
        return bad_input("unknown value \"{}\"", text)
            .hint(meant ? fmt::format("did you mean \"{}\"?", *meant) : "one of " + join(choices, ", "));
    };
    CLI::Option* option =
        add_parsed(command_.app, names, meaning, value, parse)->type_name("WORD")->default_str(value);
    command_.choices[option] = std::move(choices);
    return option;
}

CLI::Option* CommandDeclaration::setting(std::string names, std::string_view key) {
    auto settings = application_.settings();
    auto setting =
        std::find_if(settings.begin(), settings.end(), [&](const Setting& each) { return each.key == key; });
    if (setting == settings.end()) program_mistake("option of a setting that is not declared", key);
    auto texts = std::make_shared<std::vector<std::string>>();
    std::string type(type_name(setting->type));
    if (setting->type == SettingType::kTextList) type = "text";
    std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::toupper(c); });
    CLI::Option* option =
        command_.app.add_option(names, *texts, std::string(setting->meaning))->type_name(type);
    option->default_str(std::string(setting->default_text));
    // Of several, the last counts; only a list collects them.
    if (setting->type != SettingType::kTextList)
        option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    command_.settings.push_back({std::string(key), display_name(names), texts});
    return option;
}

void CommandDeclaration::passthrough(std::string name, std::vector<std::string>& words, std::string meaning,
                                     bool required) {
    OptionModel model{
        .names = {std::move(name)}, .meaning = std::move(meaning), .required = required, .repeatable = true};
    command_.passthrough.push_back({std::move(model), &words});
}

void CommandDeclaration::run(CommandHandler handler) {
    command_.handler = std::move(handler);
}

Application::Application(ApplicationPage page, std::FILE* out, std::FILE* err)
    : page_(std::move(page)), out_(out), err_(err) {}

Application::~Application() = default;

void Application::add_settings(std::span<const Setting> settings) {
    settings_.insert(settings_.end(), settings.begin(), settings.end());
}

void Application::add_group(CommandPage page) {
    groups_.push_back(std::move(page));
}

CommandDeclaration Application::add(CommandPage page) {
    if (find(page.name) != nullptr) program_mistake("command declared twice", page.name);
    commands_.push_back(std::make_unique<DeclaredCommand>());
    DeclaredCommand& command = *commands_.back();
    command.page = std::move(page);
    command.app.name(page_.name + " " + command.page.name);
    command.app.set_help_flag();  // --help is ours
    return CommandDeclaration(*this, command);
}

const DeclaredCommand* Application::find(std::string_view name) const {
    for (const auto& command : commands_)
        if (command->page.name == name) return command.get();
    return nullptr;
}

CommandModel Application::model() const {
    CommandModel program{.full_name = page_.name,
                         .page = {.name = "", .summary = page_.summary, .description = page_.description},
                         .options = {help_option()},
                         .positionals = {},
                         .command = {},
                         .subcommands = {}};
    if (!page_.version.empty())
        program.options.push_back({.names = {"--version"}, .meaning = "show the version"});
    for (const auto& command : commands_) {
        CommandModel& node = place(program, command->page.name, groups_);
        std::vector<CommandModel> below = std::move(node.subcommands);
        node = command_model(*command, page_.name);
        node.subcommands = std::move(below);
    }
    return program;
}

int Application::run(int argc, const char* const* argv) {
    return run(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

int Application::run(std::vector<std::string> words) {
    Error failure(ErrorKind::kSystem, "");
    try {
        Result<int> status = dispatch(std::move(words));
        if (std::fflush(out_) != 0 && status) status = errno_error(errno, "cannot write the output");
        if (status) return *status;
        failure = std::move(status.error());
    } catch (const std::bad_alloc&) {
        failure = Error(ErrorKind::kSystem, "out of memory");
    } catch (const std::system_error& error) {  // of fmt::print: a full disk, a reader that is gone
        failure =
            Error(ErrorKind::kSystem, fmt::format("cannot write the output: {}", error.code().message()));
    } catch (const std::exception& error) {
        failure = Error(ErrorKind::kSystem, fmt::format("internal error: {}", error.what()));
    }
    std::fputs(failure.render(page_.name).c_str(), err_);
    std::fflush(err_);
    return failure.exit_status();
}

Result<int> Application::dispatch(std::vector<std::string> words) {
    BELAY_CHECK(start_logging(page_.name));
    CommandModel program = model();
    if (words.empty()) {
        fmt::print(err_, "{}", render_help(program));
        return static_cast<int>(ErrorKind::kBadInput);
    }
    if (words[0] == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    if (words[0] == "--version" && program.find_option("--version") != nullptr) {
        fmt::print(out_, "{} {}\n", page_.name, page_.version);
        return 0;
    }
    BELAY_TRY(parsed, parse_words(program, words));
    if (!parsed.help) return run_command(parsed);
    fmt::print(out_, "{}", render_help(*parsed.command));
    return 0;
}

Result<int> Application::run_command(const ParsedWords& parsed) {
    auto found = std::find_if(commands_.begin(), commands_.end(),
                              [&](const auto& each) { return each->page.name == parsed.command->page.name; });
    DeclaredCommand& command = **found;
    BELAY_CHECK(convert(command, parsed.words));
    for (const auto& passthrough : command.passthrough) *passthrough.words = parsed.rest;
    CommandContext context(*this, command);
    // A flag with a wrong value is refused before anything is done.
    if (!command.settings.empty()) BELAY_CHECK(context.configuration());
    if (!command.handler) program_mistake("command without run()", command.page.name);
    return command.handler(context);
}

}  // namespace belay::core
