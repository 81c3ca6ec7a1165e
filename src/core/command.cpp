#include "core/command.h"

#include "core/help.h"
#include "core/log.h"
#include "core/program.h"
#include "core/stop_on_signal.h"
#include "core/text.h"
#include "core/utf8.h"
#include "core/work.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>

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
    Options options;
    CommandHandler handler;
    std::vector<Passthrough> passthrough;
    std::vector<SettingOption> settings;
};

namespace {

// An option whose text `parse` turns into *value.
template <typename Value, typename Parse>
OptionDeclaration* add_parsed(Options& options, const std::string& names, std::string meaning, Value& value,
                              Parse parse) {
    auto assign = [&value, parse](std::span<const std::string> texts) -> Result<> {
        BELAY_TRY(parsed, parse(texts.back()));
        value = std::move(parsed);
        return {};
    };
    return options.add(names, std::move(meaning), assign);
}

OptionModel help_option() {
    return {.names = {"-h", "--help"}, .meaning = "show this help"};
}

CommandModel command_model(const DeclaredCommand& command, const std::string& program) {
    const std::string& name = command.page.name;
    CommandModel model{.full_name = name.empty() ? program : program + " " + name,
                       .page = command.page,
                       .options = {},
                       .positionals = {},
                       .command = {},
                       .subcommands = {},
                       .runnable = true};
    for (OptionModel& option : command.options.models())
        (option.is_positional() ? model.positionals : model.options).push_back(std::move(option));
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

}  // namespace

Result<Configuration> CommandContext::configuration() const {
    if (configuration_) return *configuration_;
    ConfigurationSources sources = default_sources();
    for (const auto& option : command_.settings)
        if (!option.texts->empty()) sources.flags.push_back({option.key, option.flag, *option.texts});
    BELAY_TRY(loaded, load_configuration(application_.settings(), sources));
    fmt::print(application_.err(), "{}", loaded.ignored_text(application_.name()));
    configuration_ = loaded;
    return loaded;
}

std::FILE* CommandContext::out() const {
    return application_.out();
}

void CommandContext::print_json(const nlohmann::json& value) const {
    print("{}\n", printable_json(value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)));
}

void CommandContext::print_json(const nlohmann::ordered_json& value) const {
    print_json(nlohmann::json(value));
}

Options& CommandDeclaration::options() {
    return command_.options;
}

void CommandDeclaration::json(bool& wanted) {
    command_.options.add_flag("--json", wanted, "print the facts as JSON");
}

OptionDeclaration* CommandDeclaration::duration(std::string names, Duration& value, std::string meaning) {
    return add_parsed(command_.options, names, std::move(meaning), value, parse_duration)
        ->type_name("DURATION")
        ->default_str(value == Duration() || value == Duration::max() ? "" : to_text(value));
}

OptionDeclaration* CommandDeclaration::size(std::string names, ByteSize& value, std::string meaning) {
    return add_parsed(command_.options, names, std::move(meaning), value, parse_size)
        ->type_name("SIZE")
        ->default_str(value == ByteSize() ? "" : to_text(value));
}

OptionDeclaration* CommandDeclaration::choice(std::string names, std::string& value,
                                              std::vector<std::string> choices, std::string meaning) {
    auto parse = [choices](std::string_view text) -> Result<std::string> {
        if (std::find(choices.begin(), choices.end(), text) != choices.end()) return std::string(text);
        std::vector<std::string_view> known(choices.begin(), choices.end());
        auto meant = nearest(text, known);
        return bad_input("unknown value \"{}\"", text)
            .hint(meant ? fmt::format("did you mean \"{}\"?", *meant) : "one of " + join(choices, ", "));
    };
    return add_parsed(command_.options, names, std::move(meaning), value, parse)
        ->type_name("WORD")
        ->default_str(value)
        ->choices(std::move(choices));
}

OptionDeclaration* CommandDeclaration::setting(std::string names, std::string_view key) {
    auto settings = application_.settings();
    auto setting =
        std::find_if(settings.begin(), settings.end(), [&](const Setting& each) { return each.key == key; });
    if (setting == settings.end()) program_mistake("option of a setting that is not declared", key);
    auto texts = std::make_shared<std::vector<std::string>>();
    if (setting->type ==
        SettingType::kBoolean) {  // a flag: where a site says yes, the variable of the setting says no
        OptionDeclaration* flag = command_.options
                                      .add(names, std::string(setting->meaning),
                                           [texts](std::span<const std::string>) -> Result<> {
                                               *texts = {"yes"};
                                               return {};
                                           })
                                      ->last_counts();
        command_.settings.push_back({std::string(key), flag->model().name(), texts});
        return flag;
    }
    std::string type(type_name(setting->type));
    if (setting->type == SettingType::kTextList) type = "text";
    std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return std::toupper(c); });
    OptionDeclaration* option = command_.options.add_option(names, *texts, std::string(setting->meaning))
                                    ->type_name(type)
                                    ->default_str(std::string(setting->default_text));
    // Of several, the last counts; only a list collects them.
    if (setting->type != SettingType::kTextList) option->last_counts();
    command_.settings.push_back({std::string(key), option->model().name(), texts});
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
    for (const auto& command : commands_) {
        CommandModel& node = place(program, command->page.name, groups_);
        std::vector<CommandModel> below = std::move(node.subcommands);
        node = command_model(*command, page_.name);
        node.subcommands = std::move(below);
    }
    if (!page_.version.empty())
        program.options.push_back({.names = {"--version"}, .meaning = "show the version"});
    return program;
}

int Application::run(int argc, const char* const* argv) {
    (void)occupy_standard_descriptors();  // fails only where /dev/null is missing
    return run(std::vector<std::string>(argv + std::min(argc, 1), argv + argc));
}

int Application::run(std::vector<std::string> words) {
    return run_program(page_.name, [&] { return dispatch(std::move(words)); }, out_, err_);
}

// Where --help stands in "help WORDS": right after the command, so that a program to run does not get it,
// and at the end where a command is missing, so that the wrong word is named.
static size_t help_place(const CommandModel& program, std::span<const std::string> words) {
    const CommandModel* command = &program;
    size_t at = 0;
    for (; at < words.size(); ++at) {
        const CommandModel* next = command->find_subcommand(words[at]);
        if (next == nullptr) break;
        command = next;
    }
    return command->runnable ? at : words.size();
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
        words.insert(words.begin() + static_cast<ptrdiff_t>(help_place(program, words)), "--help");
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
    BELAY_CHECK(command.options.bind(parsed.given));
    for (const auto& passthrough : command.passthrough) *passthrough.words = parsed.rest;
    CommandContext context(*this, command);
    // A flag with a wrong value is refused before anything is done.
    if (!command.settings.empty()) BELAY_CHECK(context.configuration());
    if (!command.handler) program_mistake("command without run()", command.page.name);
    if (watches_files_ && !command.page.bounds_own_waits) return run_watched(command, context);
    return command.handler(context);
}

Result<int> Application::run_watched(const DeclaredCommand& command, const CommandContext& context) {
    auto configuration = context.configuration();
    // What else is wrong with it is said by the commands that need it.
    if (!configuration && configuration.error().cause() == Cause::kTimedOut)
        return std::unexpected(std::move(configuration.error()));
    const Configuration& known = configuration ? *configuration : Configuration(settings_);
    std::optional<SignalsToPassOn> signals;
    if (command.page.ends_in_order) signals.emplace();
    BELAY_TRY(work,
              Work::start({.what = "", .name = page_.name, .keep_all = true, .streams = WorkStreams::kOurs},
                          [&]() -> Result<std::string> {
                              auto status = without_exceptions([&] { return call(command, context); }, out_);
                              std::fflush(out_);  // also of what came before an error
                              if (!status) return std::unexpected(std::move(status.error()));
                              return std::to_string(*status);
                          }));
    const Descriptor none;
    auto status =
        work.finish_unless_stalled(known.duration("files.wait"), signals ? signals->descriptor() : none);
    signals.reset();
    if (work.was_ended_by_passed_signal()) raise(work.passed_signal());
    // A handler that ends its process has said why.
    if (!status && status.error().cause() == Cause::kEnded)
        for (ErrorKind kind : {ErrorKind::kBadInput, ErrorKind::kSystem})
            if (work.exit_code() == static_cast<int>(kind)) return static_cast<int>(kind);
    if (!status) return std::unexpected(std::move(status.error()));
    return parse_number<int>(*status).value_or(static_cast<int>(ErrorKind::kSystem));
}

Result<int> Application::call(const DeclaredCommand& command, const CommandContext& context) {
    BELAY_TRY(status, command.handler(context));
    if (std::fflush(out_) != 0) return errno_error(errno, "cannot write the output");
    return status;
}

}  // namespace belay::core
