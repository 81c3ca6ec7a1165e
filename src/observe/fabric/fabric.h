// The table fabric: the ports of the fast network of a node, RDMA adapters and Slingshot's.
//
//   auto fabric = make_fabric_collector({.on_event = sink});
//   every second:  fabric->collect({now, node}, rows);
//
// Not thread-safe.
#pragma once

#include "observe/collect/collector.h"

#include <chrono>
#include <filesystem>
#include <memory>

namespace belay::observe::fabric {

struct FabricOptions {
    std::filesystem::path sys = "/sys";
    std::filesystem::path run = "/run";
    // Told of collector_failed: counters that may not be read, ports beyond the first 256 of a kind, retry
    // handlers that do not answer; each once. May be empty.
    collect::EventSink on_event = nullptr;
    // Ticks between looks at what ports there are, and at states and errors.
    int slow_every = 10;
    // How long a look may wait for retry handlers; what comes later stands in a later row.
    core::Duration retry_wait = {};
    // When a retry handler that did not answer is asked again.
    core::Duration retry_pause = std::chrono::seconds(60);
};

// Owes no rows on a node where no port was seen.
std::unique_ptr<collect::Collector> make_fabric_collector(const FabricOptions& options);

}  // namespace belay::observe::fabric
