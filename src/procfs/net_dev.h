// /proc/net/dev: traffic of the network interfaces of this network namespace. RDMA traffic is not in it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace belay::procfs {

inline constexpr size_t kNetDevFields = 16;

// Counts since the interface came up, in the order of the file: eight of what was received (bytes, packets,
// errors, dropped …), the same of what was sent. `name` points into the parsed text.
struct NetworkDevice {
    std::string_view name;
    std::array<std::optional<int64_t>, kNetDevFields> fields;
};

// Replaces the content of `devices`, whose capacity is kept.
void parse_net_dev(std::string_view text, std::vector<NetworkDevice>& devices);

}  // namespace belay::procfs
