// Files that describe NUMA nodes: those below /sys/devices/system/node, and what NVIDIA's driver says of the
// memory of its GPUs. See Documentation/ABI/stable/sysfs-devices-node and
// Documentation/admin-guide/numastat.rst of Linux.
//
// As in procfs/, a last line without its newline is not looked at.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::observe::hardware {

// nodeN/meminfo, "Node 0 MemTotal:  131586464 kB", as lines "MemTotal: 131586464 kB" of /proc/meminfo.
// Replaces the content of `lines`, whose capacity is kept.
void without_node(std::string_view meminfo, std::string& lines);

// Bytes of a page, of a directory "hugepages-2048kB".
std::optional<int64_t> parse_huge_page_name(std::string_view name);

// The NUMA node that holds the memory of a GPU, of its /proc/driver/nvidia/gpus/ADDRESS/numa_status (which is
// there where its memory can be one): "Node:      4\nStatus:    online\n". Nothing where it is not.
std::optional<int64_t> parse_numa_status(std::string_view text);

// The memory of a GPU as a NUMA node.
struct GpuNode {
    int64_t numa_node;
    std::string address;  // of the GPU, on PCI
    bool operator==(const GpuNode&) const = default;
};
// Lines "4 0009:01:00.0"; others are passed over.
std::vector<GpuNode> parse_gpu_nodes(std::string_view text);
std::string format_gpu_nodes(const std::vector<GpuNode>& nodes);

}  // namespace belay::observe::hardware
