#include "kernels/parallel.h"

#include <algorithm>
#include <future>
#include <sched.h>
#include <system_error>
#include <thread>
#include <vector>

namespace belay::kernels {

int usable_cpus() {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(CPU_COUNT(&set), 1);
    // More CPUs than the fixed set holds.
    return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

core::Result<> run_on_threads(int count, const std::function<void(int)>& body) {
    std::promise<bool> start;
    std::shared_future<bool> go = start.get_future().share();
    std::vector<std::thread> threads;
    std::string failure;
    try {
        for (int i = 1; i < count; ++i)
            threads.emplace_back([&body, go, i] {
                if (go.get()) body(i);
            });
    } catch (const std::system_error& error) {
        failure = error.what();
    }
    start.set_value(failure.empty());
    if (failure.empty()) body(0);
    for (std::thread& thread : threads) thread.join();
    if (!failure.empty()) return core::system_error("cannot start {} threads: {}", count, failure);
    return {};
}

}  // namespace belay::kernels
