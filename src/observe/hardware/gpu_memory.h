// Which NUMA nodes are the memory of GPUs. NVIDIA's driver knows it, and may keep who asks waiting as long as
// it starts a GPU, so a child process asks, and ticks take the answer when it is there.
#pragma once

#include "core/deadline.h"
#include "core/work.h"
#include "observe/hardware/numa_text.h"

#include <filesystem>
#include <optional>
#include <vector>

namespace belay::observe::hardware {

class GpuMemory {
  public:
    GpuMemory(const std::filesystem::path& proc, core::Duration patience)
        : root_(proc / "driver/nvidia/gpus"), patience_(patience) {}

    // Asks, unless an answer is awaited, the driver is missing, or it was asked in vain ten times.
    void ask();
    // Errors: once, kSystem, kTimedOut: the driver did not answer; it is not asked again.
    core::Result<> take();
    // Those known by now.
    const std::vector<GpuNode>& nodes() const { return nodes_; }
    bool is_awaited() const { return work_.has_value(); }

  private:
    std::filesystem::path root_;
    core::Duration patience_;
    int attempts_ = 0;
    std::optional<core::Work> work_;
    core::Deadline answer_by_;
    std::vector<GpuNode> nodes_;
};

}  // namespace belay::observe::hardware
