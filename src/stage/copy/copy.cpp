#include "stage/copy/copy.h"

#include "core/host_name.h"
#include "core/program.h"
#include "stage/copy/copy_parts.h"
#include "stage/copy/own_copy.h"
#include "stage/space/cpu_memory.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace belay::stage {

namespace fs = std::filesystem;
using core::Result;

bool CopyReport::is_whole() const {
    return std::ranges::all_of(nodes, [](const CopyNode& node) { return !node.failure; });
}

Result<CopyReport> copy_in_step(const fs::path& source, const fs::path& destination, const CopyStep& step,
                                const CopyOptions& options) {
    const CpuMemory memory(cpu_memory_nodes());
    if (step.nodes.size() == 1) return copy_here(source, destination, options);
    return step.rank == 0 ? copy_as_root(source, destination, step, options)
                          : copy_as_member(source, destination, step, options);
}

Result<CopyReport> copy_here(const fs::path& source, const fs::path& destination,
                             const CopyOptions& options) {
    const CpuMemory memory(cpu_memory_nodes());
    std::shared_ptr<CopyStore> store;
    std::jthread display;
    auto show = [&](const std::stop_token& ends) {
        std::mutex mutex;
        std::condition_variable_any wake;
        std::unique_lock lock(mutex);
        while (!wake.wait_for(lock, ends, std::chrono::milliseconds(100), [] { return false; }) &&
               !ends.stop_requested())
            options.progress(store->held_bytes(), store->layout().bytes());
    };
    auto prepared = [&](const std::shared_ptr<const std::string>&,
                        std::shared_ptr<CopyStore> begun) -> Result<> {
        store = std::move(begun);
        if (options.progress) display = std::jthread(show);
        return {};
    };
    return core::without_exceptions([&] {
        return make_own_copy(source, destination, options, {.prepared = prepared}, core::host_name());
    });
}

}  // namespace belay::stage
