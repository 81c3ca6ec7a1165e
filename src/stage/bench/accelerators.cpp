#include "stage/bench/accelerators.h"

#include "core/program.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

namespace belay::stage {

namespace {

using core::Result;

// Where accelerators wait for each other after each step, as for the exchange of gradients (DLIO: "the
// barrier to simulate allreduce"). Those of other nodes are not waited for.
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
    Accelerator(std::span<const SampleRead> reads, const EmulatedLoop& loop, Exchange& exchange)
        : exchange_(exchange), reads_(reads), loop_(loop), filled_(reads.size() / loop.batch) {}

    // Until all samples are read or somebody gave up.
    Result<> read(const BenchRun& run, size_t reader, const ReadSample& read_sample) {
        while (const auto next = take()) {
            if (run.is_stopped())
                return core::system_error("the benchmark was stopped").because(core::Cause::kCancelled);
            BELAY_CHECK(read_sample(reader, reads_[*next]));
            const std::lock_guard lock(mutex_);
            ++filled_[*next / loop_.batch];
            wake_.notify_all();
        }
        return {};
    }

    void compute(const BenchRun& run, BenchClock::time_point start) {
        for (size_t step = 0; step < filled_.size(); ++step) {
            EmulatedStep times{.begin = bench_seconds_since(start)};
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return given_up_ || filled_[step] == loop_.batch; });
                if (given_up_) return;
            }
            if (!loop_.reads_in_step) take_batch();
            times.ready = bench_seconds_since(start);
            if (!pass(run, loop_.compute_seconds)) return;
            times.end = bench_seconds_since(start);
            steps_.push_back(times);
            if (!exchange_.meet()) return;
            if (loop_.reads_in_step) take_batch();
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
    // False once the run is stopped.
    static bool pass(const BenchRun& run, double seconds) {
        using std::chrono::duration;
        constexpr duration<double> kLook(0.2);
        const auto end =
            BenchClock::now() + std::chrono::duration_cast<BenchClock::duration>(duration<double>(seconds));
        for (auto now = BenchClock::now(); now < end; now = BenchClock::now()) {
            if (run.is_stopped()) return false;
            std::this_thread::sleep_for(std::min<duration<double>>(kLook, end - now));
        }
        return true;
    }
    // Readers go on.
    void take_batch() {
        const std::lock_guard lock(mutex_);
        ++consumed_;
        wake_.notify_all();
    }
    // The next sample, once the accelerator is near enough.
    std::optional<size_t> take() {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] {
            return given_up_ || next_ >= reads_.size() ||
                   next_ < consumed_ * loop_.batch + loop_.ahead_samples;
        });
        if (given_up_ || next_ >= reads_.size()) return std::nullopt;
        return next_++;
    }

    Exchange& exchange_;
    std::span<const SampleRead> reads_;
    const EmulatedLoop& loop_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<uint64_t> filled_;  // samples of each batch that are there
    size_t next_ = 0;
    uint64_t consumed_ = 0;
    bool given_up_ = false;
    std::vector<EmulatedStep> steps_;
};

}  // namespace

void EmulationResult::conclude(std::span<const Utilisation> blocks, uint64_t bytes) {
    utilisation = mean_utilisation(blocks);
    samples_per_second = seconds > 0 ? static_cast<double>(samples) / seconds : 0;
    bytes_per_second = seconds > 0 ? static_cast<double>(bytes) / seconds : 0;
}

Result<EmulatedEpoch> run_emulated_epoch(const BenchRun& run, const EmulatedLoop& loop,
                                         std::span<const SampleRead> reads, const ReadSample& read) {
    const uint64_t count = loop.accelerators;
    std::vector<std::vector<SampleRead>> parts;
    Exchange exchange(count);
    std::vector<std::unique_ptr<Accelerator>> accelerators;
    for (uint64_t number = 0; number < count; ++number)
        parts.push_back(reads_of_accelerator(reads, loop.batch, number, count));
    for (const auto& part : parts)
        accelerators.push_back(std::make_unique<Accelerator>(part, loop, exchange));
    const auto give_up = [&] {
        for (const auto& accelerator : accelerators) accelerator->give_up();
    };
    std::mutex mutex;
    std::optional<core::Error> failure;
    const auto read_all = [&](size_t reader) {
        auto done =
            core::without_exceptions([&] { return accelerators[reader % count]->read(run, reader, read); });
        if (done) return;
        give_up();
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::move(done.error());
    };
    const auto start = BenchClock::now();
    {
        std::vector<std::jthread> threads;
        try {
            for (const auto& accelerator : accelerators)
                threads.emplace_back([&, start] {
                    accelerator->compute(run, start);
                    if (run.is_stopped()) give_up();
                });
            for (size_t reader = 0; reader < count * loop.readers; ++reader)
                threads.emplace_back(read_all, reader);
        } catch (const std::system_error& error) {
            give_up();  // with fewer of them, the others would wait for ever
            return core::errno_error(error.code().value(),
                                     fmt::format("cannot start {} threads", count * (1 + loop.readers)));
        }
    }
    if (run.is_stopped())
        return core::system_error("the benchmark was stopped").because(core::Cause::kCancelled);
    if (failure) return std::unexpected(std::move(*failure));
    EmulatedEpoch epoch{.seconds = bench_seconds_since(start)};
    for (const auto& accelerator : accelerators)
        if (const auto block = utilisation_of_block(accelerator->steps())) epoch.blocks.push_back(*block);
    return epoch;
}

}  // namespace belay::stage
