// What the hardware of a node tells beside its CPUs and GPUs: power and temperature, the health of its NVMe
// disks, and the memory of its NUMA nodes.
//
//   auto collectors = make_hardware_collectors({.on_event = sink});     // of power, nvme and numa
//
// Not thread-safe; start them before any thread (core/fork.h).
#pragma once

#include "core/time.h"
#include "observe/collect/collector.h"
#include "observe/hardware/smart_log.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <vector>

namespace belay::observe::hardware {

struct HardwareOptions {
    // Told collector_failed, once for each part of a table that cannot be read; may be empty.
    collect::EventSink on_event = nullptr;
    std::filesystem::path proc = "/proc";
    std::filesystem::path sys = "/sys";
    std::filesystem::path dev = "/dev";
    // Ticks between readings of what is dear or seldom changes: temperatures, numastat, huge pages, the state
    // of disks.
    int slow_every = 10;
    // Ticks between looks for new devices.
    int look_every = 60;
    // Reads the SMART log of a controller, in a child process. Tests put one here that never answers.
    ReadSmartLog read_smart_log = read_smart_log_page;
    core::Duration smart_every = std::chrono::minutes(5);
    core::Duration smart_patience = std::chrono::seconds(10);  // until a disk is given up for this time
    core::Duration gpu_patience = std::chrono::seconds(30);    // likewise the driver of GPUs
};

// One for each of power, nvme and numa, in that order.
std::vector<std::unique_ptr<collect::Collector>> make_hardware_collectors(const HardwareOptions& options);

}  // namespace belay::observe::hardware
