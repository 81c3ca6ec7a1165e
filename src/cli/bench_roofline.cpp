// belay bench roofline: what bounds a training run on this machine, and how near it came.
#include "bench/compliance/check.h"
#include "bench/compliance/facts.h"
#include "bench/roofline/cold_read.h"
#include "bench/roofline/figure.h"
#include "bench/roofline/report.h"
#include "cli/bench_roofline_measure.h"
#include "cli/bench_roofline_record.h"
#include "cli/commands.h"
#include "cli/diagnosis.h"
#include "cli/record_argument.h"
#include "cli/text_table.h"
#include "core/file.h"
#include "core/output.h"
#include "core/units.h"
#include "core/utf8.h"

#include <cmath>
#include <limits>
#include <memory>

#include <nlohmann/json.hpp>

namespace belay::cli {

namespace {

using bench::roofline::Given;
using bench::roofline::MeasuredMachine;
using bench::roofline::Moved;
using bench::roofline::Number;
using bench::roofline::Resource;
using bench::roofline::RunFacts;
using bench::roofline::RunReport;
using core::Result;

struct RooflineOptions {
    std::vector<std::string> runs;
    std::string data, machine, keep, figure, csv;
    bool measure = false, json = false;
    std::array<std::optional<double>, bench::roofline::kResources.size()> rates;
    Given given;
};

// One LOG or RECORD.
struct Run {
    RunFacts facts;
    std::optional<Moved> moved;
};

Result<Run> read_run(const core::CommandContext& context, const std::string& name) {
    BELAY_TRY(type, core::type_of_file(name));
    if (type == std::filesystem::file_type::regular) {
        BELAY_TRY(log, core::read_file(name, bench::kMostLogBytes));
        BELAY_TRY(facts, bench::facts_of_log(log, name));
        return Run{.facts = bench::roofline::run_facts_of(facts, name)};
    }
    BELAY_TRY(record, find_record(context, name));
    BELAY_TRY(archive, open_for_queries(context, record));
    BELAY_TRY(facts, facts_of_record(archive, record.string()));
    const double nodes = facts.nodes.value_or(1);
    BELAY_TRY(moved, moved_in_record(archive, facts.ranks && nodes > 0 ? *facts.ranks / nodes : 1));
    return Run{.facts = std::move(facts), .moved = std::move(moved)};
}

// What every run is measured for: they must agree, since one measurement serves all.
int whole(const std::optional<double>& value) {
    constexpr double kMost = 1 << 20;
    return value && *value >= 1 ? static_cast<int>(std::min(*value, kMost)) : 1;
}

Result<RooflineMeasuring> measuring_for(const std::vector<Run>& runs, const RooflineOptions& options) {
    RooflineMeasuring wanted{.data = options.data};
    if (options.given.ranks) wanted.ranks = whole(options.given.ranks);
    if (runs.empty()) return wanted;
    const RunFacts& first = runs.front().facts;
    wanted.ranks = whole(options.given.ranks ? options.given.ranks : first.ranks);
    wanted.nodes = std::min(whole(first.nodes), wanted.ranks);
    const auto bytes =
        options.given.parameter_bytes ? options.given.parameter_bytes : first.parameter_bytes.value;
    constexpr double kMost = 16.0 * (uint64_t{1} << 30);
    if (bytes && *bytes >= 4) wanted.all_reduce_bytes = static_cast<uint64_t>(std::min(*bytes, kMost));
    for (const Run& run : runs)
        if (!options.given.ranks && whole(run.facts.ranks) != wanted.ranks)
            return core::bad_input("{} had {} ranks and {} had {}: one measurement cannot serve both",
                                   core::printable(first.source), wanted.ranks,
                                   core::printable(run.facts.source), whole(run.facts.ranks))
                .hint("measure for each of them by itself, or with --ranks");
    return wanted;
}

Result<std::optional<MeasuredMachine>> known_machine(const RooflineOptions& options) {
    if (options.machine.empty()) return std::optional<MeasuredMachine>();
    auto text = core::read_file(options.machine, size_t{1} << 20);
    if (!text)
        return std::unexpected(std::move(text.error()).as(core::ErrorKind::kBadInput).context("--machine"));
    BELAY_TRY(measured, bench::roofline::parse_machine(*text, options.machine));
    return std::optional(std::move(measured));
}

std::string amount_or_dash(const std::optional<double>& value, std::string_view unit) {
    return value ? bench::roofline::amount_text(*value, unit) : "-";
}

std::string with_sense(const Number& number, std::string text) {
    if (!number.value || number.sense == bench::roofline::Sense::kValue) return text;
    return (number.sense == bench::roofline::Sense::kAtLeast ? "≥ " : "≤ ") + text;
}

std::string samples_text(double samples_per_second) {
    return fmt::format("{:.4g} /s", samples_per_second);
}

std::vector<std::string> row_of(const bench::roofline::Analysis& analysis,
                                const bench::roofline::Ceiling& ceiling) {
    const bool is_compute = ceiling.resource == Resource::kCompute;
    const std::string_view unit = is_compute ? "FLOP" : "B";
    const auto share = analysis.share(ceiling.resource);
    std::string bound = "unknown";
    if (ceiling.state == bench::roofline::CeilingState::kKnown)
        bound = samples_text(ceiling.samples_per_second);
    if (ceiling.state == bench::roofline::CeilingState::kNone) bound = "none";
    return {fmt::format("{}{}", analysis.binds == ceiling.resource ? "> " : "  ", to_text(ceiling.resource)),
            with_sense(ceiling.rate, amount_or_dash(ceiling.rate.value, fmt::format("{}/s", unit))),
            with_sense(ceiling.demand, amount_or_dash(ceiling.demand.value, unit)),
            std::isfinite(ceiling.intensity) ? fmt::format("{:.3g}", ceiling.intensity) : "-",
            bound,
            share ? fmt::format("{:.0f} %", 100 * *share) : "-",
            ceiling.rate.value ? ceiling.rate.source : "-"};
}

void print_run(const core::CommandContext& context, const RunReport& report) {
    const auto& analysis = report.analysis;
    const RunFacts& facts = report.facts;
    context.print("{}{}", core::printable(facts.source),
                  facts.benchmark.empty() ? "" : ", " + core::printable(facts.benchmark));
    if (facts.samples_per_second) {
        context.print(": {} samples", samples_text(*facts.samples_per_second));
        if (analysis.attained && *facts.ranks > 1)
            context.print(" on {:g} ranks, {} on each", *facts.ranks, samples_text(*analysis.attained));
    }
    context.print("\n");
    std::vector<std::vector<std::string>> rows;
    for (const auto& ceiling : analysis.ceilings) rows.push_back(row_of(analysis, ceiling));
    context.print(
        "{}", render_table(
                  {"  of one rank", "rate", "a sample", "FLOP/B", "samples at most", "reached", "by"}, rows));
    if (const auto bound = analysis.bound())
        context.print(
            "bound by {}{}: {} samples on a rank at most{}\n", to_text(*analysis.binds),
            analysis.certain ? "" : " (by what is known)", samples_text(*bound),
            analysis.share() ? fmt::format(", of which {:.0f} % are reached", 100 * *analysis.share()) : "");
    else
        context.print("no bound is known\n");
    for (const std::string& note : analysis.notes) context.print("note: {}\n", core::printable(note));
}

void print_machine(const core::CommandContext& context, const MeasuredMachine& measured) {
    std::vector<std::vector<std::string>> rows;
    for (const Resource resource : bench::roofline::kResources) {
        const Number& rate = measured.machine.rate(resource);
        rows.push_back(
            {std::string(to_text(resource)),
             with_sense(rate, amount_or_dash(rate.value, resource == Resource::kCompute ? "FLOP/s" : "B/s")),
             rate.source.empty() ? "-" : rate.source});
    }
    context.print("{}", render_table({"of one rank", "rate", "by"}, rows));
}

Result<std::vector<RunReport>> reports_on(std::vector<Run> runs, const RooflineOptions& options,
                                          const std::optional<MeasuredMachine>& measured) {
    std::vector<RunReport> reports;
    std::optional<bench::roofline::DataFiles> data;
    if (!options.data.empty()) {
        BELAY_TRY(listed, bench::roofline::list_data(options.data));
        data = std::move(listed);
    }
    for (Run& run : runs) {
        if (data && data->is_all && !run.facts.io_bytes.value)
            run.facts.io_bytes = stored_bytes_of_sample(static_cast<double>(data->bytes), run.facts);
        BELAY_TRY(report, report_on(std::move(run.facts), measured, options.given, run.moved));
        reports.push_back(std::move(report));
    }
    return reports;
}

Result<> write_figures(const std::vector<RunReport>& reports, const RooflineOptions& options) {
    std::vector<bench::roofline::Analysis> analyses;
    for (const RunReport& report : reports) analyses.push_back(report.analysis);
    const auto runs = bench::roofline::figure_of(analyses);
    if (!options.figure.empty())
        BELAY_CHECK(core::write_output(options.figure, bench::roofline::figure_svg(runs)));
    if (!options.csv.empty()) BELAY_CHECK(core::write_output(options.csv, bench::roofline::figure_csv(runs)));
    return {};
}

Result<> check_options(RooflineOptions& options) {
    if (options.measure && !options.machine.empty())
        return core::bad_input("--measure and --machine are both given").hint("leave one of them out");
    if (!options.keep.empty() && !options.measure)
        return core::bad_input("--keep keeps what --measure measures, which is not given")
            .hint("add --measure");
    if (options.runs.empty() && !options.measure)
        return core::bad_input("there is nothing to look at")
            .hint("name logs or records of training runs, or measure this machine with --measure");
    for (const std::string& file : {options.keep, options.figure, options.csv})
        if (!file.empty()) BELAY_CHECK(core::check_output(file));
    for (const Resource resource : bench::roofline::kResources)
        if (const auto rate = options.rates[bench::roofline::index_of(resource)])
            options.given.rates.rate(resource) = {.value = rate, .source = "given"};
    return {};
}

Result<int> run_roofline(const core::CommandContext& context, RooflineOptions& options) {
    BELAY_CHECK(check_options(options));
    std::vector<Run> runs;
    for (const std::string& name : options.runs) {
        BELAY_TRY(run, read_run(context, name));
        runs.push_back(std::move(run));
    }
    BELAY_TRY(measured, known_machine(options));
    if (options.measure) {
        BELAY_TRY(wanted, measuring_for(runs, options));
        BELAY_TRY(machine, measure_for_roofline(wanted));
        if (!machine) return 0;
        measured = std::move(machine);
        if (!options.keep.empty())
            BELAY_CHECK(core::write_output(options.keep, to_json(*measured).dump() + "\n"));
    }
    BELAY_TRY(reports, reports_on(std::move(runs), options, measured));
    BELAY_CHECK(write_figures(reports, options));
    if (options.json) {
        nlohmann::ordered_json all = nlohmann::ordered_json::array();
        for (const RunReport& report : reports) all.push_back(to_json(report));
        context.print_json(nlohmann::ordered_json{
            {"machine", measured ? to_json(*measured) : nlohmann::ordered_json(nullptr)}, {"runs", all}});
        return 0;
    }
    if (reports.empty()) print_machine(context, *measured);
    for (size_t i = 0; i < reports.size(); ++i) {
        if (i > 0) context.print("\n");
        print_run(context, reports[i]);
    }
    return 0;
}

void declare_given(core::CommandDeclaration& command, RooflineOptions& options) {
    struct Row {
        std::string_view name, type, meaning;
        std::optional<double>* value;
    };
    auto rate = [&](Resource resource) { return &options.rates[bench::roofline::index_of(resource)]; };
    Given& given = options.given;
    const Row rows[] = {
        {"--compute", "FLOP/S", "peak of one rank, instead of what is measured", rate(Resource::kCompute)},
        {"--memory", "BYTES/S", "bandwidth of one rank's memory", rate(Resource::kMemory)},
        {"--network", "BYTES/S", "bus bandwidth of an all-reduce over the ranks", rate(Resource::kNetwork)},
        {"--io", "BYTES/S", "what storage gives one rank", rate(Resource::kIo)},
        {"--flops", "FLOP", "of training on one sample, forward and backward", &given.flops},
        {"--memory-bytes", "BYTES", "that training on one sample moves to and from memory",
         &given.memory_bytes},
        {"--parameter-bytes", "BYTES", "of the model, that ranks add up in each step",
         &given.parameter_bytes},
        {"--stored-bytes", "BYTES", "of one sample on storage; 0 where samples stay in memory",
         &given.io_bytes},
        {"--ranks", "N", "processes of the run", &given.ranks},
        {"--batch", "N", "samples of a step, of all ranks", &given.batch},
        {"--throughput", "N", "samples per second of the run, of all ranks", &given.throughput},
    };
    for (const Row& row : rows)
        command.options().add_option(row.name, *row.value, std::string(row.meaning))->type_name(row.type);
}

}  // namespace

void add_bench_roofline(core::Application& application) {
    auto command = application.add({
        .name = "bench roofline",
        .summary = "say what bounds a training run, and how near it came",
        .description =
            "A rank can train no more samples per second than its share of the node computes, than its "
            "memory, the "
            "network between ranks and the storage of the data deliver: the least of F/f, B_m/b_m, B_n/b_n "
            "and "
            "B_io/b_io, of which the first is what the machine gives in a second and the second what a "
            "sample "
            "needs.\n\n"
            "The run says what it did and needs: MLLOG lines of a log, or a job record, which adds what was "
            "read from "
            "storage, what the memory of GPUs did and what vetting measured. --measure measures this "
            "machine: a "
            "matrix product, STREAM, reading DIR from storage and, over the ranks, an all-reduce of the size "
            "of "
            "the model. Where the run had several ranks, as many measure at the same time: on this machine "
            "if it "
            "ran on one node; of several nodes, start the command with srun as the run was started.\n\n"
            "What is not known is said to be unknown, and where it could lie lower than what seems to bind, "
            "that is said.",
        .examples =
            {{"belay bench roofline --measure train.log --data universes", "one run against this machine"},
             {"srun -N2 --ntasks-per-node=2 belay bench roofline --measure --keep nodes.json train.log",
              "of two nodes, network included"},
             {"belay bench roofline --machine nodes.json *.log --figure roofline.svg",
              "several runs, and a figure"}},
    });
    auto options = std::make_shared<RooflineOptions>();
    command.options().add_option("RUN", options->runs, "a log with MLLOG lines, or a job record");
    command.options().add_flag("--measure", options->measure,
                               "measure this machine, or the nodes of this step");
    command.options()
        .add_option("--data", options->data,
                    "the directory of the training data: what a sample has there, and how fast it "
                    "is read")
        ->type_name("DIR");
    command.options()
        .add_option("--machine", options->machine, "what --keep has written, instead of measuring")
        ->type_name("FILE");
    command.options()
        .add_option("--keep", options->keep, "write what --measure measures to FILE")
        ->type_name("FILE");
    declare_given(command, *options);
    command.options()
        .add_option("--figure", options->figure, "write the figure to FILE, as SVG")
        ->type_name("FILE");
    command.options()
        .add_option("--csv", options->csv, "write the figure's data to FILE, as CSV")
        ->type_name("FILE");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) { return run_roofline(context, *options); });
}

}  // namespace belay::cli
