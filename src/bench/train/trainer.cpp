#include "bench/train/trainer.h"

#include "bench/train/library.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/output.h"
#include "core/program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <limits>
#include <numeric>
#include <unistd.h>
#include <vector>

namespace belay::bench {

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

// What passed since the last tracked_stats line.
struct Interval {
    Duration start{};
    int64_t steps = 0;
    double loss = 0;
};

class Run {
  public:
    Run(const Model& model, const RunOptions& options, Group& group, MllogOutput& log,
        const core::Clock& clock, Share share, std::unique_ptr<Data> data)
        : model_(model),
          options_(options),
          profile_(options.profile),
          group_(group),
          log_(log),
          clock_(clock),
          share_(std::move(share)),
          data_(std::move(data)),
          network_(model.make_network(
              options.seed, options.seed * 0x9E3779B97F4A7C15U + static_cast<uint64_t>(group.rank()))) {}

    Result<> start() { return group_.broadcast(network_->parameters()); }
    Result<Outcome> train();

  private:
    Result<> train_epoch(int epoch);
    Result<> train_step(int epoch, double rate, std::span<const uint32_t> samples);
    Result<> evaluate(int epoch);
    Result<> agree_on_weights();
    void track(int epoch, double rate, bool epoch_ends);
    bool out_of_steps() const { return options_.steps > 0 && step_ >= options_.steps; }

    const Model& model_;
    const RunOptions& options_;
    const Profile& profile_;
    Group& group_;
    MllogOutput& log_;
    const core::Clock& clock_;
    Share share_;
    std::unique_ptr<Data> data_;
    std::unique_ptr<Network> network_;
    Batch batch_;
    int64_t step_ = 0;
    Duration training_time_{};
    Interval interval_;
    Outcome outcome_{.metric = std::numeric_limits<double>::quiet_NaN()};
};

Result<> Run::train_step(int epoch, double rate, std::span<const uint32_t> samples) {
    ++step_;
    if (step_ == options_.fail_at_step && group_.rank() == options_.fail_rank)
        return system_error("rank {} fails at step {}, as --fail-at-step says", group_.rank(), step_);
    BELAY_CHECK(data_->load(Split::kTrain, samples, batch_));
    network_->compute_gradients(batch_);

    std::span<float> sums = network_->gradients_and_loss();
    BELAY_CHECK(group_.sum(sums));
    // Every rank has as many samples, so the mean over the batch is the mean of the ranks' means.
    for (float& value : sums) value /= static_cast<float>(group_.size());
    double loss = sums.back();
    if (!std::isfinite(loss))
        return core::negative("epoch {}, step {}: the loss is {}, the training has diverged", epoch, step_,
                              loss);
    network_->step(rate);
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
                {"fp32_flops_per_second", steps * profile_.batch * model_.flops_per_sample() / seconds},
                {"step", step_},
                {"learning_rate", rate},
                {"step_seconds", seconds / steps}},
               {{"epoch_num", epoch}, {"step", step_}});
    interval_ = {.start = clock_.monotonic()};
}

Result<> Run::train_epoch(int epoch) {
    const double rate = profile_.rate.at(profile_.batch, epoch);
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
    const Metric& metric = model_.metric();
    std::vector<double> sums(metric.sums());
    std::vector<float> predictions;
    for (size_t first = 0; first < share_.eval.size(); first += kEvalBatch) {
        size_t count = std::min<size_t>(kEvalBatch, share_.eval.size() - first);
        BELAY_CHECK(data_->load(Split::kEval, std::span(share_.eval).subspan(first, count), batch_));
        network_->predict(batch_, predictions);
        metric.add(batch_, predictions, sums);
    }
    BELAY_CHECK(group_.sum(std::span(sums)));
    const Evaluation evaluation = metric.conclude(sums);
    outcome_.metric = evaluation.value;
    Json metadata = {{"epoch_num", epoch}};
    metadata.update(evaluation.details);
    log_.event(metric.key(), evaluation.value, metadata);
    log_.stop("eval_stop", {{"epoch_num", epoch}});
    return {};
}

Result<> Run::agree_on_weights() {
    BELAY_TRY(digests, group_.gather(digest_of(network_->parameters())));
    outcome_.weights_digest = fmt::format("{:016x}", digests[0]);
    Json by_rank = Json::array();
    for (uint64_t digest : digests) by_rank.push_back(fmt::format("{:016x}", digest));
    log_.event("weights_digest", outcome_.weights_digest, {{"by_rank", by_rank}});
    for (size_t rank = 1; rank < digests.size(); ++rank)
        if (digests[rank] != digests[0])
            return system_error("the weights of rank {} differ from those of rank 0 ({:016x}, {:016x})", rank,
                                digests[rank], digests[0]);
    if (options_.weights_out.empty() || group_.rank() != 0) return {};
    auto bytes = std::as_bytes(network_->parameters());
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
            outcome_.target_reached = model_.metric().reached(outcome_.metric, profile_.target);
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
// closed_*.yaml).
void log_settings(const Model& model, const RunOptions& options, int nodes, MllogOutput& log) {
    const Profile& profile = options.profile;
    log.event("submission_benchmark", model.name());
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
    log.event("opt_base_learning_rate", profile.rate.peak(profile.batch));
    log.event("opt_learning_rate_warmup_epochs", profile.rate.warmup_epochs);
    log.event("opt_learning_rate_warmup_factor",
              profile.rate.first(profile.batch) / profile.rate.peak(profile.batch));
    log.event("opt_learning_rate_decay_boundary_epochs",
              std::vector<int>(profile.rate.decay_epochs.begin(), profile.rate.decay_epochs.end()));
    log.event("opt_learning_rate_decay_factor",
              std::vector<double>(profile.rate.decay_factors.begin(), profile.rate.decay_factors.end()));
    const Json settings = model.settings();
    for (const auto& [key, value] : settings.items()) log.event(key, value);
}

Result<Outcome> train(const Model& model, const RunOptions& options, Group& group, int nodes,
                      MllogOutput& log, const core::Clock& clock) {
    log.event("cache_clear", true);
    log.start("init_start");
    log_settings(model, options, nodes, log);
    prepare_library(options.profile.threads);
    const Share share = share_of(options.profile, group.rank(), group.size());
    BELAY_TRY(data, model.make_data(options.data, share, options.profile.threads));
    Run run(model, options, group, log, clock, share, std::move(data));
    BELAY_CHECK(run.start());
    log.stop("init_stop");
    return run.train();
}

}  // namespace

Result<> check_sizes(const Model& model, const RunOptions& options, int ranks, int nodes) {
    const Profile& profile = options.profile;
    if (profile.batch % ranks != 0)
        return bad_input("a global batch of {} does not divide evenly over {} ranks", profile.batch, ranks)
            .hint("choose --batch as a multiple of the number of ranks");
    if (profile.train_samples < profile.batch)
        return bad_input("{} training samples do not fill one batch of {}", profile.train_samples,
                         profile.batch);
    double bytes = model.bytes_per_sample() *
                   (static_cast<double>(profile.train_samples) + profile.eval_samples) / nodes;
    double memory = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    if (options.data.directory.empty() && bytes > 0.8 * memory)
        return bad_input("the samples need {:.1f} GiB of memory on each node, and this one has {:.1f} GiB",
                         bytes / 0x1p30, memory / 0x1p30)
            .hint("use more nodes, or fewer samples: --train-samples, --eval-samples");
    return {};
}

Result<Outcome> run_training(const Model& model, const RunOptions& options, Group& group, int nodes,
                             MllogOutput& log, const core::Clock& clock) {
    BELAY_CHECK(check_sizes(model, options, group.size(), nodes));
    Result<Outcome> outcome;
    // libtorch's exceptions, and memory that ran out.
    auto thrown = core::exception_of([&] { outcome = train(model, options, group, nodes, log, clock); });
    if (thrown)
        return std::unexpected(
            std::move(*thrown).context(fmt::format("rank {} of {}", group.rank(), group.size())));
    return outcome;
}

}  // namespace belay::bench
