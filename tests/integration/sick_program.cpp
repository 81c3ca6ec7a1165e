// A training program with one illness, for the tests of findings:
//   sick_program ILLNESS --shared FILE [--data FILE] [--seconds S] [--spin]
// Its ranks (SLURM_PROCID of SLURM_NTASKS, on one machine) compute, wait for each other at every step, and
// tell their steps as MLPerf programs do. A step costs CPU time, not time: a slow machine makes no rank ill.
#include "core/time.h"
#include "progress/mllog.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <span>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

namespace belay {
namespace {

using namespace std::chrono_literals;

constexpr int kMostRanks = 64;
constexpr size_t kChunk = size_t{256} << 10;

struct Illness {
    std::string_view name;
    double work_seconds = 0.4;                     // CPU time of a step
    double last_rank = 1;                          // times this for the last rank
    int chunks = 0;                                // read for each step
    std::chrono::milliseconds storage_delay = {};  // for each of them
    std::chrono::milliseconds device_time = {};    // in which a device works, and not the CPU
    size_t leaked_bytes = 0;                       // kept from each step
    int threads = 1;                               // that share the work
    bool hangs = false;                            // the last rank, after a third of the time
};

constexpr Illness kIllnesses[] = {
    {.name = "healthy", .chunks = 1},
    {.name = "starved", .chunks = 60, .storage_delay = 50ms},
    {.name = "starved_at_every_step", .work_seconds = 0.05, .chunks = 8, .storage_delay = 50ms},
    {.name = "device_starved",
     .work_seconds = 0.01,
     .chunks = 80,
     .storage_delay = 50ms,
     .device_time = 11900ms},
    {.name = "leak", .work_seconds = 0.1, .device_time = 200ms, .leaked_bytes = size_t{1} << 20},
    {.name = "hang", .work_seconds = 0.1, .device_time = 200ms, .hangs = true},
    {.name = "imbalanced", .work_seconds = 0.15, .last_rank = 4},
    {.name = "oversubscribed", .work_seconds = 0.8, .threads = 16},
};

// What the ranks share: a page of a file, so that it needs no network.
struct Shared {
    std::array<std::atomic<int64_t>, kMostRanks> arrived;  // at which step
    std::atomic<int64_t> last_step;                        // 0: not known yet
};

struct Options {
    const Illness* illness = nullptr;
    std::string shared;
    std::string data;
    double seconds = 60;
    bool spins = false;  // while it waits for the others, as MPI and NCCL do
    int rank = 0;
    int ranks = 1;
};

[[noreturn]] void fail(std::string_view what) {
    std::fprintf(stderr, "sick_program: %.*s\n", static_cast<int>(what.size()), what.data());
    std::exit(2);
}

double number(std::string_view text) {
    double value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail("not a number: " + std::string(text));
    return value;
}

int of_slurm(const char* name, int otherwise) {
    const char* text = std::getenv(name);
    return text != nullptr ? static_cast<int>(number(text)) : otherwise;
}

Options read_arguments(std::span<char*> arguments) {
    Options options{.rank = of_slurm("SLURM_PROCID", 0), .ranks = of_slurm("SLURM_NTASKS", 1)};
    for (size_t i = 1; i < arguments.size(); ++i) {
        std::string_view name = arguments[i];
        bool has_value = i + 1 < arguments.size();
        if (name == "--spin")
            options.spins = true;
        else if (name == "--shared" && has_value)
            options.shared = arguments[++i];
        else if (name == "--data" && has_value)
            options.data = arguments[++i];
        else if (name == "--seconds" && has_value)
            options.seconds = number(arguments[++i]);
        else if (const auto* found = std::ranges::find(kIllnesses, name, &Illness::name);
                 found != std::end(kIllnesses))
            options.illness = found;
        else
            fail("unknown argument " + std::string(name));
    }
    if (options.illness == nullptr || options.shared.empty() || options.ranks > kMostRanks)
        fail("ILLNESS --shared FILE");
    return options;
}

Shared& share(const std::string& path) {
    int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || ::ftruncate(fd, sizeof(Shared)) != 0) fail("cannot open " + path);
    void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (memory == MAP_FAILED) fail("cannot map " + path);
    return *static_cast<Shared*>(memory);  // zeros are atomics with 0
}

double cpu_seconds() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void compute(double seconds) {
    double until = cpu_seconds() + seconds;
    volatile double sink = 0;
    while (cpu_seconds() < until)
        for (int i = 0; i < 10'000; ++i) sink = std::sqrt(sink + i);
}

void compute_in_threads(double seconds, int threads) {
    std::vector<std::jthread> others;
    for (int i = 1; i < threads; ++i) others.emplace_back(compute, seconds / threads);
    compute(seconds / threads);
}

// Storage that answers late.
void read_batch(const Options& options, int64_t step) {
    static const int fd = options.data.empty() ? -1 : ::open(options.data.c_str(), O_RDONLY | O_CLOEXEC);
    if (options.illness->chunks > 0 && fd < 0) fail("--data FILE is needed");
    static std::vector<char> buffer(kChunk);
    for (int i = 0; i < options.illness->chunks; ++i) {
        std::this_thread::sleep_for(options.illness->storage_delay);
        if (::pread(fd, buffer.data(), buffer.size(),
                    static_cast<off_t>((step + i) % 16 * int64_t{kChunk})) <= 0)
            fail("cannot read " + options.data);
    }
}

void wait_for_all(const Shared& shared, const Options& options, int64_t step) {
    auto is_here = [&](const std::atomic<int64_t>& arrived) { return arrived >= step; };
    auto ranks = std::span(shared.arrived).first(static_cast<size_t>(options.ranks));
    while (!std::ranges::all_of(ranks, is_here))
        if (!options.spins) std::this_thread::sleep_for(1ms);
}

void tell(int64_t step, double seconds) {
    int64_t now = core::to_microseconds(core::system_clock().now()) / 1000;
    double loss = 1 / (1 + 0.01 * static_cast<double>(step));
    std::puts(progress::format_mllog_line(now, progress::kPointInTime, "tracked_stats",
                                          {{"loss", loss}, {"step_seconds", seconds}}, {{"step_num", step}})
                  .c_str());
    std::fflush(stdout);
}

void train(const Options& options) {
    Shared& shared = share(options.shared);
    std::vector<std::vector<char>> kept;
    const Illness& illness = *options.illness;
    const bool is_last = options.rank == options.ranks - 1;
    const auto start = std::chrono::steady_clock::now();
    auto elapsed = [&] {
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    };
    double before = 0;
    for (int64_t step = 1; shared.last_step == 0 || step <= shared.last_step; ++step) {
        if (is_last && illness.hangs && elapsed() > options.seconds / 3)
            for (;;) ::pause();
        read_batch(options, step);
        std::this_thread::sleep_for(illness.device_time);
        compute_in_threads(illness.work_seconds * (is_last ? illness.last_rank : 1), illness.threads);
        if (illness.leaked_bytes > 0) kept.emplace_back(illness.leaked_bytes, 'x');
        double now = elapsed();
        tell(step, now - before);
        before = now;
        if (options.rank == 0 && now >= options.seconds) shared.last_step = step;
        shared.arrived[static_cast<size_t>(options.rank)] = step;
        wait_for_all(shared, options, step);
    }
}

}  // namespace
}  // namespace belay

int main(int count, char** arguments) {
    belay::train(belay::read_arguments({arguments, static_cast<size_t>(count)}));
}
