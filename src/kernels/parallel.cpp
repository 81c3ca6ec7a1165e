#include "kernels/parallel.h"

#include <future>
#include <memory>
#include <numeric>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <system_error>
#include <thread>

namespace belay::kernels {

namespace {

constexpr int kMostCpus = 1 << 20;

// A set of CPUs of any size; cpu_set_t alone ends at 1024.
class CpuSet {
  public:
    explicit CpuSet(int cpus) : bytes_(CPU_ALLOC_SIZE(cpus)), set_(CPU_ALLOC(cpus)) {
        if (set_) CPU_ZERO_S(bytes_, set_.get());
    }
    cpu_set_t* get() const { return set_.get(); }
    size_t bytes() const { return bytes_; }

  private:
    struct Free {
        void operator()(cpu_set_t* set) const { CPU_FREE(set); }
    };
    size_t bytes_;
    std::unique_ptr<cpu_set_t, Free> set_;
};

// Zero, or the number of an error.
int place(std::thread& thread, int cpu) {
    CpuSet set(cpu + 1);
    if (set.get() == nullptr) return ENOMEM;
    CPU_SET_S(static_cast<size_t>(cpu), set.bytes(), set.get());
    return pthread_setaffinity_np(thread.native_handle(), set.bytes(), set.get());
}

}  // namespace

std::vector<int> usable_cpus() {
    std::vector<int> cpus;
    // The kernel refuses a set that is smaller than its own.
    for (int size = CPU_SETSIZE; size <= kMostCpus; size *= 4) {
        CpuSet set(size);
        if (set.get() == nullptr || sched_getaffinity(0, set.bytes(), set.get()) != 0) continue;
        for (int cpu = 0; cpu < size; ++cpu)
            if (CPU_ISSET_S(static_cast<size_t>(cpu), set.bytes(), set.get())) cpus.push_back(cpu);
        break;
    }
    if (cpus.empty()) cpus.push_back(0);
    return cpus;
}

std::vector<int> cpus_for_threads(int threads, const std::vector<int>& cpus) {
    std::vector<int> out;
    size_t count = static_cast<size_t>(threads);
    for (size_t i = 0; i < count; ++i)
        out.push_back(count <= cpus.size() ? cpus[i * cpus.size() / count] : cpus[i % cpus.size()]);
    return out;
}

core::Result<> run_on_threads(int count, const std::function<void(int)>& body) {
    std::vector<int> cpus = cpus_for_threads(count, usable_cpus());
    std::promise<bool> start;
    std::shared_future<bool> go = start.get_future().share();
    std::vector<std::thread> threads;
    core::Result<> started;
    try {
        for (int i = 0; i < count && started; ++i) {
            threads.emplace_back([&body, go, i] {
                if (go.get()) body(i);
            });
            int cpu = cpus[static_cast<size_t>(i)];
            if (int error = place(threads.back(), cpu); error != 0)
                started = core::errno_error(error, fmt::format("CPU {}", cpu));
        }
    } catch (const std::system_error& error) {
        started = core::errno_error(error.code(), "a thread");
    }
    start.set_value(started.has_value());
    for (std::thread& thread : threads) thread.join();
    return core::with_context(std::move(started), fmt::format("cannot start {} threads", count));
}

std::vector<double> Laps::seconds() const {
    std::vector<double> out;
    for (size_t i = 0; i + 1 < times_.size(); i += 2)
        out.push_back(std::chrono::duration<double>(times_[i + 1] - times_[i]).count());
    return out;
}

}  // namespace belay::kernels
