// Memory that a thread gets from nodes with CPUs only: where the memory of GPUs is a NUMA node of its own,
// files in memory would else fill what the job's kernels need.
#pragma once

#include <filesystem>
#include <vector>

namespace belay::stage {

// The NUMA nodes to take memory from: those with CPUs and memory, if others have memory, too. Empty where
// there is nothing to choose.
std::vector<int> cpu_memory_nodes(const std::filesystem::path& directory = "/sys/devices/system/node");

// Of this thread and those that it starts meanwhile. Where the kernel refuses it, memory comes from anywhere,
// as before.
class CpuMemory {
  public:
    explicit CpuMemory(const std::vector<int>& nodes);
    ~CpuMemory();
    CpuMemory(const CpuMemory&) = delete;
    CpuMemory& operator=(const CpuMemory&) = delete;

    bool is_bound() const { return is_bound_; }

  private:
    bool is_bound_ = false;
};

}  // namespace belay::stage
