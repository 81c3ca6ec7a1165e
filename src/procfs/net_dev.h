// /proc/net/dev: traffic of the network interfaces of this network namespace. RDMA traffic is not in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace belay::procfs {

// Counts since the interface came up. `name` points into the parsed text.
struct NetworkDevice {
    std::string_view name;
    std::optional<int64_t> receive_bytes, receive_packets, receive_errors, receive_dropped;
    std::optional<int64_t> transmit_bytes, transmit_packets, transmit_errors, transmit_dropped;
};

// Replaces the content of `devices`, whose capacity is kept.
void parse_net_dev(std::string_view text, std::vector<NetworkDevice>& devices);

}  // namespace belay::procfs
