#include "kernels/stream.h"

#include "kernels/parallel.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <new>

namespace belay::kernels {

namespace {

using core::bad_input;
using core::Result;

constexpr double kScalar = 3.0, kB = 2.0, kC = 0.5;

void triad(double* __restrict a, const double* __restrict b, const double* __restrict c, size_t count) {
    for (size_t i = 0; i < count; ++i) a[i] = b[i] + kScalar * c[i];
}

struct Part {
    size_t first, count;
};

Part part_of(size_t elements, int threads, int index) {
    auto cut = [&](int i) { return elements * static_cast<size_t>(i) / static_cast<size_t>(threads); };
    return {cut(index), cut(index + 1) - cut(index)};
}

}  // namespace

Result<double> measure_triad(const TriadOptions& options) {
    if (options.array_bytes < 1024 || options.array_bytes > size_t{64} << 30)
        return bad_input("an array of {} bytes: it must have 1 KiB to 64 GiB", options.array_bytes);
    if (options.threads < 0 || options.threads > 1024)
        return bad_input("{} threads: 1 to 1024 are possible", options.threads);
    if (options.repeats < 1 || options.repeats > 1000)
        return bad_input("{} repeats: 1 to 1000 are possible", options.repeats);
    int threads = options.threads == 0 ? usable_cpus() : options.threads;
    size_t elements = options.array_bytes / sizeof(double);

    // Not initialised here, so that each thread's pages are placed where it runs.
    std::unique_ptr<double[]> a(new (std::nothrow) double[elements]), b(new (std::nothrow) double[elements]),
        c(new (std::nothrow) double[elements]);
    if (!a || !b || !c)
        return core::system_error("no memory for three arrays of {} bytes", options.array_bytes);
    BELAY_CHECK(run_on_threads(threads, [&](int index) {
        Part part = part_of(elements, threads, index);
        std::fill_n(a.get() + part.first, part.count, 0.0);
        std::fill_n(b.get() + part.first, part.count, kB);
        std::fill_n(c.get() + part.first, part.count, kC);
    }));

    double best = 0;
    for (int run = 0; run <= options.repeats; ++run) {
        auto start = std::chrono::steady_clock::now();
        BELAY_CHECK(run_on_threads(threads, [&](int index) {
            Part part = part_of(elements, threads, index);
            triad(a.get() + part.first, b.get() + part.first, c.get() + part.first, part.count);
        }));
        std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
        if (run > 0)
            best = std::max(best, 3.0 * sizeof(double) * static_cast<double>(elements) / seconds.count());
    }
    if (!std::all_of(a.get(), a.get() + elements, [](double value) { return value == kB + kScalar * kC; }))
        return core::system_error("the triad gave a wrong result: memory or CPU are broken");
    return best;
}

}  // namespace belay::kernels
