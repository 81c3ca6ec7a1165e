#include "core/manual.h"

#include "core/completion.h"
#include "core/file.h"
#include "core/process.h"
#include "core/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

OptionModel help() {
    return {.names = {"-h", "--help"}, .meaning = "show this help"};
}

// `belay record run|seal`, `belay pack`, and a hidden command, with text that roff and shells could stumble
// over.
CommandModel program() {
    CommandModel run{
        .full_name = "belay record run",
        .page = {.name = "record run",
                 .summary = "record a command",
                 .description = ".SH is no request, nor is 'this; C:\\n is no line feed \u2014 \u00e9.\n\n"
                                "Second paragraph with --an-option and ~/.config.",
                 .examples = {{"belay record run -o r -- sh -c 'echo \"$HOME\" \\\\ `date`'", "a test"}},
                 .exit_statuses = {{1, "no"}}},
        .options = {{.names = {"-o", "--output"}, .value_name = "DIR", .meaning = "where", .required = true},
                    help()},
        .positionals = {},
        .command = {{.names = {"CMD"}, .meaning = "what to run", .required = true}},
        .subcommands = {},
        .runnable = true};
    CommandModel seal = run;
    seal.full_name = "belay record seal";
    seal.page = {.name = "record seal", .summary = "close a record"};
    seal.command.clear();
    CommandModel pack = seal;
    pack.full_name = "belay pack";
    pack.page = {.name = "pack", .summary = "pack it's files"};
    pack.options = {
        {.names = {"--format"}, .value_name = "WORD", .meaning = "how", .choices = {"tar", "squashfs"}},
        help()};
    pack.positionals = {{.names = {"WHAT"}, .meaning = "what", .choices = {"images", "records"}}};
    CommandModel hidden = seal;
    hidden.full_name = "belay _man";
    hidden.page = {.name = "_man", .summary = "hidden", .hidden = true};
    CommandModel record{.full_name = "belay record",
                        .page = {.name = "record", .summary = "job records"},
                        .options = {help()},
                        .positionals = {},
                        .command = {},
                        .subcommands = {run, seal}};
    return {.full_name = "belay",
            .page = {.name = "", .summary = "hold the rope"},
            .options = {help()},
            .positionals = {},
            .command = {},
            .subcommands = {record, pack, hidden}};
}

std::string page_of(const CommandModel& command) {
    return render_manual(program(), command, "1.2.3");
}

TEST(core, manual_has_the_sections_of_a_command) {
    std::string page = page_of(program().subcommands[0].subcommands[0]);
    EXPECT_THAT(page, HasSubstr(".TH \"BELAY\\-RECORD\\-RUN\" 1 \"\" \"belay 1.2.3\"\n"));
    EXPECT_THAT(page, HasSubstr(".SH NAME\nbelay\\-record\\-run \\- record a command\n"));
    EXPECT_THAT(
        page,
        HasSubstr(".SH SYNOPSIS\n.nf\n\\fBbelay record run\\fR \\-o DIR [options] [\\-\\-] CMD...\n.fi\n"));
    EXPECT_THAT(page, HasSubstr(".TP\n\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIDIR\\fR\nwhere (required)\n"));
    EXPECT_THAT(page, HasSubstr(".TP\n\\fB1\\fR\nno\n"));
    EXPECT_THAT(page, HasSubstr("\\fBbelay\\-record\\fR(1),\n\\fBbelay\\-record\\-seal\\fR(1)\n"));
}

TEST(core, manual_of_a_group_names_its_commands) {
    std::string page = page_of(program().subcommands[0]);
    EXPECT_THAT(page,
                HasSubstr(".SH COMMANDS\n.TP\n\\fBrun\\fR\nrecord a command; see belay\\-record\\-run(1)\n"));
    EXPECT_THAT(page, Not(HasSubstr("EXIT STATUS")));
    EXPECT_THAT(page_of(program()), Not(HasSubstr("_man")));
}

TEST(core, manual_text_is_never_a_request) {
    std::string page = page_of(program().subcommands[0].subcommands[0]);
    EXPECT_THAT(
        page,
        HasSubstr("\n\\&.SH is no request, nor is \\(aqthis; C:\\en is no line feed \\[u2014] \\[u00E9].\n"));
}

TEST(core, manual_is_written_for_what_is_not_hidden) {
    auto directory = TemporaryDirectory::create().value();
    ASSERT_TRUE(write_manual(program(), "1.2.3", directory.path() / "man1"));
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path() / "man1"))
        names.push_back(entry.path().filename());
    EXPECT_THAT(names, testing::UnorderedElementsAre("belay.1", "belay-pack.1", "belay-record.1",
                                                     "belay-record-run.1", "belay-record-seal.1"));
    EXPECT_FALSE(write_manual(program(), "1.2.3", "/dev/null/man1"));
}

TEST(core, manual_reads_as_written_and_without_warnings) {
    if (!find_program("groff")) GTEST_SKIP() << "groff is not installed";
    for (const CommandModel& command :
         {program(), program().subcommands[0], program().subcommands[0].subcommands[0]}) {
        auto output = run({.argv = {"groff", "-ww", "-man", "-Tutf8", "-P-cbou", "-rLL=200n"}},
                          {.input = page_of(command)});
        ASSERT_TRUE(output);
        EXPECT_EQ(output->err, "") << command.full_name;
        if (command.full_name != "belay record run") continue;
        EXPECT_THAT(output->out,
                    HasSubstr(".SH is no request, nor is 'this; C:\\n is no line feed \u2014 \u00e9."));
        EXPECT_THAT(output->out, HasSubstr("--an-option and ~/.config."));
        EXPECT_THAT(output->out, HasSubstr("belay record run -o r -- sh -c 'echo \"$HOME\" \\\\ `date`'"));
    }
}

// What bash offers for the last of `words`.
std::vector<std::string> completions(const std::vector<std::string>& words) {
    std::string script =
        render_completion(program(), Shell::kBash) +
        "COMP_WORDS=(belay \"$@\"); COMP_CWORD=$#; _belay; printf '%s\\n' \"${COMPREPLY[@]}\"\n";
    std::vector<std::string> argv{"bash", "--norc", "-u", "-c", script, "bash"};
    argv.insert(argv.end(), words.begin(), words.end());
    auto output = output_of({.argv = argv});
    EXPECT_TRUE(output) << output.error().message();
    std::vector<std::string> offered;
    std::string lines = output.value_or("");
    for (std::string_view line : split(lines, '\n'))
        if (!line.empty()) offered.emplace_back(line);
    return offered;
}

TEST(core, completion_of_bash) {
    EXPECT_THAT(completions({""}), ElementsAre("record", "pack"));
    EXPECT_THAT(completions({"re"}), ElementsAre("record"));
    EXPECT_THAT(completions({"-"}), ElementsAre("-h", "--help"));
    EXPECT_THAT(completions({"record", ""}), ElementsAre("run", "seal"));
    EXPECT_THAT(completions({"record", "run", "--o"}), ElementsAre("--output"));
    EXPECT_THAT(completions({"record", "run", "-o", ""}), IsEmpty());  // files: the shell's default
    EXPECT_THAT(completions({"record", "run", "--", "-"}), IsEmpty());
    EXPECT_THAT(completions({"pack", "--format", "s"}), ElementsAre("squashfs"));
    EXPECT_THAT(completions({"pack", "--format", ""}), ElementsAre("tar", "squashfs"));
    EXPECT_THAT(completions({"pack", "im"}), ElementsAre("images"));
    EXPECT_THAT(completions({"unknown", "record", ""}), ElementsAre("run", "seal"));
}

TEST(core, completion_scripts_are_valid_in_their_shells) {
    struct Case {
        Shell shell;
        std::vector<std::string> check;  // reads the script from standard input
    };
    const Case cases[] = {
        {Shell::kBash, {"bash", "-n"}}, {Shell::kZsh, {"zsh", "-n"}}, {Shell::kFish, {"fish", "-n"}}};
    for (const Case& each : cases) {
        std::string script = render_completion(program(), each.shell);
        EXPECT_THAT(script, HasSubstr("squashfs"));
        EXPECT_THAT(script, Not(HasSubstr("_man")));
        if (!find_program(each.check[0])) continue;
        auto output = run({.argv = each.check}, {.input = script});
        ASSERT_TRUE(output);
        EXPECT_EQ(output->err, "");
        EXPECT_TRUE(output->status.success()) << each.check[0];
    }
}

}  // namespace
}  // namespace belay::core
