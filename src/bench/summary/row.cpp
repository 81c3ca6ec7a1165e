#include "bench/summary/row.h"

#include "bench/summary/convergence.h"
#include "bench/summary/reference_points.h"
#include "bench/summary/seeds.h"
#include "core/text.h"

#include <algorithm>
#include <cmath>

namespace belay::bench {

namespace {

constexpr size_t kMostShown = 5;  // messages of one kind in a row

constexpr std::string_view kTimeToTrain = "time_to_train";
constexpr std::string_view kThroughput = "throughput";

struct ModeOfFolder {
    std::string_view folder, mode;
};
constexpr ModeOfFolder kModes[] = {{"strong", kTimeToTrain}, {"weak", kThroughput}};

std::string_view mode_of(std::string_view folder) {
    const auto* found = std::ranges::find(kModes, folder, &ModeOfFolder::folder);
    return found == std::end(kModes) ? std::string_view() : found->mode;
}

// Whether the official tools see the same problem: if they do not, it only warns under --compat official.
enum class Seen { kOfficially, kByBelay };

class Judgement {
  public:
    Judgement(const Package& package, const SystemFolder& system, const BenchmarkFolder& folder,
              std::span<const LogVerdict> verdicts, const JudgeOptions& options)
        : package_(package),
          system_(system),
          folder_(folder),
          verdicts_(verdicts.first(folder.logs.size())),
          pruned_(verdicts.subspan(folder.logs.size())),
          options_(options) {}

    SummaryRow row() {
        name();
        for (const std::string& problem : folder_.problems) error(problem);
        if (row_.mode.empty())
            error(fmt::format("{} is neither \"strong\" nor \"weak\": its logs were not judged",
                              folder_.scaling));
        const std::optional<size_t> required = required_runs(options_.round, row_.benchmark);
        if (!required)
            warn(fmt::format("\"{}\" is not a benchmark of these rules: its logs were not judged",
                             row_.benchmark));
        if (row_.mode.empty() || !required) return std::move(row_);
        required_ = *required;
        row_.required_logs = static_cast<int64_t>(required_);
        check_files();
        check_logs();
        compare_with_system();
        if (is_closed()) check_seeds_of_logs();
        if (is_closed()) check_convergence();  // before the score: it knows the factor
        row_.mode == kThroughput ? score_throughput() : score_time_to_train();
        return std::move(row_);
    }

  private:
    bool is_closed() const { return row_.division == "closed"; }
    bool is_single_folder() const { return folder_.path.empty(); }
    void error(std::string text, Seen seen = Seen::kOfficially) {
        const bool counts = seen == Seen::kOfficially || !options_.official;
        (counts ? row_.errors : row_.warnings).push_back(std::move(text));
    }
    void warn(std::string text) { row_.warnings.push_back(std::move(text)); }

    // The first text that a log states, of those that states one.
    std::string stated(std::string LogFacts::* fact) const {
        for (const LogVerdict& verdict : verdicts_)
            if (!(verdict.facts.*fact).empty()) return verdict.facts.*fact;
        return {};
    }

    void name() {
        const SystemDescription* description = system_.description ? &*system_.description : nullptr;
        row_.path = folder_.path;
        row_.system = folder_.system;
        row_.submitter =
            description && !description->submitter.empty() ? description->submitter : package_.name;
        row_.division = description ? description->division : std::string();
        row_.benchmark = folder_.benchmark;
        row_.mode = mode_of(folder_.scaling);
        row_.logs = static_cast<int64_t>(folder_.logs.size());
        if (description) row_.accelerators = description->accelerators();
        if (row_.benchmark.empty()) row_.benchmark = stated(&LogFacts::benchmark);
        if (!is_single_folder()) return;
        if (row_.submitter.empty()) row_.submitter = stated(&LogFacts::organisation);
        if (row_.system.empty()) row_.system = stated(&LogFacts::platform);
        if (row_.division.empty()) row_.division = stated(&LogFacts::division);
    }

    void check_files() {
        const size_t logs = folder_.logs.size();
        if (row_.mode == kThroughput && logs < required_)
            error(fmt::format("{} logs, and a throughput needs at least {}", logs, required_));
        if (row_.mode == kTimeToTrain && logs != required_)
            error(fmt::format("{} logs result_*.txt, and a time to train needs exactly {}", logs, required_));
        if (!folder_.others.empty())
            warn(fmt::format("{} beside the logs: {}; logs are named result_*.txt",
                             core::format_count(folder_.others.size(), "other file"),
                             some_of(folder_.others)));
        if (!folder_.has_code)
            warn(fmt::format("benchmarks/{} is missing: it holds the code", folder_.benchmark));
    }

    void check_logs() {
        for (size_t at = 0; at < verdicts_.size(); ++at) {
            const LogVerdict& verdict = verdicts_[at];
            if (verdict.passed) continue;
            ++row_.failed_logs;
            if (row_.failed_logs > static_cast<int64_t>(kMostShown)) continue;
            warn(fmt::format("{} does not comply: {}", folder_.logs[at], first_message(verdict)));
        }
        if (row_.failed_logs == 1)
            warn("one log does not comply, which is accepted: it counts as the slowest run");
        if (row_.failed_logs > 1) error(fmt::format("{} logs do not comply", row_.failed_logs));
    }

    static std::string first_message(const LogVerdict& verdict) {
        if (verdict.errors.empty()) return "for an unknown reason";
        const LogMessage& first = verdict.errors.front();
        std::string text = first.line > 0 ? fmt::format("line {}: {}", first.line, first.text) : first.text;
        if (verdict.errors.size() > 1) text += fmt::format(" (and {} more)", verdict.errors.size() - 1);
        return text;
    }

    static std::string some_of(std::span<const std::string> names) {
        const size_t shown = std::min(names.size(), kMostShown);
        std::string text = core::join(names.first(shown), ", ");
        if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
        return text;
    }

    // Instances may be left out of a throughput, but their logs must comply all the same.
    void check_pruned() {
        const auto failed = std::ranges::count(pruned_, false, &LogVerdict::passed);
        if (failed > 0)
            warn(fmt::format("{} of {} in pruned_results do not comply", failed,
                             core::format_count(pruned_.size(), "log")));
    }

    // What the logs say of the submission against what the package says of it (mlcommons/logging issue 241).
    void compare_with_system() {
        const SystemDescription* description = system_.description ? &*system_.description : nullptr;
        if (!is_single_folder() || !folder_.benchmark.empty())
            compare("submission_benchmark", &LogFacts::benchmark, "the folder", row_.benchmark, true);
        if (!description) return;
        compare("submission_division", &LogFacts::division, "the system's description", description->division,
                true);
        compare("submission_org", &LogFacts::organisation, "the system's description", description->submitter,
                false);
        compare("submission_status", &LogFacts::status, "the system's description", description->status,
                false);
        if (row_.mode == kThroughput) return;  // an instance takes a part of the system
        compare_number("number_of_nodes", &LogFacts::nodes, description->nodes);
        compare_number("accelerators_per_node", &LogFacts::accelerators_per_node,
                       description->accelerators_per_node);
    }

    void compare_number(std::string_view key, std::optional<double> LogFacts::* fact,
                        std::optional<double> expected) {
        auto differs = [&](const LogVerdict& verdict) {
            const auto& stated = verdict.facts.*fact;
            return stated && expected && *stated != *expected;
        };
        const auto different = std::ranges::count_if(verdicts_, differs);
        if (different == 0) return;
        warn(fmt::format("{} is {:g} in {}, and the system's description says {:g}", key,
                         *((*std::ranges::find_if(verdicts_, differs)).facts.*fact),
                         core::format_count(static_cast<size_t>(different), "log"), *expected));
    }

    void compare(std::string_view key, std::string LogFacts::* fact, std::string_view source,
                 const std::string& expected, bool decides) {
        size_t different = 0;
        std::string example;
        for (const LogVerdict& verdict : verdicts_) {
            const std::string& stated = verdict.facts.*fact;
            if (stated.empty() || core::lower_case(stated) == core::lower_case(expected)) continue;
            if (different++ == 0) example = stated;
        }
        if (different == 0) return;
        std::string text = fmt::format("{} is \"{}\" in {}, and {} says \"{}\"", key, example,
                                       core::format_count(different, "log"), source, expected);
        if (decides)
            error(std::move(text), Seen::kByBelay);
        else
            warn(std::move(text));
    }

    void check_seeds_of_logs() {
        if (folder_.bypass.seeds) {
            warn("seeds were not checked: package_checker_params says seed-checker-bypass");
            return;
        }
        std::vector<SeedsOfRun> runs;
        for (size_t at = 0; at < verdicts_.size(); ++at)
            runs.push_back({folder_.logs[at], verdicts_[at].facts.seeds});
        const SeedVerdict verdict = check_seeds(runs);
        if (!verdict.errors.empty()) error("seeds: " + some_of(verdict.errors));
        if (!verdict.warnings.empty()) warn("seeds: " + some_of(verdict.warnings));
    }

    // The batch size of all runs; nothing, and an error, where there is not one.
    std::optional<double> common_batch() {
        std::optional<double> batch;
        for (const LogVerdict& verdict : verdicts_) {
            const std::optional<double>& each = verdict.facts.global_batch_size;
            if (!each || !(*each > 0) || !std::isfinite(*each))
                return without_batch("a log states no global_batch_size");
            if (batch && *batch != *each)
                return without_batch(fmt::format("batch sizes differ: {:g} and {:g}", *batch, *each));
            batch = each;
        }
        return batch ? batch : without_batch("there are no logs");
    }
    std::optional<double> without_batch(std::string why) {
        row_.rcp = "fail";
        row_.rcp_message = std::move(why);
        error("RCP: " + row_.rcp_message);
        return std::nullopt;
    }

    // The official tool takes the benchmark from the logs.
    std::string benchmark_of_convergence() const {
        const std::string said = options_.official ? stated(&LogFacts::benchmark) : std::string();
        return said.empty() ? row_.benchmark : said;
    }

    void check_convergence() {
        const std::optional<double> batch = common_batch();
        if (!batch) return;
        row_.batch = batch;
        const std::string benchmark = benchmark_of_convergence();
        const size_t required = required_runs(options_.round, benchmark).value_or(0);
        std::vector<std::optional<double>> epochs;
        for (const LogVerdict& verdict : verdicts_)
            epochs.push_back(verdict.facts.success ? verdict.facts.epochs : std::nullopt);
        const ConvergenceVerdict verdict = judge_convergence(
            pruned(convergence_points(options_.round, benchmark), required), required, *batch, epochs,
            {.bisected = options_.official,
             .bypass = folder_.bypass.rcp,
             .unit = convergence_unit(benchmark)});
        row_.rcp = verdict.passed ? "pass" : "fail";
        row_.rcp_message = verdict.message;
        row_.epochs = verdict.mean;
        if (verdict.point) row_.reference_epochs = verdict.point->mean;
        if (verdict.point) row_.smallest_epochs = verdict.point->smallest;
        if (verdict.scaling > 1) row_.scaling_to_write = verdict.scaling;
        if (!verdict.passed) error("RCP: " + verdict.message);
        if (verdict.bypassed) warn("RCP: " + verdict.message);
    }

    std::vector<ScoredRun> scored_runs() const {
        std::vector<ScoredRun> runs;
        for (const LogVerdict& verdict : verdicts_) {
            const LogFacts& facts = verdict.facts;
            ScoredRun run{.compliant = verdict.passed, .minutes = facts.minutes};
            if (facts.run_start) run.start = *facts.run_start / 60;
            if (facts.run_stop) run.stop = *facts.run_stop / 60;
            if (facts.staging_seconds) run.staging = *facts.staging_seconds / 60;
            // Rules before 3.0 time staging; theirs since may do it before.
            run.staging_in_run = facts.staging_start && facts.run_start
                                     ? *facts.staging_start >= *facts.run_start
                                     : options_.round < 3;
            if (facts.nodes && facts.accelerators_per_node)
                run.accelerators = *facts.nodes * std::max(*facts.accelerators_per_node, 1.0);
            runs.push_back(run);
        }
        return runs;
    }

    // The factor of the RCP test counts, which comes first here. The official summariser reads scaling.json and
    // runs its own RCP test only then: its factor is that of an earlier run, or 1.
    double scaling_factor() {
        const double written = folder_.scaling_file.value_or(1);
        if (!is_closed()) {
            if (folder_.scaling_file)
                warn(fmt::format("scaling.json multiplies the score by {:.6f}", written));
            return written;
        }
        const double tested = row_.scaling_to_write.value_or(1);
        constexpr double kRounding = 1e-9;
        if (std::abs(tested - written) > kRounding && (folder_.scaling_file || options_.official))
            warn(fmt::format("the RCP test gives the factor {:.6f}, and scaling.json {}", tested,
                             folder_.scaling_file ? fmt::format("says {:.6f}", written) : "is missing"));
        return options_.official ? written : tested;
    }

    void score_time_to_train() {
        const std::vector<ScoredRun> runs = scored_runs();
        const TimeToTrain score = time_to_train(runs);
        row_.scaling = scaling_factor();
        if (score.minutes) row_.score_minutes = *score.minutes * *row_.scaling;
        if (score.minutes_with_staging)
            row_.minutes_with_staging = *score.minutes_with_staging * *row_.scaling;
        if (score.minutes_without_staging)
            row_.minutes_without_staging = *score.minutes_without_staging * *row_.scaling;
        for (const ScoredRun& run : runs)
            if (run.counts() && run.accelerators && !row_.accelerators_per_model)
                row_.accelerators_per_model = run.accelerators;
        if (!score.minutes && score.dropped <= 1 && !verdicts_.empty())
            error("no score: nothing is left without the fastest and the slowest run");
        if (row_.score_minutes && row_.accelerators_per_model && options_.extrapolate_to)
            row_.extrapolation =
                extrapolated(*row_.score_minutes, *row_.accelerators_per_model, *options_.extrapolate_to);
    }

    void score_throughput() {
        const Throughput score = throughput(scored_runs(), required_);
        row_.score_minutes = score.minutes;
        row_.models = static_cast<int64_t>(score.models);
        row_.accelerators_per_model = score.accelerators_per_model;
        row_.models_per_day = score.models_per_day();
        if (score.scales_differ)
            error("instances are of different scales (number_of_nodes, accelerators_per_node)");
        if (!score.minutes)
            error(fmt::format("{} compliant logs, and a throughput needs at least {}", score.models,
                              required_));
        check_pruned();
        if (!score.accelerators_per_model || !row_.accelerators) return;
        // Logs of pruned instances lie in pruned_results/.
        const std::string problem = scale_problem(*score.accelerators_per_model, *row_.accelerators,
                                                  verdicts_.size() + pruned_.size(), score.most_at_once);
        if (!problem.empty()) warn(problem);
        if (!score.minutes || !options_.extrapolate_to) return;
        const double side_by_side =
            std::max(1.0, std::floor(*row_.accelerators / *score.accelerators_per_model));
        const double minutes = *score.minutes * std::min(side_by_side, static_cast<double>(score.models)) /
                               static_cast<double>(score.models);
        row_.extrapolation = extrapolated(minutes, *score.accelerators_per_model, *options_.extrapolate_to);
    }

    const Package& package_;
    const SystemFolder& system_;
    const BenchmarkFolder& folder_;
    std::span<const LogVerdict> verdicts_, pruned_;
    const JudgeOptions& options_;
    size_t required_ = 0;
    SummaryRow row_;
};

}  // namespace

SummaryRow judge(const Package& package, const SystemFolder& system, const BenchmarkFolder& folder,
                 std::span<const LogVerdict> verdicts, const JudgeOptions& options) {
    return Judgement(package, system, folder, verdicts, options).row();
}

SummaryRow row_of_problems(const Package& package, const SystemFolder* system, const JudgeOptions&) {
    SummaryRow row{.submitter = package.name};
    row.errors = system ? system->problems : package.problems;
    if (!system) return row;
    row.system = system->name;
    if (!system->description) return row;
    row.division = system->description->division;
    row.accelerators = system->description->accelerators();
    if (!system->description->submitter.empty()) row.submitter = system->description->submitter;
    return row;
}

void judge_together(std::span<SummaryRow> rows, const JudgeOptions& options) {
    for (SummaryRow& row : rows) {
        if (row.mode != kThroughput || !row.score_minutes || row.path.empty()) continue;
        const bool has_time = std::ranges::any_of(rows, [&](const SummaryRow& other) {
            return other.mode == kTimeToTrain && other.benchmark == row.benchmark &&
                   other.division == row.division && other.score_minutes.has_value();
        });
        if (!has_time)
            (options.official ? row.warnings : row.errors)
                .emplace_back(
                    "the rules accept a throughput only together with a time to train of the same benchmark");
    }
}

}  // namespace belay::bench
