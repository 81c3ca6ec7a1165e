#include "core/json.h"
#include "core/process.h"
#include "stage/bench/bench.h"
#include "stage/bench/bench_plan.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace belay::stage {

namespace {

constexpr std::string_view kBenchSchema = "belay.stage.bench/1";

using core::Result;
using nlohmann::ordered_json;

ordered_json number_json(double value) {
    return std::isfinite(value) ? ordered_json(value) : ordered_json(nullptr);
}

std::string_view direct_name(DirectMode mode) {
    static constexpr std::array<std::string_view, 3> kNames = {"auto", "never", "always"};
    return kNames[static_cast<size_t>(mode)];
}

ordered_json given_json(const std::optional<GivenTraining>& given) {
    if (!given) return nullptr;
    return {{"data", given->data.string()},
            {"compute_seconds", given->compute_seconds},
            {"batch", given->batch},
            {"workers", given->workers},
            {"prefetch", given->prefetch}};
}

ordered_json options_json(const BenchOptions& options) {
    return {{"tests", options.tests},
            {"size_bytes", options.bytes},
            {"block_bytes", options.block_bytes},
            {"random_block_bytes", options.random_bytes},
            {"operations", options.operations},
            {"files", options.files},
            {"file_bytes", options.file_bytes},
            {"threads", options.threads},
            {"direct", direct_name(options.direct)},
            {"models", options.models},
            {"accelerator", options.a100 ? "A100" : "H100"},
            {"accelerators", options.accelerators},
            {"steps", options.steps ? ordered_json(*options.steps) : ordered_json(nullptr)},
            {"epochs", options.epochs},
            {"nodes", options.nodes},
            {"given", given_json(options.given)},
            {"seed", options.seed}};
}

ordered_json latency_json(const LatencySummary& latency) {
    return {{"mean", number_json(latency.mean)}, {"p50", number_json(latency.p50)},
            {"p90", number_json(latency.p90)},   {"p99", number_json(latency.p99)},
            {"p999", number_json(latency.p999)}, {"longest", number_json(latency.longest)}};
}

// What must be equal for two numbers to be of one thing; which tests were run and the seed may differ.
constexpr std::array<std::string_view, 14> kMustAgree = {
    "size_bytes", "block_bytes", "random_block_bytes", "operations", "files",  "file_bytes", "threads",
    "direct",     "accelerator", "accelerators",       "steps",      "epochs", "nodes",      "given"};

std::string elbencho_size(uint64_t bytes) {
    return bytes % 1024 == 0 ? fmt::format("{}k", bytes / 1024) : std::to_string(bytes);
}

void add_elbencho(std::vector<std::string>& lines, const BenchOptions& options, const std::string& directory,
                  std::string_view test) {
    const std::string threads = std::to_string(options.threads);
    const std::string direct = options.direct == DirectMode::kNever ? "" : " --direct";
    auto quoted = [&](std::string_view name) {
        return core::quote_command(std::vector<std::string>{fmt::format("{}/{}", directory, name)});
    };
    const std::string large = fmt::format("--threads {} --size {}", threads, elbencho_size(options.bytes));
    if (test == "sequential")
        lines.push_back(fmt::format("elbencho --write --read {} --block {}{} {}", large,
                                    elbencho_size(options.block_bytes), direct, quoted("elbencho-large")));
    if (test == "random")
        lines.push_back(fmt::format("elbencho --read --rand --randamount {} {} --block {}{} {}",
                                    elbencho_size(options.operations * options.random_bytes), large,
                                    elbencho_size(options.random_bytes), direct, quoted("elbencho-large")));
    if (test == "files")
        lines.push_back(fmt::format(
            "elbencho --mkdirs --write --stat --read --delfiles --deldirs --threads {} --dirs 1 "
            "--files {} --size {} --block {}{} {}",
            threads, std::max<uint64_t>(options.files / options.threads, 1),
            elbencho_size(options.file_bytes), elbencho_size(options.file_bytes), direct, quoted("")));
}

// As many as are made here: else DLIO makes those of its own configuration, up to terabytes.
size_t files_of_model(const std::string& name, const BenchOptions& options) {
    const auto model = std::ranges::find(emulated_models(), name, &EmulatedModel::name);
    if (model == emulated_models().end()) return 1;
    const uint64_t samples = options.steps.value_or(model->usual_steps) * model->batch * options.accelerators;
    return std::max<size_t>(plan_emulated_files(*model, samples, options.bytes, options.seed).size(), 1);
}

}  // namespace

ordered_json to_json(const BenchReport& report) {
    ordered_json results = ordered_json::array();
    for (const BenchResult& result : report.results)
        results.push_back({{"name", result.name},
                           {"unit", result.unit},
                           {"value", number_json(result.value)},
                           {"operations", result.operations},
                           {"bytes", result.bytes},
                           {"seconds", result.seconds},
                           {"first_done_seconds", result.first_done_seconds},
                           {"latency_seconds", latency_json(result.latency)},
                           {"cache", result.cache}});
    ordered_json training = ordered_json::array();
    for (const EmulationResult& result : report.emulations)
        training.push_back({{"model", result.model},
                            {"accelerator", result.accelerator.empty() ? ordered_json(nullptr)
                                                                       : ordered_json(result.accelerator)},
                            {"accelerators", result.accelerators},
                            {"utilisation", result.utilisation ? ordered_json(result.utilisation->share)
                                                               : ordered_json(nullptr)},
                            {"steps_counted", result.utilisation ? result.utilisation->steps : 0},
                            {"pass_utilisation",
                             result.pass_share ? ordered_json(*result.pass_share) : ordered_json(nullptr)},
                            {"pass", result.utilisation && result.pass_share ? ordered_json(result.passes())
                                                                             : ordered_json(nullptr)},
                            {"samples", result.samples},
                            {"distinct_samples", result.distinct_samples},
                            {"seconds", result.seconds},
                            {"samples_per_second", result.samples_per_second},
                            {"bytes_per_second", result.bytes_per_second},
                            {"cache", result.cache}});
    return {{"schema", kBenchSchema},
            {"directory", report.directory},
            {"file_system", report.file_system},
            {"options", options_json(report.options)},
            {"results", results},
            {"training", training},
            {"notes", report.notes}};
}

std::vector<std::string> equal_commands(const BenchReport& report, bool has_elbencho, bool has_dlio) {
    std::vector<std::string> lines;
    for (const std::string& test : report.options.tests) {
        if (has_elbencho) add_elbencho(lines, report.options, report.directory, test);
        if (!has_dlio || test != "training") continue;
        for (const std::string& model : report.options.models)
            lines.push_back(
                fmt::format("mpirun -np {} dlio_benchmark workload={}_{} "
                            "++workload.workflow.generate_data=True ++workload.dataset.num_files_train={} "
                            "++workload.train.epochs={} {}",
                            report.options.accelerators, model, report.options.a100 ? "a100" : "h100",
                            files_of_model(model, report.options), report.options.epochs,
                            core::quote_command(std::vector<std::string>{fmt::format(
                                "++workload.dataset.data_folder={}/dlio-{}", report.directory, model)})));
    }
    return lines;
}

Result<ordered_json> parse_baseline(std::string_view text, const std::string& file) {
    BELAY_TRY(baseline, core::parse_json_file(text, file));
    if (!baseline.is_object() || baseline.value("schema", ordered_json()) != kBenchSchema)
        return core::bad_input("{}: is not a report of belay stage bench", file)
            .hint("make one with: belay stage bench DIR --json > FILE");
    return baseline;
}

Result<BenchComparison> compare_with_baseline(const BenchReport& report, std::string_view baseline,
                                              const std::string& file) {
    BELAY_TRY(before, parse_baseline(baseline, file));
    const ordered_json after = to_json(report);
    BenchComparison comparison;
    auto member = [](const ordered_json& object, std::string_view key) {
        return object.is_object() ? object.value(std::string(key), ordered_json()) : ordered_json();
    };
    auto differ = [&](std::string_view what, const ordered_json& old_value, const ordered_json& new_value) {
        if (old_value != new_value)
            comparison.differences.push_back(
                fmt::format("{}: {} then, {} now", what, old_value.dump(), new_value.dump()));
    };
    differ("file_system", member(before, "file_system"), after["file_system"]);
    // Where the data lie is what one compares.
    auto comparable = [&](const ordered_json& report_json, std::string_view key) {
        ordered_json value = member(member(report_json, "options"), key);
        if (value.is_object()) value.erase("data");
        return value;
    };
    for (const std::string_view key : kMustAgree)
        differ(key, comparable(before, key), comparable(after, key));
    struct Table {
        std::string_view list, key, value, suffix;
    };
    for (const Table& table : {Table{"results", "name", "value", ""},
                               {"training", "model", "samples_per_second", " samples"},
                               {"training", "model", "utilisation", " utilisation"}})
        for (const ordered_json& now : after[std::string(table.list)])
            for (const ordered_json& then : member(before, table.list)) {
                if (member(then, table.key) != now[std::string(table.key)]) continue;
                const ordered_json old_value = member(then, table.value);
                const ordered_json new_value = now[std::string(table.value)];
                if (old_value.is_number() && new_value.is_number())
                    comparison.changes.push_back(
                        {now[std::string(table.key)].get<std::string>() + std::string(table.suffix),
                         old_value.get<double>(), new_value.get<double>()});
            }
    if (comparison.changes.empty())
        return core::bad_input("{}: holds nothing that was measured now", file)
            .hint("compare runs of the same tests");
    return comparison;
}

}  // namespace belay::stage
