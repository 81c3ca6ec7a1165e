// Programs that use the CPUs in one way each, for as many seconds as asked.
//     cpu_work idle|single|stream|gemm SECONDS [--report]
// With --report it prints once a second what it did, as MLLOG: the FLOP/s of double precision and the bytes
// of memory.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sched.h>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Done {
    std::atomic<double> flop = 0, bytes = 0;
    std::atomic<bool> over = false;
};

// One thread of a STREAM triad over arrays far larger than the caches: 24 bytes and 2 operations an element.
void stream(Done& done) {
    constexpr size_t kElements = size_t{1} << 24;
    std::vector<double> a(kElements), b(kElements, 1), c(kElements, 2);
    while (!done.over) {
        for (size_t i = 0; i < kElements; ++i) a[i] = b[i] + 3 * c[i];
        asm volatile("" : : "r"(a.data()) : "memory");
        done.bytes += 24.0 * kElements;
        done.flop += 2.0 * kElements;
    }
}

// Matrix products by OpenBLAS, which has a thread for each CPU.
void gemm(Done& done) {
    using Dgemm = void(int, int, int, int, int, int, double, const double*, int, const double*, int, double,
                       double*, int);
    void* library = dlopen("libopenblas.so.0", RTLD_NOW);
    auto* dgemm = library == nullptr ? nullptr : reinterpret_cast<Dgemm*>(dlsym(library, "cblas_dgemm"));
    if (dgemm == nullptr) {
        std::fputs("cpu_work: libopenblas.so.0 cannot be loaded\n", stderr);
        std::exit(1);
    }
    constexpr int kRows = 1600;
    std::vector<double> a(kRows * kRows, 1), b(kRows * kRows, 2), c(kRows * kRows);
    while (!done.over) {
        dgemm(101, 111, 111, kRows, kRows, kRows, 1, a.data(), kRows, b.data(), kRows, 0, c.data(), kRows);
        done.flop += 2.0 * kRows * kRows * kRows;
        done.bytes += 4.0 * 8 * kRows * kRows;  // each matrix once, and c twice
    }
}

// Scalar work of one thread that depends on itself: far from every limit.
void single(Done& done) {
    double x = 1;
    while (!done.over) {
        for (int i = 0; i < 1'000'000; ++i) x = x * 1.0000001 + 1e-9;
        asm volatile("" : : "r"(&x) : "memory");
        done.flop += 2e6;
    }
}

void report(double flops, double bytes, long step) {
    const auto now = std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    std::printf(
        ":::MLLOG {\"namespace\": \"\", \"time_ms\": %lld, \"event_type\": \"POINT_IN_TIME\", \"key\": "
        "\"tracked_stats\", \"value\": "
        "{\"fp64_flops_per_second\": %.6g, \"memory_bytes_per_second\": %.6g, \"step\": %ld}, \"metadata\": "
        "{\"step\": %ld}}\n",
        static_cast<long long>(now.count()), flops, bytes, step, step);
    std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fputs("usage: cpu_work idle|single|stream|gemm SECONDS [--report]\n", stderr);
        return 2;
    }
    const char* kind = argv[1];
    const double seconds = std::atof(argv[2]);
    const bool reports = argc > 3 && std::strcmp(argv[3], "--report") == 0;
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    Done done;
    std::vector<std::thread> threads;
    const auto start_threads = [&](int count, void (*body)(Done&)) {
        for (int i = 0; i < count; ++i) threads.emplace_back(body, std::ref(done));
    };
    if (std::strcmp(kind, "stream") == 0) start_threads(CPU_COUNT(&cpus), stream);
    if (std::strcmp(kind, "gemm") == 0) start_threads(1, gemm);
    if (std::strcmp(kind, "single") == 0) start_threads(1, single);
    const auto begin = Clock::now();
    auto last = begin;
    double flop = 0, bytes = 0;
    for (long step = 0; Clock::now() - begin < std::chrono::duration<double>(seconds); ++step) {
        if (reports && step == 0) report(0, 0, 0);
        std::this_thread::sleep_for(std::chrono::seconds(1));
        const auto now = Clock::now();
        const double elapsed = std::chrono::duration<double>(now - last).count();
        if (reports) report((done.flop - flop) / elapsed, (done.bytes - bytes) / elapsed, step + 1);
        flop = done.flop, bytes = done.bytes, last = now;
    }
    done.over = true;
    for (std::thread& thread : threads) thread.join();
    return 0;
}
