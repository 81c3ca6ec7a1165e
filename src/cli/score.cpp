// belay score: how well a job used its GPUs, and what changed between two.
#include "cli/commands.h"
#include "cli/record_argument.h"
#include "cli/text_table.h"
#include "core/file.h"
#include "core/text.h"
#include "core/toml_limits.h"
#include "core/utf8.h"
#include "score/cpu_score.h"
#include "score/digest_query.h"
#include "score/digest_store.h"
#include "score/json.h"
#include "score/other_models.h"

#include <memory>

namespace belay::cli {

namespace {

using core::Result;

struct Options {
    std::string record;
    std::string by = "gpu";
    std::string model = "saturation";
    std::string ceilings;
    bool json = false;
};

// The built-in ceilings, and after them the site's.
Result<std::vector<score::DeviceCeilings>> known_ceilings(const std::string& file) {
    std::vector<score::DeviceCeilings> known = score::builtin_ceilings();
    if (file.empty()) return known;
    auto text = core::read_file(file, core::kMaxTomlBytes);
    if (!text)
        return std::unexpected(
            std::move(text.error())
                .as(core::ErrorKind::kBadInput)
                .context("--ceilings")
                .hint("a TOML file of [[device]]; docs/formats/ceilings.md says what it holds"));
    BELAY_TRY(own, score::parse_ceilings(*text, file));
    known.insert(known.end(), own.begin(), own.end());
    return known;
}

std::string number(double value, int digits = 1) {
    return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, digits);
}
std::string energy(double watt_hours) {
    return watt_hours < 1e4 ? number(watt_hours) + " Wh" : number(watt_hours / 1e3) + " kWh";
}
std::string percent(double share) {
    return std::isnan(share) ? "-" : fmt::format("{:.0f} %", 100 * share);
}

constexpr int kBarColumns = 50;

// Of 100 % of the allocation, what became of it.
std::string breakdown(const score::Shares& shares) {
    std::string bar;
    double passed = 0;
    int columns = 0;
    for (auto [share, sign] : {std::pair{shares.saturated, "#"},
                               {shares.unsaturated, "+"},
                               {shares.gap, "-"},
                               {shares.idle, "."}}) {
        passed += share;
        const int until = static_cast<int>(std::lround(passed * kBarColumns));
        for (; columns < until; ++columns) bar += sign;
    }
    return bar;
}

void print_gpu_details(const core::CommandContext& context, const score::JobScore& job) {
    const score::Shares& shares = job.score.shares;
    context.print("breakdown         [{}]\n", breakdown(shares));
    context.print(
        "                  # saturated {}, + below every limit {}, - no kernel running {}, . idle {}\n",
        percent(shares.saturated), percent(shares.unsaturated), percent(shares.gap), percent(shares.idle));
    context.print("steady state      {}{}\n", number(job.steady_state),
                  job.startup_seconds ? fmt::format(", after {:.0f} s of start-up", *job.startup_seconds)
                                      : " (the job never reached a steady state)");
    context.print("bound by          {}\n",
                  job.bound ? to_text(*job.bound) : "unknown (some limits were not sampled)");
    context.print("busy              engine {}, multiprocessors {}\n", percent(job.busy_engine),
                  percent(job.busy_sm));
    context.print("imbalance         {}; burstiness (CV) {}\n", number(job.imbalance, 3),
                  number(job.burstiness.variation, 2));
}

void print_cpu_details(const core::CommandContext& context, const score::JobScore& job) {
    const score::Shares& shares = job.score.shares;
    context.print("breakdown         [{}]\n", breakdown(shares));
    context.print("                  # {} {}, + busy {}, . idle {}\n",
                  std::isnan(job.score.point) ? "at a limit, at least" : "at a limit",
                  percent(shares.saturated), percent(shares.unsaturated), percent(shares.idle));
    context.print("of the ceilings   arithmetic {}, memory {}\n", percent(job.flop_use),
                  percent(job.memory_use));
    context.print("others            {} of the CPU time of the nodes\n", percent(job.others_busy));
}

void print_score(const core::CommandContext& context, const score::JobScore& job) {
    const score::Score& score = job.score;
    if (std::isnan(score.point))
        context.print("saturation score  unknown (between {} and {})\n", number(score.low),
                      number(score.high));
    else
        context.print("saturation score  {}{}{}\n", number(score.point),
                      score.high - score.low >= 0.05
                          ? fmt::format(" (between {} and {})", number(score.low), number(score.high))
                          : "",
                      score.graded() ? "" : ", too little coverage for a verdict");
    context.print("coverage          {}\n", percent(score.coverage));
    if (job.gpus.empty())
        print_cpu_details(context, job);
    else if (!std::isnan(score.point))
        print_gpu_details(context, job);
    if (!std::isnan(job.energy_wh))
        context.print("energy            {}; {} saturated GPU-hours per kWh\n", energy(job.energy_wh),
                      number(job.saturated_hours_per_kwh, 2));
    context.print("ceilings          {}{}\n", job.ceilings_version,
                  job.calibrated || job.gpus.empty() ? "" : ", uncalibrated");
    for (const std::string& line : job.meaning) context.print("{}\n", core::printable(line));
    for (const std::string& note : job.notes) context.print("note: {}\n", core::printable(note));
}

void print_parts(const core::CommandContext& context, const std::vector<score::PartScore>& parts) {
    std::vector<std::vector<std::string>> rows;
    for (const score::PartScore& part : parts) {
        const score::Shares& shares = part.score.shares;
        auto share = [&](double value) { return std::isnan(part.score.point) ? "-" : percent(value); };
        rows.push_back({core::printable(part.node), part.device.empty() ? "" : std::to_string(part.index),
                        core::printable(part.name), number(part.score.point), number(part.score.low),
                        number(part.score.high), percent(part.score.coverage), share(shares.idle),
                        share(shares.gap), share(shares.unsaturated), share(shares.saturated)});
    }
    context.print("\n{}", render_table({"node", "gpu", "model", "score", "low", "high", "coverage", "idle",
                                        "gap", "unsaturated", "saturated"},
                                       rows));
}

Result<int> score_model(const core::CommandContext& context, const Options& options,
                        const score::Digest& digest) {
    const score::OtherModel& model = *score::find_model(options.model);
    const double value = model.score(score::means_of(digest));
    if (options.json)
        context.print_json(nlohmann::ordered_json{
            {"model", options.model}, {"score", score::number_or_null(value)}, {"doc", model.doc}});
    else
        context.print("{} {}\nnote: {}: not Belay's score\n", model.name, number(value), model.doc);
    return 0;
}

Result<int> score_steps(const core::CommandContext& context, const Options& options, record::Archive& archive,
                        const std::vector<score::DeviceCeilings>& ceilings) {
    BELAY_TRY(steps, score::steps_of(archive));
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    bool any = false;
    for (const std::string& step : steps) {
        BELAY_TRY(digest, score::read_digest(archive, ceilings, step, score::Detail::kScore));
        if (digest.empty()) continue;  // a step without GPUs
        any = true;
        const score::JobScore job = score::score_job(digest);
        if (options.json) {
            all.push_back({{"step", step}});
            all.back().update(score::to_json(job));
            continue;
        }
        context.print("step {}\n", step.empty() ? "without a number" : core::printable(step));
        print_score(context, job);
        context.print("\n");
    }
    if (!any)
        return core::bad_input("{} has no GPUs whose steps could be scored separately", options.record)
            .hint("leave --by step out to see how the job used its CPUs");
    if (options.json) context.print_json(all);
    return 0;
}

Result<int> run_score(const core::CommandContext& context, const Options& options) {
    BELAY_TRY(ceilings, known_ceilings(options.ceilings));
    BELAY_TRY(archive, score::open_record(options.record));
    if (options.by == "step") {
        if (options.model != "saturation")
            return core::bad_input("--model {}: other models are only computed for the whole job",
                                   options.model)
                .hint("leave --by step out");
        return score_steps(context, options, archive, ceilings);
    }
    const bool own = options.model == "saturation";
    BELAY_TRY(digest,
              score::digest_of(archive, ceilings, own ? score::Detail::kScore : score::Detail::kFull));
    if (!own) return score_model(context, options, digest);
    score::CpuUse cpus;
    if (digest.empty()) {
        BELAY_TRY(use, score::read_cpu_use(archive));
        cpus = std::move(use);
    }
    const score::JobScore job = digest.empty() ? score::score_cpus(cpus) : score::score_job(digest);
    if (options.json) {
        context.print_json(score::to_json(job));
        return 0;
    }
    print_score(context, job);
    const bool by_node = options.by == "node" || job.gpus.empty();
    print_parts(context, by_node ? job.nodes : job.gpus);
    return 0;
}

}  // namespace

void add_score(core::Application& application) {
    auto command = application.add({
        .name = "score",
        .summary = "say how well a job used the GPUs or CPUs it was given",
        .description =
            "Shows the saturation score, 0 to 100: how near the job came, on average over all the GPU time "
            "it was allocated, to a limit of the hardware (tensor, FP64, FP32 or FP16 pipes, or memory "
            "bandwidth). Utilisation only says that a kernel was running; the score says how much of the "
            "GPU it used. Idle GPUs and start-up time lower it. Time that was not sampled widens the bounds "
            "and does not count as idle.\n\n"
            "Use it to screen jobs and to support proposals. It does not compare algorithms and does not "
            "replace time to solution.",
        .examples = {{"belay score r", "the score of a job and of each of its GPUs"},
                     {"belay score r --by node", "of each node"},
                     {"belay score r --model ofu", "what another model says, for comparison"}},
    });
    auto options = std::make_shared<Options>();
    command.options().add_option("RECORD", options->record, kRecordArgument)->required();
    command.choice("--by", options->by, {"gpu", "node", "step"}, "parts to list");
    std::vector<std::string> models = {"saturation"};
    for (const score::OtherModel& model : score::other_models()) models.emplace_back(model.name);
    command.choice("--model", options->model, models,
                   "score model: Belay's own, or another one for comparison");
    command.options()
        .add_option("--ceilings", options->ceilings, "read more GPU ceilings from FILE; they take precedence")
        ->type_name("FILE");
    command.json(options->json);
    command.run([options](const core::CommandContext& context) -> core::Result<int> {
        BELAY_TRY(record, find_record(context, options->record));
        options->record = record;
        return run_score(context, *options);
    });
}

}  // namespace belay::cli
