#include "core/command.h"

#include "core/file.h"
#include "core/help.h"
#include "core/json.h"

#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::core {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

constexpr Setting kSettings[] = {
    {"record.interval", SettingType::kDuration, "1s", "time between two samples"},
    {"record.progress_pattern", SettingType::kTextList, "", "patterns of progress lines"},
};

// Everything that a command was given.
struct Seen {
    std::string output, record, format = "tar";
    std::vector<std::string> command, tags, files;
    int nodes = 1;
    bool json = false, verbose = false;
    Duration grace = 5s;
    ByteSize limit;
    std::string interval_origin;
    std::vector<std::string> patterns;
    int calls = 0;
};

// A program like the real one, whose output is kept.
class Program {
  public:
    Program() : out_(std::tmpfile()), err_(std::tmpfile()), application(page(), out_, err_) {
        setenv("BELAY_CONFIG_DIR", "/nonexistent", 1);
        application.add_settings(kSettings);
        application.add_group({.name = "record", .summary = "make and read job records"});
        add_run();
        add_pack();
        auto seal = application.add({.name = "record seal", .summary = "close a record"});
        seal.options().add_option("RECORD", seen.record, "the record's directory")->required();
        seal.run([](const CommandContext&) -> Result<int> { return negative("not sealed").hint("seal it"); });
        auto fail = application.add({.name = "fail", .summary = "throw", .hidden = true});
        fail.run([](const CommandContext&) -> Result<int> { throw std::runtime_error("library gave up"); });
        auto memory = application.add({.name = "memory", .summary = "throw", .hidden = true});
        memory.run([](const CommandContext&) -> Result<int> { throw std::bad_alloc(); });
        add_findings();
    }
    ~Program() {
        std::fclose(out_);
        std::fclose(err_);
    }

    int run(std::vector<std::string> words) { return application.run(std::move(words)); }
    std::string out() const { return text_of(out_); }
    std::string err() const { return text_of(err_); }

  private:
    static ApplicationPage page() {
        return {.name = "belay", .summary = "hold the rope", .description = "Text.", .version = "1.2.3"};
    }
    static std::string text_of(std::FILE* file) {
        std::fflush(file);
        std::string text(static_cast<size_t>(std::ftell(file)), '\0');
        std::rewind(file);
        text.resize(std::fread(text.data(), 1, text.size(), file));
        return text;
    }
    void add_run() {
        auto run = application.add({.name = "record run",
                                    .summary = "record a command",
                                    .description = "First paragraph.\n\nSecond paragraph.",
                                    .examples = {{"belay record run -o r -- true", "record nothing"}},
                                    .exit_statuses = {{0, "as CMD"}}});
        run.options()
            .add_option("-o,--output", seen.output, "the record to make")
            ->required()
            ->type_name("DIR");
        run.options().add_option("--nodes", seen.nodes, "number of nodes")->default_str("1");
        run.options().add_option("--tag", seen.tags, "a tag");
        run.options().add_flag("-v,--verbose", seen.verbose, "say more");
        run.setting("--interval", "record.interval");
        run.setting("--progress-pattern", "record.progress_pattern");
        run.duration("--grace", seen.grace, "time to end");
        run.size("--limit", seen.limit, "largest record");
        run.json(seen.json);
        run.passthrough("CMD", seen.command, "the program and its arguments");
        run.run([this](const CommandContext& context) -> Result<int> {
            BELAY_TRY(configuration, context.configuration());
            seen.interval_origin = to_text(configuration.duration("record.interval")) + " " +
                                   configuration.origin("record.interval");
            seen.patterns = configuration.text_list("record.progress_pattern");
            ++seen.calls;
            if (seen.json) context.print_json(nlohmann::json{{"output", seen.output}, {"latin", "\xe9"}});
            return 0;
        });
    }
    void add_pack() {
        auto pack = application.add({.name = "pack", .summary = "pack files"});
        pack.choice("--format", seen.format, {"tar", "squashfs"}, "how to pack");
        pack.options().add_option("OUT", seen.output, "the archive")->required();
        pack.options().add_option("FILE", seen.files, "what to pack");
        pack.run([this](const CommandContext&) -> Result<int> {
            ++seen.calls;
            return 4;
        });
    }
    void add_findings() {
        auto findings = application.add({.name = "findings", .summary = "diagnoses of a record"});
        findings.options().add_option("RECORD", seen.record, "the record")->required();
        findings.json(seen.json);
        findings.run([](const CommandContext& context) -> Result<int> {
            context.print("findings of {}\n", 1);
            return 0;
        });
        auto list = application.add({.name = "findings list", .summary = "list them"});
        list.run([](const CommandContext& context) -> Result<int> {
            context.print("list\n");
            return 0;
        });
    }

    std::FILE* out_;
    std::FILE* err_;

  public:
    Application application;
    Seen seen;
};

// The message of a command line that is wrong.
std::string complaint(std::vector<std::string> words) {
    Program program;
    EXPECT_EQ(program.run(std::move(words)), 2);
    EXPECT_EQ(program.seen.calls, 0);
    EXPECT_EQ(program.out(), "");
    return program.err();
}

TEST(core, command_values_reach_the_handler) {
    Program program;
    EXPECT_EQ(program.run({"record", "run",    "-v", "-o",      "out",   "--nodes=3", "--tag",
                           "a",      "--tag",  "b",  "--grace", "1m30s", "--limit",   "1GiB",
                           "--",     "python", "-c", "x",       "--",    "--nodes",   "9"}),
              0)
        << program.err();
    EXPECT_EQ(program.seen.output, "out");
    EXPECT_EQ(program.seen.nodes, 3);
    EXPECT_THAT(program.seen.tags, ElementsAre("a", "b"));
    EXPECT_TRUE(program.seen.verbose);
    EXPECT_EQ(program.seen.grace, 90s);
    EXPECT_EQ(program.seen.limit.bytes, 1U << 30);
    EXPECT_THAT(program.seen.command, ElementsAre("python", "-c", "x", "--", "--nodes", "9"));
    EXPECT_EQ(program.seen.interval_origin, "1s default");
    EXPECT_EQ(program.out() + program.err(), "");
}

TEST(core, command_rest_of_the_line_needs_no_mark) {
    Program program;
    EXPECT_EQ(program.run({"record", "run", "-voout", "python", "--help", "-o", "theirs", "--tag"}), 0)
        << program.err();
    EXPECT_EQ(program.seen.output, "out");
    EXPECT_THAT(program.seen.command, ElementsAre("python", "--help", "-o", "theirs", "--tag"));
    EXPECT_THAT(program.seen.tags, IsEmpty());
}

TEST(core, command_values_may_look_like_options) {
    Program program;
    EXPECT_EQ(program.run({"record", "run", "-o", "--tag", "--tag", "[x]", "--tag=", "--tag", "-5", "true"}),
              0)
        << program.err();
    EXPECT_EQ(program.seen.output, "--tag");
    EXPECT_THAT(program.seen.tags, ElementsAre("[x]", "", "-5"));
}

TEST(core, command_flags_override_settings) {
    Program program;
    EXPECT_EQ(program.run({"record", "run", "-o", "r", "--interval", "9s", "--interval", "250ms",
                           "--progress-pattern", "a, b", "--progress-pattern", "[c]", "true"}),
              0)
        << program.err();
    EXPECT_EQ(program.seen.interval_origin, "250ms --interval");
    EXPECT_THAT(program.seen.patterns, ElementsAre("a, b", "[c]"));
    EXPECT_THAT(complaint({"record", "run", "-o", "r", "--interval", "5", "true"}),
                StartsWith("belay: --interval: duration \"5\" has no unit\nhint: "));
}

TEST(core, command_configuration_files_are_checked_before_anything_is_done) {
    auto directory = TemporaryDirectory::create().value();
    ASSERT_TRUE(replace_file(directory.path() / "a.toml", "record.interval = 5"));
    Program program;
    setenv("BELAY_CONFIG_DIR", directory.path().c_str(), 1);
    EXPECT_EQ(program.run({"record", "run", "-o", "r", "true"}), 2);
    EXPECT_THAT(program.err(), HasSubstr("a.toml:1:19: record.interval: expected a duration"));
    EXPECT_EQ(program.seen.calls, 0);
}

TEST(core, command_unknown_words_name_the_nearest) {
    EXPECT_EQ(complaint({"record", "run", "--intervall", "1s", "true"}),
              "belay: unknown option \"--intervall\"\nhint: did you mean \"--interval\"?\n");
    EXPECT_EQ(complaint({"record", "run", "--zzz"}),
              "belay: unknown option \"--zzz\"\nhint: \"belay record run --help\" lists the commands and "
              "options\n");
    EXPECT_EQ(complaint({"recrod", "run"}),
              "belay: unknown command \"recrod\"\nhint: did you mean \"record\"?\n");
    EXPECT_EQ(complaint({"record", "ruun"}),
              "belay: unknown command \"ruun\"\nhint: did you mean \"run\"?\n");
    EXPECT_THAT(complaint({"fial"}), HasSubstr("\"belay --help\""));  // hidden commands are not suggested
    EXPECT_THAT(complaint({"record", "run", "-x"}), StartsWith("belay: unknown option \"-x\""));
    EXPECT_THAT(complaint({"record", "run", "-vx"}), StartsWith("belay: unknown option \"-x\""));
    EXPECT_THAT(complaint({"record", "run", "-5"}), StartsWith("belay: unknown option \"-5\""));
    EXPECT_THAT(complaint({"--nodes"}), StartsWith("belay: unknown option \"--nodes\""));
    EXPECT_THAT(complaint({""}), StartsWith("belay: unknown command \"\""));
}

TEST(core, command_missing_and_superfluous_words) {
    EXPECT_EQ(complaint({"record", "run", "true"}),
              "belay: missing option \"--output DIR\": the record to make\n");
    EXPECT_EQ(complaint({"record", "run", "-o", "x"}),
              "belay: missing argument CMD: the program and its arguments\n");
    EXPECT_EQ(complaint({"record", "run", "-o", "x", "--"}),
              "belay: missing argument CMD: the program and its arguments\n");
    EXPECT_EQ(complaint({"record", "seal"}), "belay: missing argument RECORD: the record's directory\n");
    EXPECT_THAT(complaint({"record", "seal", "a", "b"}),
                StartsWith("belay: too many arguments, the last is \"b\""));
    EXPECT_THAT(complaint({"record", "seal", "--", "a", "-b"}),
                StartsWith("belay: too many arguments, the last is \"-b\""));
    EXPECT_THAT(complaint({"record", "run", "-o"}), StartsWith("belay: option \"-o\" needs a value: DIR"));
    EXPECT_THAT(complaint({"record", "run", "--json=yes"}),
                StartsWith("belay: option \"--json\" takes no value"));
    EXPECT_THAT(complaint({"record"}), StartsWith("belay: \"belay record\" needs a command"));
}

TEST(core, command_wrong_values) {
    EXPECT_THAT(complaint({"record", "run", "-o", "x", "--nodes", "many", "true"}),
                StartsWith("belay: --nodes: \"many\" is not a number"));
    EXPECT_THAT(complaint({"record", "run", "-o", "x", "--nodes", "99999999999999", "true"}),
                StartsWith("belay: --nodes: "));
    EXPECT_THAT(complaint({"record", "run", "-o", "x", "--grace", "5", "true"}),
                StartsWith("belay: --grace: duration \"5\" has no unit\nhint: a duration is written like"));
    EXPECT_EQ(complaint({"pack", "--format", "squashf", "out"}),
              "belay: --format: unknown value \"squashf\"\nhint: did you mean \"squashfs\"?\n");
    EXPECT_EQ(complaint({"pack", "--format", "zip", "out"}),
              "belay: --format: unknown value \"zip\"\nhint: one of tar, squashfs\n");
}

TEST(core, command_positionals) {
    Program program;
    EXPECT_EQ(program.run({"pack", "out", "a", "--format", "squashfs", "b", "--", "--c"}), 4)
        << program.err();
    EXPECT_EQ(program.seen.output, "out");
    EXPECT_THAT(program.seen.files, ElementsAre("a", "b", "--c"));
    EXPECT_EQ(program.seen.format, "squashfs");
}

TEST(core, command_group_that_is_a_command_too) {
    Program program;
    EXPECT_EQ(program.run({"findings", "list"}), 0);
    EXPECT_EQ(program.out(), "list\n");
    EXPECT_EQ(program.run({"findings", "dir", "--json"}), 0);
    EXPECT_EQ(program.seen.record, "dir");
    EXPECT_THAT(complaint({"findings", "--json", "list"}),
                HasSubstr("\"--json\" stands before the command \"list\""));
    EXPECT_THAT(complaint({"findings"}), StartsWith("belay: missing argument RECORD"));
}

TEST(core, command_errors_have_their_exit_status) {
    Program program;
    EXPECT_EQ(program.run({"record", "seal", "r"}), 1);
    EXPECT_EQ(program.err(), "belay: not sealed\nhint: seal it\n");
}

TEST(core, command_exceptions_of_libraries_are_system_errors) {
    Program program;
    EXPECT_EQ(program.run({"fail"}), 3);
    EXPECT_EQ(program.err(), "belay: internal error: library gave up\n");
    Program other;
    EXPECT_EQ(other.run({"memory"}), 3);
    EXPECT_EQ(other.err(), "belay: out of memory\n");
}

TEST(core, command_json_is_valid_whatever_the_text) {
    Program program;
    EXPECT_EQ(program.run({"record", "run", "-o", "r", "--json", "true"}), 0);
    auto value = parse_json(program.out());
    EXPECT_EQ(value["output"], "r");
    EXPECT_EQ(value["latin"], "\uFFFD");
}

TEST(core, command_output_that_cannot_be_written_is_an_error) {
    std::FILE* full = std::fopen("/dev/full", "w");
    ASSERT_NE(full, nullptr);
    std::FILE* err = std::tmpfile();
    {
        Application application({.name = "belay", .summary = "", .description = "", .version = "1"}, full,
                                err);
        auto hello = application.add({.name = "hello", .summary = "print"});
        hello.run([](const CommandContext& context) -> Result<int> {
            context.print("hello\n");
            return 0;
        });
        EXPECT_EQ(application.run({"hello"}), 3);
    }
    std::rewind(err);
    char text[200] = "";
    EXPECT_NE(std::fgets(text, sizeof text, err), nullptr);
    EXPECT_STREQ(text, "belay: cannot write the output: No space left on device\n");
    std::fclose(full);
    std::fclose(err);
}

TEST(core, command_help) {
    Program program;
    EXPECT_EQ(program.run({"record", "run", "--help", "--unknown"}), 0);
    std::string help = program.out();
    EXPECT_THAT(
        help,
        StartsWith(
            "belay record run: record a command\n\nusage: belay record run -o DIR [options] [--] CMD...\n"));
    EXPECT_THAT(help, HasSubstr("First paragraph.\n\nSecond paragraph.\n"));
    EXPECT_THAT(help, HasSubstr("\n  -o, --output DIR        the record to make (required)\n"));
    EXPECT_THAT(help, HasSubstr("\n  --interval DURATION     time between two samples (default 1s)\n"));
    EXPECT_THAT(help, HasSubstr("\n  --nodes INT             number of nodes (default 1)\n"));
    EXPECT_THAT(help, HasSubstr("\n  --tag TEXT              a tag (may be repeated)\n"));
    EXPECT_THAT(help, HasSubstr("\n  --grace DURATION        time to end (default 5s)\n"));
    EXPECT_THAT(help, HasSubstr("\n  -v, --verbose           say more\n"));
    EXPECT_THAT(help, HasSubstr("\n  CMD                     the program and its arguments (required)\n"));
    EXPECT_THAT(help, HasSubstr("examples:\n  belay record run -o r -- true\n      record nothing\n"));
    EXPECT_THAT(help, HasSubstr("exit status:\n  0                       as CMD\n  2                       "
                                "the input is wrong\n"));
    for (const char* words : {"-h", "help"}) {
        Program other;
        EXPECT_EQ(other.run({words}), 0);
        EXPECT_THAT(other.out(), HasSubstr("\n  record                  make and read job records\n"))
            << words;
        EXPECT_THAT(other.out(), testing::Not(HasSubstr("fail")));
    }
    Program group;
    EXPECT_EQ(group.run({"help", "record"}), 0);
    EXPECT_THAT(group.out(), HasSubstr("usage: belay record COMMAND ...\n"));
    EXPECT_THAT(group.out(), HasSubstr("\n  seal                    close a record\n"));
}

TEST(core, command_help_runs_nothing) {
    Program program;
    EXPECT_EQ(program.run({"help", "record", "run", "-o", "r", "true"}), 0) << program.err();
    EXPECT_EQ(program.seen.calls, 0);
    EXPECT_THAT(program.out(), StartsWith("belay record run: "));
    EXPECT_THAT(complaint({"help", "recrod"}), HasSubstr("unknown command \"recrod\""));
}

TEST(core, command_without_words_shows_help_and_fails) {
    Program program;
    EXPECT_EQ(program.run(std::vector<std::string>{}), 2);
    EXPECT_THAT(program.err(), HasSubstr("commands:"));
    EXPECT_EQ(program.out(), "");
    Program version;
    EXPECT_EQ(version.run({"--version"}), 0);
    EXPECT_EQ(version.out(), "belay 1.2.3\n");
}

TEST(core, command_arguments_of_main) {
    Program program;
    const char* argv[] = {"/usr/bin/belay", "findings", "list"};
    EXPECT_EQ(program.application.run(3, argv), 0);
    EXPECT_EQ(program.out(), "list\n");
}

TEST(core, command_model_usage_lines) {
    Program program;
    CommandModel model = program.application.model();
    EXPECT_THAT(usage(model), ElementsAre("belay COMMAND ..."));
    EXPECT_THAT(usage(*model.find_subcommand("findings")),
                ElementsAre("belay findings COMMAND ...", "belay findings [options] RECORD"));
    EXPECT_THAT(usage(*model.find_subcommand("pack")), ElementsAre("belay pack [options] OUT [FILE...]"));
}

TEST(core, command_text_is_wrapped_at_blanks) {
    EXPECT_THAT(wrap("aa bb  cc\ndd", 5), ElementsAre("aa bb", "cc dd"));
    EXPECT_THAT(wrap("longword a", 3), ElementsAre("longword", "a"));
    EXPECT_THAT(wrap("\n\none\n\n\ntwo\n", 10), ElementsAre("one", "", "two"));
    EXPECT_THAT(wrap("", 10), IsEmpty());
}

}  // namespace
}  // namespace belay::core
