// belay bench check: the verdict of the official rules of MLPerf HPC on logs.
#include "bench/compliance/check.h"
#include "bench/compliance/log_buffer.h"
#include "bench/compliance/rules.h"
#include "bench/compliance/verdict_json.h"
#include "cli/commands.h"
#include "cli/ruleset_option.h"
#include "cli/text_table.h"
#include "cli/threads_option.h"
#include "core/parallel.h"
#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>

#include <fmt/ranges.h>

namespace belay::cli {

namespace {

using core::Result;

struct CheckArguments {
    std::vector<std::string> logs;
    std::string ruleset = newest_ruleset();
    std::optional<double> target;
    size_t threads = std::max(1U, std::thread::hardware_concurrency());
    bool explain = false;
    bool warnings_are_errors = false;
    bool quiet = false;
    bool json = false;
};

bench::ExplainedVerdict check_one(const bench::RuleSet& rules, const std::string& path,
                                  const CheckArguments& arguments) {
    const bench::CheckOptions options{.target = arguments.target,
                                      .warnings_are_errors = arguments.warnings_are_errors,
                                      .quiet = arguments.quiet};
    thread_local bench::LogBuffer buffer;
    const auto bytes = buffer.read(path);
    if (!bytes) {
        bench::ExplainedVerdict failed;
        failed.verdict = {.file = path, .ruleset = std::string(rules.name())};
        failed.verdict.errors.push_back({0, "", bytes.error().message()});
        return failed;
    }
    if (arguments.explain) return bench::explain_log(rules, path, *bytes, options);
    return {.verdict = bench::check_log(rules, path, *bytes, options)};
}

std::string number_text(const std::optional<double>& number, std::string_view unit) {
    return number ? fmt::format(", {:.6g} {}", *number, unit) : "";
}

std::string verdict_text(const bench::LogVerdict& verdict) {
    const bench::LogFacts& facts = verdict.facts;
    std::string text =
        fmt::format("{}: {}{}{}{}{}\n", core::printable(verdict.file), verdict.passed ? "pass" : "FAIL",
                    facts.benchmark.empty() ? "" : ", " + core::printable(facts.benchmark),
                    number_text(facts.minutes, "minutes"), number_text(facts.epochs, "epochs"),
                    number_text(facts.samples_per_second, "samples/s"));
    const auto list = [&](std::string_view kind, std::span<const bench::LogMessage> messages) {
        for (const bench::LogMessage& message : messages)
            text += fmt::format("  {}: {}\n", kind, core::printable(bench::message_text(message)));
    };
    list("error", verdict.errors);
    list("warning", verdict.warnings);
    return text;
}

std::string lines_text(const bench::RuleReport& rule) {
    if (rule.seen == 0) return "-";
    if (rule.seen == 1) return fmt::format("{}", rule.first_line);
    return fmt::format("{} to {}", rule.first_line, rule.last_line);
}

std::string status_text(const bench::RuleReport& rule) {
    if (!rule.decides) return "a later rule decides";
    switch (rule.status) {
        case bench::RuleReport::Status::kWarning:
            return "warning";
        case bench::RuleReport::Status::kFail:
            return "FAIL";
        default:
            return rule.seen > 0 ? "pass" : "not needed";
    }
}

std::string explanation_text(const bench::ExplainedVerdict& explained) {
    std::vector<std::vector<std::string>> rows;
    for (const bench::RuleReport& rule : explained.rules)
        rows.push_back({rule.file, rule.key, status_text(rule), fmt::format("{}", rule.seen),
                        lines_text(rule), fmt::format("{}", fmt::join(rule.values, ", ")), rule.asks});
    std::string text = render_table({"rules", "key", "verdict", "seen", "lines", "values", "what is asked"},
                                    std::move(rows));
    for (const bench::LogMessage& note : explained.notes)
        text += fmt::format("note: {}\n", core::printable(bench::message_text(note)));
    return text + "\n";
}

Result<int> run_check(const core::CommandContext& context, const CheckArguments& arguments) {
    if (arguments.target && !(std::isfinite(*arguments.target) && *arguments.target > 0))
        return core::bad_input("--target {:g}: is not a target", *arguments.target)
            .hint("write a number above 0, such as 0.13");
    BELAY_TRY(rules, bench::RuleSet::named(arguments.ruleset));
    std::vector<bench::ExplainedVerdict> checked(arguments.logs.size());
    BELAY_CHECK(core::in_parallel(checked.size(), arguments.threads, [&](size_t at) -> Result<> {
        checked[at] = check_one(rules, arguments.logs[at], arguments);
        return {};
    }));
    const auto failed = std::ranges::count_if(
        checked, [](const bench::ExplainedVerdict& one) { return !one.verdict.passed; });
    if (arguments.json) {
        nlohmann::ordered_json list = nlohmann::ordered_json::array();
        for (const bench::ExplainedVerdict& one : checked)
            list.push_back(arguments.explain ? bench::to_json(one) : bench::to_json(one.verdict));
        context.print_json(list);
    } else {
        for (const bench::ExplainedVerdict& one : checked)
            context.print("{}{}", verdict_text(one.verdict), arguments.explain ? explanation_text(one) : "");
        if (checked.size() > 1)
            context.print("{} of {} comply with HPC {}\n", checked.size() - static_cast<size_t>(failed),
                          core::format_count(checked.size(), "log"), rules.name());
    }
    return failed > 0 ? 1 : 0;
}

}  // namespace

void add_bench_check(core::Application& application) {
    auto command = application.add({
        .name = "bench check",
        .summary = "judge logs by the official rules of MLPerf HPC",
        .description =
            "Says of each LOG whether it complies, with the verdict of the official compliance checker "
            "(mlcommons/logging 4.1.59, usage hpc), and what it says of the run. Rules 1.0.0, 2.0.0 and "
            "3.0.0 "
            "are those of the rounds; there are none of round 0.7. The numbers of lines count those with "
            "MLLOG "
            "only.\n\n"
            "With --explain, every rule is shown with what it asks, what was seen and where. Logs of a mini "
            "profile reach a target of their own on less data: give the target with --target, and the "
            "numbers of "
            "samples need not be those of the full data.",
        .examples = {{"belay bench check result_*.txt", "the runs of one benchmark"},
                     {"belay bench check run.log --target 0.13", "a run of CosmoFlow's mini profile"},
                     {"belay bench check result_3.txt --explain", "why it fails"}},
        .exit_statuses = {{1, "a log does not comply, or cannot be read"}},
    });
    auto arguments = std::make_shared<CheckArguments>();
    command.options().add_option("LOG", arguments->logs, "files with MLLOG lines")->required();
    add_ruleset(command, arguments->ruleset);
    command.options()
        .add_option("--target", arguments->target,
                    "what eval_error or eval_accuracy must reach, instead of the official target, with any "
                    "number of samples")
        ->type_name("NUMBER");
    command.options().add_flag("--explain", arguments->explain,
                               "show every rule with what it asks and what was seen");
    command.options().add_flag("--werror", arguments->warnings_are_errors,
                               "a repeated value is an error, not a warning");
    command.options().add_flag("--quiet", arguments->quiet,
                               "no warnings of repeated values; does nothing with --werror");
    add_threads(command, arguments->threads,
                "how many logs to check at once (default: as many as there are CPUs)");
    command.json(arguments->json);
    command.run([arguments](const core::CommandContext& context) { return run_check(context, *arguments); });
}

}  // namespace belay::cli
