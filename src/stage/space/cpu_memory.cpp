#include "stage/space/cpu_memory.h"

#include "core/file.h"
#include "procfs/cpu.h"

#include <algorithm>
#include <array>
#include <climits>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace belay::stage {

namespace {

constexpr size_t kMostNodes = 1024;  // of Linux (MAX_NUMNODES)
constexpr size_t kBits = sizeof(unsigned long) * CHAR_BIT;
using NodeMask = std::array<unsigned long, kMostNodes / kBits>;

std::vector<int> nodes_with(const std::filesystem::path& directory, const char* what) {
    const auto text = core::read_file(directory / what);
    const auto nodes = text ? procfs::parse_cpu_list(*text) : std::nullopt;
    return nodes.value_or(std::vector<int>());
}

}  // namespace

std::vector<int> cpu_memory_nodes(const std::filesystem::path& directory) {
    const std::vector<int> memory = nodes_with(directory, "has_memory");
    const std::vector<int> cpus = nodes_with(directory, "has_cpu");
    std::vector<int> both;
    std::ranges::set_intersection(memory, cpus, std::back_inserter(both));
    return both.size() < memory.size() ? both : std::vector<int>();
}

CpuMemory::CpuMemory(const std::vector<int>& nodes) {
    NodeMask mask{};
    for (int node : nodes)
        if (node >= 0 && static_cast<size_t>(node) < kMostNodes)
            mask[static_cast<size_t>(node) / kBits] |= 1UL << (static_cast<size_t>(node) % kBits);
    int policy = MPOL_DEFAULT;
    // Whoever has a policy already knows better.
    const bool is_free =
        syscall(SYS_get_mempolicy, &policy, nullptr, 0UL, nullptr, 0UL) == 0 && policy == MPOL_DEFAULT;
    is_bound_ =
        !nodes.empty() && is_free && syscall(SYS_set_mempolicy, MPOL_BIND, mask.data(), kMostNodes) == 0;
}

CpuMemory::~CpuMemory() {
    if (is_bound_) syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0UL);
}

}  // namespace belay::stage
