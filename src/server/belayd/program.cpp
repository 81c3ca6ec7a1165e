#include "server/belayd/program.h"

#include "core/manual.h"
#include "database/backup.h"
#include "server/belayd/daemon.h"
#include "server/belayd/options.h"
#include "server/state/schema.h"
#include "server/state/token_command.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

namespace belay::server {

using core::Result;

namespace {

constexpr core::Duration kStateWait = std::chrono::minutes(1);

// An option that stands for a setting.
struct SettingOption {
    std::string_view flag, key, type, meaning;
};
constexpr std::array kSettingOptions = {
    SettingOption{"--data", "server.data", "DIR",
                  "directory for blocks, records and state; made if it does not exist"},
    SettingOption{"--listen", "server.listen", "ADDRESS:PORT", "where to listen; port 0: any that is free"},
    SettingOption{"--database", "server.database", "PLACE",
                  "state: sqlite:FILE or postgresql://…; default: a file in --data"},
    SettingOption{"--certificate", "server.certificate", "FILE",
                  "certificate, PEM; default: its own, made in --data"},
    SettingOption{"--key", "server.key", "FILE", "key of --certificate, PEM"},
    SettingOption{"--name", "server.name", "NAME", "name of this belayd among those of one --data"},
    SettingOption{"--slurm", "server.slurm", "yes|no|auto", "ask Slurm who runs what"},
    SettingOption{"--cluster", "server.cluster", "NAME",
                  "name of the cluster, as agents are given it; default: as Slurm says"},
    SettingOption{"--slurm-interval", "server.slurm_interval", "TIME",
                  "time between two looks at Slurm's queue"},
    SettingOption{"--record-delay", "server.record_delay", "TIME",
                  "from a job's end until its record is cut, where data are missing"},
};

// The same words for every command that needs the state.
struct Words {
    std::array<std::string, kSettingOptions.size()> texts;
    std::string config;
    bool no_tls = false;

    DaemonWords words() const {
        DaemonWords given{.given = {}, .config = config, .no_tls = no_tls};
        for (size_t i = 0; i < kSettingOptions.size(); ++i)
            if (!texts[i].empty())
                given.given.push_back(
                    {std::string(kSettingOptions[i].key), std::string(kSettingOptions[i].flag), texts[i]});
        return given;
    }
};

void add_words(core::CommandDeclaration& command, Words& words, bool all) {
    for (size_t i = 0; i < kSettingOptions.size(); ++i) {
        const SettingOption& option = kSettingOptions[i];
        const bool is_of_state = option.flag == "--data" || option.flag == "--database";
        if (all || is_of_state)
            command.options()
                .add_option(std::string(option.flag), words.texts[i], std::string(option.meaning))
                ->type_name(std::string(option.type));
    }
    command.options()
        .add_option("--config", words.config, "TOML file of settings, over those of /etc/belay")
        ->type_name("FILE");
}

void add_serve(core::Application& application) {
    auto command = application.add({
        .name = "",
        .summary = "keep what agents record, and show it to those who may see it",
        .description = "Takes what belay-agent sends from each node, makes the record of each job when it "
                       "ends, and answers "
                       "requests for jobs, records, scores and findings over HTTP. It prints \"listening on "
                       "…\" when it is "
                       "ready, and ends in order on SIGTERM.\n\n"
                       "Without --certificate it makes a certificate of its own, DIR/tls/certificate.pem: "
                       "give it to agents "
                       "and commands as their authority. --no-tls is only for addresses of this machine.\n\n"
                       "It runs as an ordinary user. Settings of /etc/belay/*.toml, section [server], stand "
                       "for the options.",
        .examples = {{"belayd --data d --listen 127.0.0.1:8440", "keep everything in the directory d"},
                     {"belayd --data d token create --user anna --role user",
                      "print a token by which Anna is known"}},
        .bounds_own_waits = true,
    });
    auto words = std::make_shared<Words>();
    add_words(command, *words, true);
    command.options().add_flag("--no-tls", words->no_tls,
                               "serve in the clear, on addresses of this machine only");
    command.run([words](const core::CommandContext& context) -> Result<int> {
        BELAY_TRY(options, read_options(words->words(), core::current_environment()));
        BELAY_CHECK(run_daemon(options, [&](const std::string& url) {
            context.print("listening on {}\n", url);
            std::fflush(context.out());
        }));
        return 0;
    });
}

Result<database::Database> state_of(const Words& words) {
    BELAY_TRY(options, read_options(words.words(), core::current_environment()));
    return open_data_state(options, core::Deadline::after(kStateWait));
}

void add_token_create(core::Application& application) {
    auto command = application.add({
        .name = "token create",
        .summary = "print a token by which somebody is known to belayd",
        .description = "Makes a token and prints it; it cannot be shown again. The request that carries it "
                       "as \"Authorization: "
                       "Bearer TOKEN\" is the user's. The role node is for agents: --user is then the name "
                       "of the node, or * "
                       "for all nodes.",
        .examples = {{"belayd --data d token create --user anna --role user", "Anna sees her own jobs"},
                     {"belayd --data d token create --user '*' --role node", "for the agents of all nodes"}},
        .bounds_own_waits = true,
    });
    struct Options {
        Words words;
        TokenCommand token;
    };
    auto options = std::make_shared<Options>();
    add_words(command, options->words, false);
    command.options()
        .add_option("--user", options->token.user, "whose token it is; of a node its name")
        ->required()
        ->type_name("USER");
    command.choice("--role", options->token.role, {"user", "manager", "staff", "node"},
                   "what its holder may be");
    command.options()
        .add_option("--project", options->token.project, "only this account of Slurm")
        ->type_name("ACCOUNT");
    command.options().add_option("--label", options->token.label, "what it is for")->type_name("TEXT");
    command.options()
        .add_option("--days", options->token.days, "days until it expires; without it, it does not")
        ->type_name("N");
    command.options().add_flag("--read-only", options->token.is_read_only, "it changes nothing");
    command.run([options](const core::CommandContext& context) -> Result<int> {
        BELAY_TRY(database, state_of(options->words));
        BELAY_TRY(token, create_token_command(database, options->token, core::system_clock().now(),
                                              core::Deadline::after(kStateWait)));
        context.print("{}\n", token);
        return 0;
    });
}

void add_backup(core::Application& application) {
    auto command = application.add({
        .name = "backup",
        .summary = "write a copy of the state while belayd runs",
        .description =
            "Writes what is in the state's SQLite file now to FILE, whole or not at all. To restore it, stop "
            "belayd and "
            "put the copy in the place of DIR/state.db. Blocks and records are files that do not change once "
            "they are closed: copy them with any tool. PostgreSQL has its own means.",
        .examples = {{"belayd --data d backup state-copy.db", "a copy of the state"}},
    });
    struct Options {
        Words words;
        std::string target;
    };
    auto options = std::make_shared<Options>();
    add_words(command, options->words, false);
    command.options().add_option("FILE", options->target, "the copy; replaced where it is there")->required();
    command.run([options](const core::CommandContext&) -> Result<int> {
        BELAY_TRY(database, state_of(options->words));
        BELAY_CHECK(database::back_up(database, options->target, core::Deadline::after(kStateWait)));
        return 0;
    });
}

void add_manual(core::Application& application) {
    auto command = application.add(
        {.name = "_man", .summary = "write the manual page into a directory", .hidden = true});
    auto directory = std::make_shared<std::string>();
    command.options().add_option("DIR", *directory, "where to write; made if it does not exist")->required();
    command.run([directory](const core::CommandContext& context) -> Result<int> {
        BELAY_CHECK(core::write_manual(context.application().model(), BELAY_VERSION, *directory));
        return 0;
    });
}

}  // namespace

core::ApplicationPage application_page() {
    return {.name = "belayd",
            .summary = "keep what agents record, and show it to those who may see it",
            .description = {},
            .version = BELAY_VERSION};
}

void add_commands(core::Application& application) {
    add_serve(application);
    add_token_create(application);
    add_backup(application);
    add_manual(application);
}

std::vector<std::string> with_command_first(std::vector<std::string> words) {
    constexpr std::array<std::string_view, 2> kCommands = {"token", "backup"};
    // "--data DIR", "--data=DIR", "--database …" and "--config …" may stand before.
    auto command = words.begin();
    while (command != words.end() && command->starts_with("--")) {
        const bool has_value = command->find('=') == std::string::npos;
        if (*command != "--data" && *command != "--database" && *command != "--config" && has_value)
            return words;
        command += has_value && std::next(command) != words.end() ? 2 : 1;
    }
    if (command == words.end() || std::ranges::find(kCommands, *command) == kCommands.end()) return words;
    std::rotate(words.begin(), command, words.end());
    return words;
}

}  // namespace belay::server
