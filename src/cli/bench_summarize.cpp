// belay bench summarize: the scores of submissions to MLPerf HPC, and what is wrong with them.
#include "bench/compliance/check.h"
#include "bench/compliance/rules.h"
#include "bench/summary/reference_points.h"
#include "bench/summary/summarize.h"
#include "bench/summary/table.h"
#include "cli/commands.h"
#include "cli/ruleset_option.h"
#include "cli/text_table.h"
#include "cli/threads_option.h"
#include "core/utf8.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <thread>

namespace belay::cli {

namespace {

using core::Result;

struct SummarizeCommandOptions {
    std::string directory;
    std::string ruleset = newest_ruleset();
    std::string format = "text";
    std::string compat = "none";
    std::optional<double> extrapolate;
    size_t threads = 0;
    bool write_scaling = false;
    bool json = false;
};

std::string summary_text(std::span<const bench::SummaryRow> rows) {
    std::vector<std::string> header;
    for (const bench::SummaryColumn& column : bench::summary_columns())
        if (column.in_markdown) header.emplace_back(column.heading);
    std::vector<std::vector<std::string>> cells;
    for (const bench::SummaryRow& row : rows) {
        if (row.benchmark.empty()) continue;  // it only has errors
        cells.emplace_back();
        for (const bench::SummaryColumn& column : bench::summary_columns())
            if (column.in_markdown) cells.back().push_back(bench::cell_text(column.value(row)));
    }
    std::string text = render_table(std::move(header), std::move(cells));
    auto list = [&](std::string_view kind, std::vector<std::string> bench::SummaryRow::* messages) {
        for (const bench::SummaryRow& row : rows)
            for (const std::string& message : row.*messages)
                text += fmt::format("{}: {}: {}\n", kind, core::printable(bench::row_title(row)),
                                    core::printable(message));
    };
    for (const bench::SummaryRow& row : rows)
        if (row.extrapolation)
            text +=
                fmt::format("not official: {}: {:.1f} models a day on {:g} accelerators, {:g} side by side\n",
                            core::printable(bench::row_title(row)), row.extrapolation->models_per_day,
                            row.extrapolation->accelerators, row.extrapolation->models);
    list("error", &bench::SummaryRow::errors);
    list("warning", &bench::SummaryRow::warnings);
    return text;
}

Result<int> run_summarize(const core::CommandContext& context, const SummarizeCommandOptions& options) {
    if (options.json && options.format != "text" && options.format != "json")
        return core::bad_input("--json: --format already says {}", options.format)
            .hint("leave one of them out");
    if (options.extrapolate && !(*options.extrapolate >= 1 && std::isfinite(*options.extrapolate)))
        return core::bad_input("--extrapolate {:g}: is not a number of accelerators", *options.extrapolate)
            .hint("write 1 or more");
    const auto round = bench::round_of_rules(options.ruleset);
    if (!round)
        return core::bad_input("--ruleset {}: there are no reference points of these rules", options.ruleset);
    BELAY_TRY(rules, bench::RuleSet::named(options.ruleset));
    const bench::LogCheck check = [&](std::string_view file, std::string_view bytes) {
        return bench::check_log(rules, file, bytes, {.quiet = true});
    };
    const size_t threads =
        options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
    auto rows = bench::summarize(options.directory, check,
                                 {.judge = {.round = *round,
                                            .official = options.compat == "official",
                                            .extrapolate_to = options.extrapolate},
                                  .threads = threads,
                                  .write_scaling = options.write_scaling});
    if (!rows) return std::unexpected(std::move(rows.error()));
    if (options.json || options.format == "json")
        context.print_json(bench::to_json(*rows));
    else if (options.format == "csv")
        context.print("{}", bench::to_csv(*rows));
    else if (options.format == "markdown")
        context.print("{}", bench::to_markdown(*rows));
    else
        context.print("{}", summary_text(*rows));
    return bench::has_errors(*rows) ? 1 : 0;
}

}  // namespace

void add_bench_summarize(core::Application& application) {
    auto command = application.add({
        .name = "bench summarize",
        .summary = "score submissions to MLPerf HPC and check their packages",
        .description =
            "DIR is a submission package (systems/ and results/SYSTEM/{strong,weak}/BENCHMARK/result_*.txt), "
            "a folder "
            "of packages, or one folder of logs. Each log is checked by the rules; the score of the logs "
            "that comply "
            "is the time to train (the mean without the fastest and the slowest run) or the throughput (from "
            "the "
            "first start to the last stop). In the closed division seeds must differ, and the epochs must be "
            "about as "
            "many as the reference needs: with slightly fewer the score is made longer, and far fewer are an "
            "error.\n\n"
            "With --compat official, errors are those of the official package checker and summarizer "
            "(mlcommons/logging "
            "4.1.59); what only Belay checks becomes a warning. The exit status is 1 if there is an error, "
            "which the "
            "official tools do not do. Nothing in DIR is changed without --write-scaling.",
        .examples = {{"belay bench summarize NVIDIA --ruleset 3.0.0", "the scores of one submitter"},
                     {"belay bench summarize hpc_results_v3.0 --format csv > scores.csv",
                      "of all, for a spreadsheet"},
                     {"belay bench summarize runs/oc20 --json", "of the logs in one folder"}},
        .exit_statuses = {{1, "a submission has an error"}},
    });
    auto options = std::make_shared<SummarizeCommandOptions>();
    command.options()
        .add_option("DIR", options->directory, "a package, a folder of packages, or one of logs")
        ->required();
    add_ruleset(command, options->ruleset);
    command.choice("--format", options->format, {"text", "json", "csv", "markdown"},
                   "how to print the table");
    command.choice("--compat", options->compat, {"none", "official"},
                   "whose errors count: Belay's too, or none but the official tools'");
    command.options()
        .add_option("--extrapolate", options->extrapolate,
                    "also say how many models a day so many accelerators would train; not an official score")
        ->type_name("ACCELERATORS");
    command.options().add_flag(
        "--write-scaling", options->write_scaling,
        "leave scaling.json in each folder of closed results, as the official RCP checker does");
    add_threads(command, options->threads,
                "how many logs to check at once (default: as many as there are CPUs)");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run_summarize(context, *options); });
}

}  // namespace belay::cli
