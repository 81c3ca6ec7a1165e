#include "bench/roofline/measure.h"

#include "core/text.h"
#include "core/units.h"
#include "kernels/gemm.h"
#include "kernels/parallel.h"
#include "kernels/stream.h"

#include <algorithm>
#include <unistd.h>

namespace belay::bench::roofline {

namespace {

using core::Result;

// STREAM's rule (https://www.cs.virginia.edu/stream/ref.html): each array at least four times the last caches.
constexpr size_t kArraysPerCache = 4;
constexpr size_t kLeastArray = size_t{64} << 20;
constexpr size_t kMostArray = size_t{2} << 30;
constexpr size_t kShareOfMemory = 16;  // three arrays stay within a fifth of what is free

size_t array_bytes_here() {
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    const long pages = sysconf(_SC_AVPHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    const size_t wanted =
        std::clamp(cache > 0 ? kArraysPerCache * static_cast<size_t>(cache) : 0, kLeastArray, kMostArray);
    const size_t room = pages > 0 && page > 0
                            ? static_cast<size_t>(pages) * static_cast<size_t>(page) / kShareOfMemory
                            : kLeastArray;
    return std::max(std::min(wanted, room), size_t{1} << 20);
}

Result<> meet(const MeasureOptions& options) {
    return options.meet ? options.meet() : Result<>();
}

}  // namespace

Number rate_of(const ColdRead& read) {
    return {.value = read.bytes_per_second(),
            .sense = read.is_cold() ? Sense::kValue : Sense::kAtMost,
            .source = "read of " + read.describe()};
}

Result<Measured> measure_machine(const MeasureOptions& options) {
    Measured measured{.threads = options.threads > 0 ? options.threads
                                                     : static_cast<int>(kernels::usable_cpus().size())};
    BELAY_CHECK(meet(options));
    BELAY_TRY(product, kernels::measure_gemm({.size = options.gemm_size,
                                              .threads = measured.threads,
                                              .repeats = options.repeats,
                                              .precision = kernels::Precision::kSingle}));
    // Of a library that knows this CPU a product is what it can do; of our own kernel it is not.
    measured.machine.rate(Resource::kCompute) = {
        .value = product.flops_per_second,
        .sense = product.method == kernels::kOwnKernel ? Sense::kAtLeast : Sense::kValue,
        .source = fmt::format("GEMM in single precision by {}, {}", product.method,
                              core::format_count(static_cast<uint64_t>(product.threads), "thread"))};
    BELAY_CHECK(meet(options));
    const size_t array_bytes = options.array_bytes > 0 ? options.array_bytes : array_bytes_here();
    BELAY_TRY(triad,
              kernels::measure_triad(
                  {.array_bytes = array_bytes, .threads = measured.threads, .repeats = options.repeats}));
    measured.machine.rate(Resource::kMemory) = {
        .value = triad,
        .source = fmt::format("STREAM triad, arrays of {}, {}", core::format_binary({array_bytes}),
                              core::format_count(static_cast<uint64_t>(measured.threads), "thread"))};
    if (!options.data) return measured;
    BELAY_TRY(data, list_data(*options.data));
    ColdReadOptions reading = options.reading;
    if (!reading.meet) reading.meet = options.meet;
    reading.threads = std::max<size_t>(reading.threads, static_cast<size_t>(measured.threads));
    BELAY_TRY(read, read_cold(*options.data, data, reading));
    measured.machine.rate(Resource::kIo) = rate_of(read);
    measured.read = std::move(read);
    return measured;
}

Machine shared_by(Machine machine, double ranks) {
    if (!(ranks > 1)) return machine;
    for (const Resource resource : {Resource::kCompute, Resource::kMemory, Resource::kIo}) {
        Number& rate = machine.rate(resource);
        if (!rate.value) continue;
        *rate.value /= ranks;
        rate.source += fmt::format(", shared by {:g} ranks", ranks);
    }
    return machine;
}

Number slowest_of(std::span<const Number> ranks) {
    if (ranks.empty()) return {};
    Number slowest = ranks.front();
    for (const Number& rank : ranks) {
        if (!rank.value) return rank;
        if (rank.sense != Sense::kValue) slowest.sense = rank.sense;
        if (*rank.value < *slowest.value) {
            slowest.value = rank.value;
            slowest.source = rank.source;
        }
    }
    return slowest;
}

std::vector<int> cpus_of_rank(const std::vector<int>& usable, int local_rank, int local_ranks, int per_rank) {
    const int all = static_cast<int>(usable.size());
    if (local_ranks <= 1 || local_rank < 0 || local_rank >= local_ranks || all == 0) return usable;
    const int each = std::clamp(per_rank > 0 ? per_rank : all / local_ranks, 1, all);
    // Bound by the launcher: there are not enough here for all ranks of the node.
    if (per_rank > 0 && all < each * local_ranks) return usable;
    const int first = local_rank * each % all;
    std::vector<int> mine;
    for (int i = 0; i < each; ++i) mine.push_back(usable[static_cast<size_t>((first + i) % all)]);
    return mine;
}

}  // namespace belay::bench::roofline
