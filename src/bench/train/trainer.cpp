#include "bench/train/trainer.h"

#include "bench/train/data.h"
#include "bench/train/network.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/output.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <unistd.h>
#include <vector>

namespace belay::bench::cosmoflow {

using core::bad_input;
using core::Duration;
using core::Result;
using core::system_error;
using progress::Json;

namespace {

constexpr int kEvalBatch = 8;

uint64_t digest_of(std::span<const float> values) {
    std::span<const std::byte> bytes = std::as_bytes(values);
    return core::fnv1a({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Which samples a rank holds: those of its places in the batch, and every size-th of the held-out ones.
struct Share {
    int first_place, places;
    std::vector<uint32_t> train, eval;
};

Share share_of(const Profile& profile, int rank, int size) {
    Share share{.first_place = rank * (profile.batch / size), .places = profile.batch / size};
    for (int index = 0; index < profile.train_samples / profile.batch * profile.batch; ++index)
        if (int place = index % profile.batch;
            place >= share.first_place && place < share.first_place + share.places)
            share.train.push_back(static_cast<uint32_t>(index));
    for (int index = rank; index < profile.eval_samples; index += size)
        share.eval.push_back(static_cast<uint32_t>(index));
    return share;
}

// What passed since the last tracked_stats line.
struct Interval {
    Duration start{};
    int64_t steps = 0;
    double loss = 0;
};

class Run {
  public:
    Run(const RunOptions& options, Group& group, MllogOutput& log, const core::Clock& clock)
        : options_(options),
          profile_(options.profile),
          group_(group),
          log_(log),
          clock_(clock),
          share_(share_of(profile_, group.rank(), group.size())),
          train_(profile_.side, options.data_seed, Split::kTrain, share_.train, options.threads),
          eval_(profile_.side, options.data_seed, Split::kEval, share_.eval, options.threads),
          network_(profile_, options.seed,
                   options.seed * 0x9E3779B97F4A7C15U + static_cast<uint64_t>(group.rank())) {}

    Result<> start() { return group_.broadcast(network_.parameters()); }
    Result<Outcome> train();

  private:
    Result<> train_epoch(int epoch);
    Result<> train_step(int epoch, double rate, std::span<const uint32_t> samples);
    Result<> evaluate(int epoch);
    Result<> agree_on_weights();
    void track(int epoch, double rate, bool epoch_ends);
    bool out_of_steps() const { return options_.steps > 0 && step_ >= options_.steps; }

    const RunOptions& options_;
    const Profile& profile_;
    Group& group_;
    MllogOutput& log_;
    const core::Clock& clock_;
    Share share_;
    SampleStore train_, eval_;
    Network network_;
    std::vector<float> inputs_;
    std::vector<Parameters> targets_;
    int64_t step_ = 0;
    Duration training_time_{};
    Interval interval_;
    Outcome outcome_{.metric = std::numeric_limits<double>::quiet_NaN()};
};

Result<> Run::train_step(int epoch, double rate, std::span<const uint32_t> samples) {
    ++step_;
    if (step_ == options_.fail_at_step && group_.rank() == options_.fail_rank)
        return system_error("rank {} fails at step {}, as --fail-at-step says", group_.rank(), step_);
    inputs_.resize(samples.size() * train_.values_per_sample());
    targets_.resize(samples.size());
    for (size_t i = 0; i < samples.size(); ++i)
        targets_[i] = train_.load(samples[i], std::span(inputs_).subspan(i * train_.values_per_sample()));
    network_.compute_gradients(inputs_, targets_);

    std::span<float> sums = network_.gradients_and_loss();
    BELAY_CHECK(group_.sum(sums));
    // Every rank has as many samples, so the mean over the batch is the mean of the ranks' means.
    for (float& value : sums) value /= static_cast<float>(group_.size());
    double loss = sums.back();
    if (!std::isfinite(loss))
        return core::negative("epoch {}, step {}: the loss is {}, the training has diverged", epoch, step_,
                              loss);
    network_.step(rate);
    interval_.loss += loss;
    ++interval_.steps;
    return {};
}

void Run::track(int epoch, double rate, bool epoch_ends) {
    double seconds = core::to_seconds(clock_.monotonic() - interval_.start);
    bool due = options_.log_steps > 0 ? interval_.steps >= options_.log_steps : seconds >= 1;
    if (interval_.steps == 0 || !(due || epoch_ends)) return;
    auto steps = static_cast<double>(interval_.steps);
    log_.event("tracked_stats",
               {{"loss", interval_.loss / steps},
                {"samples_per_second", steps * profile_.batch / seconds},
                {"flops_per_second", steps * profile_.batch * flops_per_sample(profile_) / seconds},
                {"step", step_},
                {"learning_rate", rate},
                {"step_seconds", seconds / steps}},
               {{"epoch_num", epoch}, {"step", step_}});
    interval_ = {.start = clock_.monotonic()};
}

Result<> Run::train_epoch(int epoch) {
    const double rate = learning_rate(profile_, profile_.batch, epoch);
    std::vector<std::vector<uint32_t>> orders;
    for (int place = share_.first_place; place < share_.first_place + share_.places; ++place)
        orders.push_back(
            samples_of_place(options_.seed, epoch, place, profile_.batch, profile_.train_samples));

    Duration start = clock_.monotonic();
    interval_ = {.start = start};
    std::vector<uint32_t> samples(orders.size());
    for (size_t i = 0; i < orders[0].size() && !out_of_steps(); ++i) {
        for (size_t place = 0; place < orders.size(); ++place) samples[place] = orders[place][i];
        BELAY_CHECK(train_step(epoch, rate, samples));
        track(epoch, rate, i + 1 == orders[0].size());
    }
    training_time_ += clock_.monotonic() - start;
    return {};
}

Result<> Run::evaluate(int epoch) {
    log_.start("eval_start", {{"epoch_num", epoch}});
    std::array<double, kParameters + 1> sums{};  // absolute errors by parameter, samples
    std::vector<Parameters> predictions;
    std::vector<uint32_t> mine = eval_.indices();
    for (size_t first = 0; first < mine.size(); first += kEvalBatch) {
        size_t count = std::min<size_t>(kEvalBatch, mine.size() - first);
        inputs_.resize(count * eval_.values_per_sample());
        targets_.resize(count);
        predictions.resize(count);
        for (size_t i = 0; i < count; ++i)
            targets_[i] =
                eval_.load(mine[first + i], std::span(inputs_).subspan(i * eval_.values_per_sample()));
        network_.predict(inputs_, predictions);
        for (size_t i = 0; i < count; ++i)
            for (size_t p = 0; p < kParameters; ++p)
                sums[p] += std::fabs(double{predictions[i][p]} - targets_[i][p]);
        sums.back() += static_cast<double>(count);
    }
    BELAY_CHECK(group_.sum(sums));
    Json by_parameter = Json::array();
    double total = 0;
    for (size_t p = 0; p < kParameters; ++p) {
        by_parameter.push_back(sums[p] / sums.back());
        total += sums[p] / sums.back();
    }
    outcome_.metric = total / kParameters;
    log_.event("eval_error", outcome_.metric, {{"epoch_num", epoch}, {"by_parameter", by_parameter}});
    log_.stop("eval_stop", {{"epoch_num", epoch}});
    return {};
}

Result<> Run::agree_on_weights() {
    BELAY_TRY(digests, group_.gather(digest_of(network_.parameters())));
    outcome_.weights_digest = fmt::format("{:016x}", digests[0]);
    Json by_rank = Json::array();
    for (uint64_t digest : digests) by_rank.push_back(fmt::format("{:016x}", digest));
    log_.event("weights_digest", outcome_.weights_digest, {{"by_rank", by_rank}});
    for (size_t rank = 1; rank < digests.size(); ++rank)
        if (digests[rank] != digests[0])
            return system_error("the weights of rank {} differ from those of rank 0 ({:016x}, {:016x})", rank,
                                digests[rank], digests[0]);
    if (options_.weights_out.empty() || group_.rank() != 0) return {};
    auto bytes = std::as_bytes(network_.parameters());
    return core::write_output(options_.weights_out,
                              {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Result<Outcome> Run::train() {
    Duration start = clock_.monotonic();
    log_.start("run_start");
    for (int epoch = 1; epoch <= profile_.maximum_epochs && !outcome_.target_reached && !out_of_steps();
         ++epoch) {
        log_.start("epoch_start", {{"epoch_num", epoch}});
        BELAY_CHECK(train_epoch(epoch));
        if (!out_of_steps()) {
            BELAY_CHECK(evaluate(epoch));
            outcome_.epochs = epoch;
            outcome_.target_reached = outcome_.metric <= profile_.target;
        }
        log_.stop("epoch_stop", {{"epoch_num", epoch}});
    }
    log_.stop("run_stop", {{"status", outcome_.target_reached ? "success" : "aborted"}});
    outcome_.seconds = core::to_seconds(clock_.monotonic() - start);
    outcome_.samples_per_second =
        static_cast<double>(step_ * profile_.batch) / core::to_seconds(training_time_);
    BELAY_CHECK(agree_on_weights());
    BELAY_CHECK(group_.barrier());
    return outcome_;
}

// What the closed division wants to be said about a run (mlcommons/logging, compliance_checker,
// closed_cosmoflow.yaml).
void log_settings(const RunOptions& options, int nodes, MllogOutput& log) {
    const Profile& profile = options.profile;
    log.event("submission_benchmark", "cosmoflow");
    // The mini profile has its own name here, so that nobody takes its logs for official results.
    log.event("submission_org", fmt::format("belay-{}", profile.name));
    log.event("submission_division", "closed");
    log.event("submission_status", "onprem");
    log.event("submission_platform", fmt::format("cpu-{}-nodes", nodes));
    log.event("number_of_nodes", nodes);
    log.event("accelerators_per_node", 0);
    log.event("seed", options.seed);
    log.event("global_batch_size", profile.batch);
    log.event("train_samples", profile.train_samples / profile.batch * profile.batch);
    log.event("eval_samples", profile.eval_samples);
    log.event("eval_target", profile.target);
    log.event("opt_name", "sgd");
    log.event("opt_base_learning_rate", profile.peak_rate(profile.batch));
    log.event("opt_learning_rate_warmup_epochs", profile.warmup_epochs);
    log.event("opt_learning_rate_warmup_factor",
              profile.first_rate(profile.batch) / profile.peak_rate(profile.batch));
    log.event("opt_learning_rate_decay_boundary_epochs",
              std::vector<int>(profile.decay_epochs.begin(), profile.decay_epochs.end()));
    log.event("opt_learning_rate_decay_factor",
              std::vector<double>(profile.decay_factors.begin(), profile.decay_factors.end()));
    log.event("opt_weight_decay", 0.0);
    log.event("dropout", profile.dropout);
}

}  // namespace

Result<> check_sizes(const Profile& profile, int ranks, int nodes) {
    if (profile.batch % ranks != 0)
        return bad_input("a global batch of {} does not divide evenly over {} ranks", profile.batch, ranks)
            .hint("choose --batch as a multiple of the number of ranks");
    if (profile.train_samples < profile.batch)
        return bad_input("{} training samples do not fill one batch of {}", profile.train_samples,
                         profile.batch);
    double bytes =
        2.0 * kChannels * std::pow(profile.side, 3) * (profile.train_samples + profile.eval_samples) / nodes;
    double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    if (bytes > 0.8 * memory)
        return bad_input("the samples need {:.1f} GiB of memory on each node, and this one has {:.1f} GiB",
                         bytes / 0x1p30, memory / 0x1p30)
            .hint("use more nodes, or fewer samples: --train-samples, --eval-samples");
    return {};
}

Result<Outcome> run_training(const RunOptions& options, Group& group, int nodes, MllogOutput& log,
                             const core::Clock& clock) {
    BELAY_CHECK(check_sizes(options.profile, group.size(), nodes));
    try {
        log.event("cache_clear", true);
        log.start("init_start");
        log_settings(options, nodes, log);
        prepare_library(options.threads);
        Run run(options, group, log, clock);
        BELAY_CHECK(run.start());
        log.stop("init_stop");
        return run.train();
    } catch (const std::exception& exception) {  // libtorch's, and memory that ran out
        std::string_view text = exception.what();
        return system_error("{}", text.substr(0, text.find('\n')));
    }
}

}  // namespace belay::bench::cosmoflow
