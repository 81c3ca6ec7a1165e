#include "bench/train/trainer.h"

#include "bench/synthetic/philox.h"
#include "bench/train/batch_ahead.h"
#include "bench/train/gradient_exchange.h"
#include "bench/train/library.h"
#include "bench/train/log_settings.h"
#include "bench/train/run_state.h"
#include "bench/train/stage_together.h"
#include "core/hash.h"
#include "core/output.h"
#include "core/program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
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
    Duration data_wait{}, exposed_communication{};
};

class Run {
  public:
    // `part`: the ranks that share this rank's samples, of options.split.
    Run(const Model& model, const RunOptions& options, Group& group, Group& part, MllogOutput& log,
        const core::Clock& clock)
        : model_(model),
          options_(options),
          profile_(options.profile),
          group_(group),
          log_(log),
          clock_(clock),
          replica_(group.rank() / options.split),
          replicas_(group.size() / options.split),
          share_(share_of(options.profile, replica_, replicas_)),
          rank_seed_(mix_seeds(options.seed, static_cast<uint64_t>(replica_))),
          network_(options.split > 1 ? model.make_network_part(options.seed, rank_seed_, part)
                                     : model.make_network(options.seed, rank_seed_)),
          exchange_(*network_, group, replicas_, options.bucket_bytes, options.overlap) {
        network_->optimize_with(profile_.optimizer);
    }

    Result<> start();
    Result<Outcome> train();

  private:
    Result<> open_data(const DataSource& source);
    Result<> stage();
    Result<> run_epochs();
    Result<> train_epoch();
    Result<> train_step(BatchAhead& batches, double rate);
    Result<> evaluate();
    Result<> average_buffers();
    Result<> agree_on_weights();
    Result<> save();
    void track(double rate, bool epoch_ends);
    bool out_of_steps() const { return options_.steps > 0 && place_.step >= options_.steps; }

    const Model& model_;
    const RunOptions& options_;
    const Profile& profile_;
    Group& group_;
    MllogOutput& log_;
    const core::Clock& clock_;
    int replica_, replicas_;
    Share share_;
    uint64_t rank_seed_;
    std::unique_ptr<Data> data_;
    std::unique_ptr<Network> network_;
    GradientExchange exchange_;
    RunPlace place_;
    Duration training_time_{};
    Interval interval_;
    Outcome outcome_{.metric = std::numeric_limits<double>::quiet_NaN()};
};

Result<> Run::start() {
    log_.event("model_parameters_count", network_->parameters().size());
    if (options_.resume) {
        BELAY_TRY(place, resume_run(model_, options_, *network_, group_));
        place_ = place;
        outcome_.resumed_from_step = place.step;
    }
    if (options_.stage_to.empty()) BELAY_CHECK(open_data(options_.data));
    return group_.broadcast(network_->parameters());
}

Result<> Run::open_data(const DataSource& source) {
    return while_all_are_there(group_, [&](const std::atomic<bool>&) -> Result<> {
        BELAY_TRY(data, model_.make_data(source, share_, profile_.threads));
        data_ = std::move(data);
        return {};
    });
}

Result<> Run::stage() {
    const Duration start = clock_.monotonic();
    log_.start("staging_start");
    const auto& from = options_.data.directory;
    BELAY_TRY(staged,
              stage_together(group_, from, options_.stage_to, [&] { return model_.files_of(from, share_); }));
    log_.stop("staging_stop", {{"files", staged.files}, {"bytes", staged.bytes}});
    outcome_.staging_seconds = core::to_seconds(clock_.monotonic() - start);
    return open_data({.seed = options_.data.seed, .directory = options_.stage_to, .listing = from});
}

Result<> Run::train_step(BatchAhead& batches, double rate) {
    ++place_.step;
    if (place_.step == options_.fail_at_step && group_.rank() == options_.fail_rank)
        return system_error("rank {} fails at step {}, as --fail-at-step says", group_.rank(), place_.step);
    const Duration asked = clock_.monotonic();
    BELAY_TRY(batch, batches.next());
    interval_.data_wait += clock_.monotonic() - asked;

    // From the step alone, so that a run that goes on draws what it would have drawn.
    network_->seed_draws(mix_seeds(rank_seed_, static_cast<uint64_t>(place_.step)));
    exchange_.begin();
    network_->compute_gradients(*batch);
    const Duration computed = clock_.monotonic();
    BELAY_CHECK(exchange_.finish());
    if (group_.size() > 1) interval_.exposed_communication += clock_.monotonic() - computed;
    const double loss = network_->gradients_and_loss().back();
    if (!std::isfinite(loss))
        return core::negative("epoch {}, step {}: the loss is {}, the training has diverged", place_.epoch,
                              place_.step, std::isnan(loss) ? "not a number" : "infinite")
            .hint("choose a lower --rate, or a longer --warmup");
    network_->step(rate);
    ++place_.step_of_epoch;
    interval_.loss += loss;
    ++interval_.steps;
    return {};
}

void Run::track(double rate, bool epoch_ends) {
    double seconds = core::to_seconds(clock_.monotonic() - interval_.start);
    bool due = options_.log_steps > 0 ? interval_.steps >= options_.log_steps : seconds >= 1;
    if (interval_.steps == 0 || !(due || epoch_ends)) return;
    auto steps = static_cast<double>(interval_.steps);
    const double data_wait = core::to_seconds(interval_.data_wait),
                 exposed = core::to_seconds(interval_.exposed_communication);
    outcome_.data_wait_seconds += data_wait;
    outcome_.exposed_communication_seconds += exposed;
    log_.event("tracked_stats",
               {{"loss", interval_.loss / steps},
                {"samples_per_second", steps * profile_.batch / seconds},
                {"fp32_flops_per_second", steps * profile_.batch * model_.flops_per_sample() / seconds},
                {"step", place_.step},
                {"learning_rate", rate},
                {"step_seconds", seconds / steps},
                {"data_wait_seconds", data_wait / steps},
                {"exposed_communication_seconds", exposed / steps}},
               {{"epoch_num", place_.epoch}, {"step", place_.step}});
    interval_ = {.start = clock_.monotonic()};
}

Result<> Run::train_epoch() {
    std::vector<std::vector<uint32_t>> batches;
    for (int place = share_.first_place; place < share_.first_place + share_.places; ++place) {
        const auto order =
            samples_of_place(options_.seed, place_.epoch, place, profile_.batch, profile_.train_samples);
        batches.resize(order.size());
        for (size_t i = 0; i < order.size(); ++i) batches[i].push_back(order[i]);
    }
    batches.erase(batches.begin(), batches.begin() + place_.step_of_epoch);
    const auto steps = static_cast<int64_t>(batches.size());

    Duration start = clock_.monotonic();
    interval_ = {.start = start};
    BatchAhead ahead(*data_, Split::kTrain, std::move(batches));
    for (int64_t i = 0; i < steps && !out_of_steps(); ++i) {
        const double rate = profile_.rate.at(profile_.batch, {.epoch = place_.epoch,
                                                              .step = place_.step + 1,
                                                              .total_steps = profile_.total_steps(),
                                                              .epoch_steps = profile_.steps_per_epoch()});
        BELAY_CHECK(train_step(ahead, rate));
        track(rate, i + 1 == steps || out_of_steps());
        const int64_t every = options_.checkpoint_every;
        if (every > 0 ? place_.step % every == 0 : i + 1 == steps) BELAY_CHECK(save());
    }
    training_time_ += clock_.monotonic() - start;
    return {};
}

// Each replica has seen other samples; all are judged by one network.
Result<> Run::average_buffers() {
    const std::span<float> buffers = network_->buffers();
    if (buffers.empty() || group_.size() == 1) return {};
    BELAY_CHECK(group_.sum(buffers));
    for (float& value : buffers) value /= static_cast<float>(group_.size());
    return {};
}

Result<> Run::evaluate() {
    const int epoch = place_.epoch;
    log_.start("eval_start", {{"epoch_num", epoch}});
    const Metric& metric = model_.metric();
    std::vector<double> sums(metric.sums());
    std::vector<float> predictions;
    BELAY_CHECK(average_buffers());
    std::vector<std::vector<uint32_t>> batches;
    for (size_t first = 0; first < share_.eval.size(); first += kEvalBatch) {
        const auto samples = std::span(share_.eval).subspan(first);
        batches.emplace_back(samples.begin(), samples.begin() + static_cast<ptrdiff_t>(std::min<size_t>(
                                                                    kEvalBatch, samples.size())));
    }
    const size_t count = batches.size();
    BatchAhead ahead(*data_, Split::kEval, std::move(batches));
    for (size_t i = 0; i < count; ++i) {
        BELAY_TRY(batch, ahead.next());
        network_->predict(*batch, predictions);
        // Of the ranks that share a sample all know the same, and one says it.
        if (group_.rank() % options_.split == 0) metric.add(*batch, predictions, sums);
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

Result<> Run::save() {
    if (options_.checkpoint.empty()) return {};
    return save_run(model_, options_, *network_, group_, place_);
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

Result<> Run::run_epochs() {
    if (!options_.stage_to.empty()) BELAY_CHECK(stage());
    if (outcome_.resumed_from_step > 0) log_.event("resumed_from_step", outcome_.resumed_from_step);
    for (; place_.epoch <= profile_.maximum_epochs && !outcome_.target_reached && !out_of_steps();
         ++place_.epoch) {
        log_.start("epoch_start", {{"epoch_num", place_.epoch}});
        BELAY_CHECK(train_epoch());
        if (!out_of_steps()) {
            BELAY_CHECK(evaluate());
            outcome_.epochs = place_.epoch;
            outcome_.target_reached = model_.metric().reached(outcome_.metric, profile_.target);
        }
        log_.stop("epoch_stop", {{"epoch_num", place_.epoch}});
        place_.step_of_epoch = 0;
    }
    return {};
}

Result<Outcome> Run::train() {
    Duration start = clock_.monotonic();
    log_.start("run_start");
    const auto ran = run_epochs();
    // Also where it ended with an error: the time until then is known.
    log_.stop("run_stop", {{"status", ran && outcome_.target_reached ? "success" : "aborted"}});
    BELAY_CHECK(ran);
    outcome_.seconds = core::to_seconds(clock_.monotonic() - start);
    outcome_.samples_per_second =
        static_cast<double>((place_.step - outcome_.resumed_from_step) * profile_.batch) /
        core::to_seconds(training_time_);
    BELAY_CHECK(agree_on_weights());
    BELAY_CHECK(group_.barrier());
    return outcome_;
}

Result<Outcome> train(const Model& model, const RunOptions& options, Group& group, int nodes,
                      MllogOutput& log, const core::Clock& clock) {
    log.event("cache_clear", true);
    log.start("init_start");
    log_settings(model, options.profile, options.seed, group.size(), nodes, log);
    prepare_library(options.profile.threads);
    Group whole;
    Group* part = &whole;
    if (options.split > 1) {
        BELAY_TRY(divided, group.divide(options.split));
        // Freed only when all went well: its end may wait for ranks that will not answer.
        part = std::make_unique<Group>(std::move(divided)).release();
    }
    auto trained = [&]() -> Result<Outcome> {
        Run run(model, options, group, *part, log, clock);
        BELAY_CHECK(run.start());
        log.stop("init_stop");
        return run.train();
    }();
    if (trained && part != &whole) std::unique_ptr<Group>(part).reset();
    return trained;
}

}  // namespace

Result<> check_sizes(const Model& model, const RunOptions& options, int ranks, int nodes) {
    const Profile& profile = options.profile;
    if (options.split > 1 && !model.can_split(options.split))
        return bad_input("--split: samples of {} cannot be split over {} ranks", model.name(), options.split);
    if (ranks % options.split != 0)
        return bad_input("--split: {} ranks are not groups of {}", ranks, options.split);
    const int replicas = ranks / options.split;
    if (profile.batch % replicas != 0)
        return bad_input("a global batch of {} does not divide evenly over {} ranks", profile.batch, replicas)
            .hint(options.split > 1 ? "choose --batch as a multiple of the number of groups of ranks"
                                    : "choose --batch as a multiple of the number of ranks");
    if (const int together = model.samples_together();
        replicas > 1 && profile.batch / replicas % together != 0)
        return bad_input(
                   "{} normalizes {} samples at a time, which one rank must have, and each of {} ranks has "
                   "{} in a step",
                   model.name(), together, replicas, profile.batch / replicas)
            .hint(fmt::format("choose --batch as a multiple of {} times the number of ranks", together));
    if (!options.stage_to.empty() && options.data.directory.empty())
        return bad_input("--stage-to: without --data there is nothing to stage");
    if (options.checkpoint.empty() && (options.resume || options.checkpoint_every > 0))
        return bad_input("--resume and --checkpoint-every say nothing without --checkpoint FILE");
    if (profile.train_samples < profile.batch)
        return bad_input("{} training samples do not fill one batch of {}", profile.train_samples,
                         profile.batch);
    // Ranks that share a sample keep all of it, each.
    double bytes = model.bytes_per_sample() * options.split *
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
