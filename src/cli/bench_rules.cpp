// belay bench rules: what a benchmark of MLPerf HPC asks of a run: target and hyperparameters.
#include "bench/compliance/rules.h"
#include "bench/compliance/verdict_json.h"
#include "cli/commands.h"
#include "cli/ruleset_option.h"
#include "cli/text_table.h"

#include <memory>

namespace belay::cli {

namespace {

using core::Result;

struct RulesArguments {
    std::string benchmark;
    std::string ruleset = newest_ruleset();
    std::string division = "closed";
    bool json = false;
};

std::string rules_text(std::span<const bench::BenchmarkRule> rules) {
    std::string target;
    std::vector<std::vector<std::string>> rows;
    for (const bench::BenchmarkRule& row : rules) {
        if (row.is_replaced) continue;
        if (row.rule->any.kind != bench::TestKind::kNone)
            target = fmt::format("target: {} {}\n\n", row.rule->key, bench::test_words(row.rule->any));
        rows.push_back(
            {std::string(row.rule->key),
             bench::rule_words(*row.rule) + (row.when.empty() ? "" : fmt::format(" (if {})", row.when))});
    }
    return target + render_table({"key", "what is asked"}, std::move(rows));
}

Result<int> run_rules(const core::CommandContext& context, const RulesArguments& arguments) {
    BELAY_TRY(rules, bench::RuleSet::named(arguments.ruleset));
    BELAY_TRY(rows, bench::rules_of(rules, arguments.benchmark, arguments.division));
    if (arguments.json)
        context.print_json(bench::to_json(rows, arguments.benchmark, arguments.division, arguments.ruleset));
    else
        context.print("{}", rules_text(rows));
    return 0;
}

}  // namespace

void add_bench_rules(core::Application& application) {
    auto command = application.add({
        .name = "bench rules",
        .summary = "show the target and the hyperparameters of an MLPerf HPC benchmark",
        .description =
            "Lists the target of BENCHMARK (cosmoflow, deepcam, oc20 or openfold) and what the rules "
            "ask of each key of a log: how often it must be there, and which values it may have. "
            "These are the rows by which \"belay bench check\" judges.",
        .examples = {{"belay bench rules cosmoflow", "the closed division of round 3.0"},
                     {"belay bench rules deepcam --ruleset 1.0.0 --division open", "of an older round"}},
        .bounds_own_waits = true,
    });
    auto arguments = std::make_shared<RulesArguments>();
    command.options()
        .add_option("BENCHMARK", arguments->benchmark, "cosmoflow, deepcam, oc20 or openfold")
        ->required();
    add_ruleset(command, arguments->ruleset);
    command.choice("--division", arguments->division, {"closed", "open"}, "which division's rules");
    command.json(arguments->json);
    command.run([arguments](const core::CommandContext& context) { return run_rules(context, *arguments); });
}

}  // namespace belay::cli
