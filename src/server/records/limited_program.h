// A program that reads what others have sent: in a process of its own, with less of the machine than it may want.
#pragma once

#include "core/error.h"
#include "core/process.h"
#include "core/time.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace belay::server {

struct ProgramLimits {
    core::Duration time = std::chrono::minutes(10);  // then it is killed
    core::Duration cpu = std::chrono::minutes(30);   // of all its threads together
    uint64_t memory_bytes = uint64_t{16} << 30;      // of its address space; 0: no limit
    uint64_t file_bytes = uint64_t{16} << 30;        // of each file that it writes
    size_t output_bytes = size_t{64} << 20;          // of what it prints
    int niceness = 10;
};

// What it printed and how it ended. Of this process's environment it gets the few variables by which it finds its way, so no
// secrets. It is killed when the thread that called this ends. Errors: kSystem, where it cannot be started; kTimedOut, killed, where it
// did not end in time; printing too much.
core::Result<core::Output> run_limited(const std::vector<std::string>& program, const ProgramLimits& limits);

}  // namespace belay::server
