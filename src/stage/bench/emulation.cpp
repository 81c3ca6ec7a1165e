// Training as a file system sees it: readers that fill batches, and accelerators that sleep for as long as
// they would compute (DLIO).
#include "core/parallel.h"
#include "stage/bench/bench_plan.h"
#include "stage/bench/workload.h"

#include <algorithm>
#include <condition_variable>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <thread>

namespace belay::stage {

namespace {

using core::Result;

constexpr size_t kReadBytes = size_t{4} << 20;
constexpr uint64_t kFewSteps = 5;  // times what is read ahead

std::string data_file(const EmulatedModel& model, uint64_t number) {
    return fmt::format("{}-{}", model.name, number);
}

// Where accelerators wait for each other after each step, as for the exchange of gradients (DLIO: "the barrier to simulate allreduce"). Those of
// other nodes are not waited for.
class Exchange {
  public:
    explicit Exchange(uint64_t count) : count_(count) {}

    // False once somebody gave up.
    bool meet() {
        std::unique_lock lock(mutex_);
        const uint64_t round = round_;
        if (++here_ == count_) {
            here_ = 0;
            ++round_;
            wake_.notify_all();
        }
        wake_.wait(lock, [&] { return given_up_ || round_ != round; });
        return !given_up_;
    }
    void give_up() {
        const std::lock_guard lock(mutex_);
        given_up_ = true;
        wake_.notify_all();
    }

  private:
    const uint64_t count_;
    std::mutex mutex_;
    std::condition_variable wake_;
    uint64_t here_ = 0;
    uint64_t round_ = 0;
    bool given_up_ = false;
};

// One accelerator in one epoch: its readers take samples in their order, its consumer takes batches in
// theirs.
class Accelerator {
  public:
    Accelerator(std::span<const SampleRead> reads, const EmulatedModel& model, double compute_seconds, Exchange& exchange)
        : exchange_(exchange),
          reads_(reads),
          batch_(model.batch),
          ahead_(model.ahead_samples),
          compute_(compute_seconds),
          filled_(reads.size() / model.batch) {}

    // Until all samples are read or somebody gave up.
    Result<> read(const std::vector<BenchFile>& files, const BenchRun& run) {
        const AlignedBuffer buffer(kReadBytes);  // what is read is thrown away
        while (const auto next = take()) {
            if (run.is_stopped())
                return core::system_error("the benchmark was stopped").because(core::Cause::kCancelled);
            const SampleRead& sample = reads_[*next];
            const BenchFile& file = files[sample.file];
            BELAY_CHECK(file.read_all(sample.offset, sample.bytes, buffer));
            // So that a sample that comes again is read from the file system again.
            if (!file.is_direct())
                (void)posix_fadvise(file.fd(), static_cast<off_t>(sample.offset),
                                    static_cast<off_t>(sample.bytes), POSIX_FADV_DONTNEED);
            const std::lock_guard lock(mutex_);
            ++filled_[*next / batch_];
            wake_.notify_all();
        }
        return {};
    }

    void compute(BenchClock::time_point start) {
        for (size_t step = 0; step < filled_.size(); ++step) {
            EmulatedStep times{.begin = bench_seconds_since(start)};
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return given_up_ || filled_[step] == batch_; });
                if (given_up_) return;
                ++consumed_;  // readers go on when a batch is taken
                wake_.notify_all();
            }
            times.ready = bench_seconds_since(start);
            std::this_thread::sleep_for(std::chrono::duration<double>(compute_));
            times.end = bench_seconds_since(start);
            steps_.push_back(times);
            if (!exchange_.meet()) return;
        }
    }

    void give_up() {
        exchange_.give_up();
        const std::lock_guard lock(mutex_);
        given_up_ = true;
        wake_.notify_all();
    }
    const std::vector<EmulatedStep>& steps() const { return steps_; }

  private:
    // The next sample, once the accelerator is near enough.
    std::optional<size_t> take() {
        std::unique_lock lock(mutex_);
        wake_.wait(
            lock, [&] { return given_up_ || next_ >= reads_.size() || next_ < consumed_ * batch_ + ahead_; });
        if (given_up_ || next_ >= reads_.size()) return std::nullopt;
        return next_++;
    }

    Exchange& exchange_;
    std::span<const SampleRead> reads_;
    uint64_t batch_;
    uint64_t ahead_;  // samples
    double compute_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<uint64_t> filled_;  // samples of each batch that are there
    size_t next_ = 0;
    uint64_t consumed_ = 0;
    bool given_up_ = false;
    std::vector<EmulatedStep> steps_;
};

struct Epoch {
    std::vector<Utilisation> blocks = {};
    double seconds = 0;
};

Result<Epoch> run_epoch(const BenchRun& run, const EmulatedModel& model, const std::vector<BenchFile>& files,
                        std::span<const SampleRead> reads) {
    const uint64_t count = run.options.accelerators;
    const double compute =
        run.options.compute_factor * (run.options.a100 ? model.a100_seconds : model.h100_seconds);
    std::vector<std::vector<SampleRead>> parts;
    Exchange exchange(count);
    std::vector<std::unique_ptr<Accelerator>> accelerators;
    for (uint64_t number = 0; number < count; ++number)
        parts.push_back(reads_of_accelerator(reads, model.batch, number, count));
    for (const auto& part : parts)
        accelerators.push_back(std::make_unique<Accelerator>(part, model, compute, exchange));
    const size_t readers = static_cast<size_t>(count * model.readers);
    auto give_up = [&] {
        for (const auto& accelerator : accelerators) accelerator->give_up();
    };
    std::vector<std::jthread> computing;
    // Whatever ends this early, no accelerator waits for data that will not come: this ends before the
    // threads are joined.
    struct GiveUp {
        const decltype(give_up)& function;
        bool wanted = true;
        ~GiveUp() {
            if (wanted) function();
        }
    } at_end{.function = give_up};
    const auto start = BenchClock::now();
    for (const auto& accelerator : accelerators)
        computing.emplace_back([&accelerator, start] { accelerator->compute(start); });
    BELAY_CHECK(core::in_parallel(readers, readers, [&](size_t reader) {
        auto read = accelerators[reader % count]->read(files, run);
        if (!read) give_up();
        return read;
    }));
    at_end.wanted = false;
    computing.clear();
    Epoch epoch{.seconds = bench_seconds_since(start)};
    for (const auto& accelerator : accelerators)
        if (const auto block = utilisation_of_block(accelerator->steps())) epoch.blocks.push_back(*block);
    return epoch;
}

Result<> emulate(BenchRun& run, const EmulatedModel& model) {
    const BenchOptions& options = run.options;
    const uint64_t steps = options.steps.value_or(model.usual_steps);
    const uint64_t samples = steps * model.batch * options.accelerators;
    const auto planned = plan_emulated_files(model, samples, options.bytes, options.seed);
    EmulationResult result{.model = std::string(model.name),
                           .accelerator = options.a100 ? "A100" : "H100",
                           .accelerators = options.accelerators,
                           .pass_share = model.pass_share};
    for (uint64_t number = 0; number < planned.size(); ++number) {
        BELAY_CHECK(write_bench_file(run, data_file(model, number), planned[number].bytes()));
        result.distinct_samples += planned[number].samples.size();
    }
    std::vector<Utilisation> blocks;
    uint64_t bytes = 0;
    CacheDrop drop;
    for (uint64_t epoch = 0; epoch < options.epochs; ++epoch) {
        run.say(fmt::format("{}, epoch {}", model.name, epoch + 1));
        std::vector<BenchFile> files;
        for (uint64_t number = 0; number < planned.size(); ++number) {
            BELAY_TRY(file, drop.open(run, data_file(model, number)));
            files.push_back(std::move(file));
        }
        const auto reads = plan_epoch(planned, samples, epoch, options.seed);
        if (options.meet) BELAY_CHECK(options.meet(fmt::format("{}, epoch {}", model.name, epoch + 1)));
        BELAY_TRY(ran, run_epoch(run, model, files, reads));
        blocks.insert(blocks.end(), ran.blocks.begin(), ran.blocks.end());
        result.seconds += ran.seconds;
        result.samples += reads.size();
        for (const SampleRead& read : reads) bytes += read.bytes;
    }
    result.utilisation = mean_utilisation(blocks);
    result.samples_per_second = result.seconds > 0 ? static_cast<double>(result.samples) / result.seconds : 0;
    result.bytes_per_second = result.seconds > 0 ? static_cast<double>(bytes) / result.seconds : 0;
    result.cache = drop.describe();
    if (result.distinct_samples < samples)
        run.report.notes.push_back(fmt::format(
            "{}: an epoch reads {} samples, of which {} are distinct; with a larger --size more are",
            model.name, samples, result.distinct_samples));
    if (steps * model.batch < kFewSteps * model.ahead_samples)
        run.report.notes.push_back(fmt::format(
            "{}: an epoch of {} steps is short: readers may be ahead by {:.1f} steps at its begin, which "
            "makes the utilisation look better",
            model.name, steps, static_cast<double>(model.ahead_samples) / static_cast<double>(model.batch)));
    run.report.emulations.push_back(std::move(result));
    // Another model needs the room.
    for (uint64_t number = 0; number < planned.size(); ++number) {
        BELAY_CHECK(run.directory.remove_file(data_file(model, number)));
        run.written.erase(data_file(model, number));
    }
    return {};
}

}  // namespace

Result<> emulate_training(BenchRun& run) {
    for (const std::string& name : run.options.models) {
        const auto model = std::ranges::find(emulated_models(), name, &EmulatedModel::name);
        BELAY_CHECK(emulate(run, *model));
    }
    run.report.notes.emplace_back(
        "training is emulated as MLPerf Storage v2 does it, but with less data than five times the memory "
        "and fewer steps: it is not a result of MLPerf Storage");
    return {};
}

}  // namespace belay::stage
