#include "kernels/stream.h"

#include "kernels/parallel.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <new>

namespace belay::kernels {

namespace {

using core::bad_input;
using core::Result;

constexpr double kB = 2.0, kC = 0.5;

// Another one in each run, so that what an earlier run left behind is not taken for a result.
double scalar_of(int run) {
    return 3.0 + run;
}

void triad(double* __restrict a, const double* __restrict b, const double* __restrict c, double scalar,
           size_t count) {
    for (size_t i = 0; i < count; ++i) a[i] = b[i] + scalar * c[i];
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
    int threads = options.threads == 0 ? static_cast<int>(usable_cpus().size()) : options.threads;
    size_t elements = options.array_bytes / sizeof(double);

    // Not initialised here, so that each thread's pages are placed where it runs.
    std::unique_ptr<double[]> a(new (std::nothrow) double[elements]), b(new (std::nothrow) double[elements]),
        c(new (std::nothrow) double[elements]);
    if (!a || !b || !c)
        return core::system_error("no memory for three arrays of {} bytes", options.array_bytes)
            .because_of_errno(ENOMEM);
    Laps laps(threads);
    std::atomic<bool> right = true;
    BELAY_CHECK(run_on_threads(threads, [&](int index) {
        Part part = part_of(elements, threads, index);
        double *own_a = a.get() + part.first, *own_b = b.get() + part.first, *own_c = c.get() + part.first;
        std::fill_n(own_a, part.count, 0.0);
        std::fill_n(own_b, part.count, kB);
        std::fill_n(own_c, part.count, kC);
        for (int run = 0; run <= options.repeats; ++run) {
            laps.begin();
            triad(own_a, own_b, own_c, scalar_of(run), part.count);
            laps.end();
            double wanted = kB + scalar_of(run) * kC;  // exact
            if (!std::all_of(own_a, own_a + part.count, [&](double value) { return value == wanted; }))
                right = false;
        }
    }));
    if (!right) return core::system_error("the triad gave a wrong result: memory or CPU are broken");
    std::vector<double> seconds = laps.seconds();
    double fastest = *std::min_element(seconds.begin() + 1, seconds.end());
    return 3.0 * sizeof(double) * static_cast<double>(elements) / fastest;
}

}  // namespace belay::kernels
