#include "core/parallel.h"
#include "stage/bench/workload.h"

#include <algorithm>
#include <cmath>
#include <fcntl.h>

namespace belay::stage {

using core::Result;

Result<BenchResult> measure_threads(const BenchRun& run, std::string name, std::string unit,
                                    const std::function<Result<>(size_t, BenchThread&)>& body) {
    std::vector<BenchThread> threads(run.options.threads);
    if (run.options.meet) BELAY_CHECK(run.options.meet(name));
    const auto begin = BenchClock::now();
    BELAY_CHECK(core::in_parallel(threads.size(), threads.size(), [&](size_t thread) -> Result<> {
        BELAY_CHECK(body(thread, threads[thread]));
        threads[thread].done_ = bench_seconds_since(begin);
        return {};
    }));
    BenchResult result{
        .name = std::move(name), .unit = std::move(unit), .first_done_seconds = threads.front().done_};
    std::vector<double> latencies;
    for (const BenchThread& thread : threads) {
        latencies.insert(latencies.end(), thread.latencies_.begin(), thread.latencies_.end());
        result.bytes += thread.bytes_;
        result.seconds = std::max(result.seconds, thread.done_);
        result.first_done_seconds = std::min(result.first_done_seconds, thread.done_);
    }
    result.operations = latencies.size();
    result.latency = summarize_latencies(std::move(latencies));
    const auto amount = static_cast<double>(result.unit == kBytesUnit ? result.bytes : result.operations);
    result.value = result.seconds > 0 ? amount / result.seconds : NAN;
    return result;
}

Result<BenchFile> CacheDrop::open(const BenchRun& run, const std::string& name) {
    BELAY_TRY(file, BenchFile::open(run.directory, name, O_RDONLY, run.options.direct));
    if (file.is_direct()) {
        ++direct_;
        return file;
    }
    BELAY_TRY(resident, file.drop_cache());
    if (resident) {
        ++cached_;
        resident_ += *resident;
    } else {
        ++unknown_;
    }
    return file;
}

std::string CacheDrop::describe() const {
    if (cached_ + unknown_ == 0) return "bypassed (O_DIRECT)";
    if (cached_ == 0) return "dropped before (posix_fadvise): the kernel does not say what stayed in memory";
    return fmt::format("dropped before (posix_fadvise): {:.0f} % of the pages stayed in memory",
                       100 * resident_ / static_cast<double>(cached_));
}

}  // namespace belay::stage
