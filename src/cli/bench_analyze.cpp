// belay bench analyze: what a set of runs says together, as a table, a page, CSV files and JSON.
#include "bench/analysis/analysis.h"
#include "bench/summary/reference_points.h"
#include "cli/bench_logs.h"
#include "cli/commands.h"
#include "cli/ruleset_option.h"
#include "cli/text_table.h"
#include "cli/threads_option.h"
#include "core/file.h"
#include "core/json.h"
#include "core/output.h"
#include "core/text.h"
#include "core/units.h"
#include "core/utf8.h"
#include "report/analysis/page.h"

#include <cmath>
#include <filesystem>
#include <memory>
#include <thread>

namespace belay::cli {

namespace {

using core::Result;

struct AnalyzeCommandOptions {
    std::vector<std::string> paths, predictions, adjustments, without_staging;
    std::string page, csv, roofline, ruleset = newest_ruleset();
    core::ByteSize data, memory, flash;
    size_t threads = 0;
    bool json = false;
};

// Rounds of the rules; v0.7 needed as many runs as the first.
std::optional<size_t> runs_wanted(std::string_view benchmark) {
    for (int round = 3; round >= 1; --round)
        if (const auto runs = bench::required_runs(round, benchmark)) return runs;
    return std::nullopt;
}

Result<std::pair<std::string, double>> parse_adjustment(std::string_view text) {
    const size_t equals = text.rfind('=');
    const auto factor =
        equals == text.npos ? std::nullopt : core::parse_number<double>(text.substr(equals + 1));
    if (!factor || !std::isfinite(*factor) || !(*factor > 0))
        return core::bad_input("--adjust {}: it must be SYSTEM=FACTOR, with a factor above 0", text)
            .hint("for example --adjust fugaku_512=1.0817");
    return std::pair(std::string(text.substr(0, equals)), *factor);
}

std::optional<double> size_of(const core::ByteSize& size) {
    return size.bytes > 0 ? std::optional(static_cast<double>(size.bytes)) : std::nullopt;
}

Result<bench::AnalysisOptions> analysis_options(const AnalyzeCommandOptions& options) {
    bench::AnalysisOptions result;
    result.group.runs_wanted = runs_wanted;
    for (const std::string& text : options.predictions) {
        BELAY_TRY(request, bench::parse_prediction(text));
        result.predictions.push_back(request);
    }
    for (const std::string& text : options.adjustments) {
        BELAY_TRY(adjustment, parse_adjustment(text));
        result.group.adjustments.push_back(adjustment);
    }
    result.data_bytes = size_of(options.data);
    result.capacity = {.memory = size_of(options.memory), .flash = size_of(options.flash)};
    if (!options.roofline.empty()) {
        BELAY_TRY(text, core::read_file(options.roofline));
        BELAY_TRY(json, core::parse_json_file(text, options.roofline));
        result.rooflines = bench::read_rooflines(json);
        if (result.rooflines.empty())
            return core::bad_input("{} holds no roofline", options.roofline)
                .hint("give what belay bench roofline --json printed");
    }
    return result;
}

std::string number_text(std::optional<double> value, double scale, int digits) {
    return value ? fmt::format("{:.{}f}", *value * scale, digits) : "-";
}

std::string analysis_text(const bench::Analysis& analysis) {
    std::vector<std::vector<std::string>> rows;
    for (const bench::SystemResult& system : analysis.systems)
        rows.push_back(
            {system.benchmark, system.name, system.division, number_text(system.units, 1, 0),
             number_text(system.batch, 1, 0), fmt::format("{}/{}", system.counted.size(), system.runs.size()),
             number_text(system.seconds.mean, 1.0 / 60, 3), number_text(system.staging.mean, 1.0 / 60, 3),
             number_text(system.epochs.mean, 1, 3), number_text(system.epoch_seconds.mean, 1.0 / 60, 4),
             number_text(system.unit_hours.mean, 1, 2), number_text(system.evaluation_share, 1, 4),
             system.variability ? number_text(system.variability->first_share, 1, 4) : "-"});
    std::string text = render_table({"benchmark", "system", "division", "units", "batch", "runs", "min",
                                     "staging", "epochs", "min/epoch", "unit·h", "eval share", "var1"},
                                    std::move(rows));
    for (const bench::FamilyModel& model : analysis.models)
        text += fmt::format("model: {} {}: epochs = {}; step = {} s; error on held-out scales: {}\n",
                            core::printable(model.benchmark), core::printable(model.family),
                            model.epochs.formula(), model.steps.formula(),
                            model.mean_error ? fmt::format("{:.1f} % mean, {:.1f} % at most",
                                                           100 * *model.mean_error, 100 * *model.worst_error)
                                             : std::string("not known"));
    for (const bench::Prediction& one : analysis.predictions) {
        text += fmt::format(
            "predicted: {} {}, {:g} units, batch {:g}: {:.2f} min, {:.1f} epochs, {:.1f} unit·h{}\n",
            core::printable(one.benchmark), core::printable(one.family), one.units, one.batch,
            one.seconds / 60, one.epochs, one.unit_hours,
            one.worst_error ? fmt::format(" (held-out scales: within {:.1f} %)", 100 * *one.worst_error)
                            : std::string());
        for (const std::string& note : one.notes) text += fmt::format("  {}\n", core::printable(note));
    }
    for (const bench::Placement& placement : analysis.placements) {
        if (!placement.missing.empty()) continue;
        text += fmt::format("data: {} {}: {}", core::printable(placement.benchmark),
                            core::printable(placement.family),
                            core::format_decimal({static_cast<uint64_t>(placement.data_bytes)}));
        if (placement.nodes_for_flash)
            text += fmt::format(", local flash from {:g} nodes on", *placement.nodes_for_flash);
        if (placement.nodes_for_memory)
            text += fmt::format(", memory from {:g} nodes on", *placement.nodes_for_memory);
        text += '\n';
        for (const bench::PlacementRow& row : placement.rows)
            if (!row.measured && row.staging)
                text += fmt::format("  {} at {:g} nodes: staging about {:.1f} s, {:.1f} % of the run\n",
                                    row.label, row.nodes, *row.staging, 100 * row.staging_share.value_or(0));
    }
    for (const bench::SystemResult& system : analysis.systems)
        for (const std::string& note : system.notes)
            text += fmt::format("note: {}: {}\n", core::printable(system.label()), core::printable(note));
    for (const std::string& note : analysis.notes) text += fmt::format("note: {}\n", core::printable(note));
    return text;
}

Result<> write_csv(const std::filesystem::path& directory, const bench::Analysis& analysis) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return core::errno_error(error, fmt::format("cannot make {}", directory.string()));
    for (const auto& [name, bytes] : bench::all_csv(analysis))
        BELAY_CHECK(core::write_output(directory / name, bytes));
    return {};
}

Result<int> run_analyze(const core::CommandContext& context, const AnalyzeCommandOptions& options) {
    BELAY_TRY(wanted, analysis_options(options));
    if (!options.page.empty()) BELAY_CHECK(core::check_output(options.page));
    BELAY_TRY(logs, find_logs({.paths = options.paths,
                               .ruleset = options.ruleset,
                               .staging_excluded = options.without_staging,
                               .threads = options.threads > 0
                                              ? options.threads
                                              : std::max(1u, std::thread::hardware_concurrency())}));
    if (logs.runs.empty())
        return core::negative(
                   "none of the logs can be used: {}",
                   logs.left_out.empty() ? "there are none" : core::printable(logs.left_out.front()))
            .hint("belay bench check LOG says what is wrong with one");
    bench::Analysis analysis = bench::analyze_runs(logs.runs, wanted);
    for (std::string& problem : logs.left_out) analysis.notes.push_back("left out: " + problem);
    if (!options.csv.empty()) BELAY_CHECK(write_csv(options.csv, analysis));
    if (!options.page.empty())
        BELAY_CHECK(
            core::write_output(options.page, report::render_analysis(analysis, analysis_text(analysis))));
    if (options.json)
        context.print_json(bench::to_json(analysis));
    else if (options.page.empty() && options.csv.empty())
        context.print("{}", analysis_text(analysis));
    else
        for (const std::string& place : {options.page, options.csv})
            if (!place.empty()) context.print("{}\n", place);
    return 0;
}

}  // namespace

void add_bench_analyze(core::Application& application) {
    auto command = application.add({
        .name = "bench analyze",
        .summary = "compare runs of the MLPerf HPC benchmarks: where time goes, what scales, what to expect",
        .description =
            "Reads logs (MLLOG), one by one or from directories, and groups them by system, scale and batch "
            "size. Shows "
            "the time of staging, training and evaluation, budgets, throughputs, what makes runs differ, and "
            "how "
            "epochs and throughput change with batch size and scale. In a submission package, what logs do "
            "not say "
            "comes from systems/SYSTEM.json.\n\n"
            "--predict says how long a training would take at another scale. The model is fitted to the "
            "scales there "
            "are; its error is that of scales which were held out. With --node-memory and --node-flash it is "
            "said from how many nodes on the data fit, and what staging costs there.",
        .examples = {{"belay bench analyze runs/", "a table"},
                     {"belay bench analyze hpc_results_v3.0 -o analysis.html", "the figures as a page"},
                     {"belay bench analyze runs/ --predict units=1024,batch=2048",
                      "time to train at a scale that was not measured"},
                     {"belay bench analyze runs/ --csv figures --node-flash 1.6TB --data-bytes 1.7TB",
                      "the figures for a spreadsheet"}},
    });
    auto options = std::make_shared<AnalyzeCommandOptions>();
    command.options().add_option("PATH", options->paths, "logs, or directories with logs")->required();
    command.options().add_option("-o,--output", options->page, "write the page to FILE")->type_name("FILE");
    command.options()
        .add_option("--csv", options->csv, "write a CSV file for each figure into DIR")
        ->type_name("DIR");
    command.options()
        .add_option("--predict", options->predictions,
                    "time to train at units=N,batch=B; several times for several scales")
        ->type_name("SCALE");
    command.size("--data-bytes", options->data, "size of the data set, where it is not a published one");
    command.size("--node-memory", options->memory, "memory of a node that data may take");
    command.size("--node-flash", options->flash, "local flash of a node that data may take");
    command.options()
        .add_option("--roofline", options->roofline,
                    "what belay bench roofline --json printed, for the figure of bounds")
        ->type_name("FILE");
    command.options()
        .add_option("--without-staging", options->without_staging,
                    "a system whose logged staging moves no data")
        ->type_name("SYSTEM");
    command.options()
        .add_option("--adjust", options->adjustments,
                    "multiply the epochs of a system, and all its times but staging, as for SYSTEM=1.08")
        ->type_name("SYSTEM=FACTOR");
    add_ruleset(command, options->ruleset, "the rules by which logs are read");
    add_threads(command, options->threads,
                "how many logs to read at once (default: as many as there are CPUs)");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run_analyze(context, *options); });
}

}  // namespace belay::cli
