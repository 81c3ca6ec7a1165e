// The shared file of layout.h as a value: what a job did on each device. Pure.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "iotrace/layout.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::iotrace {

// As in /proc/PID/mountinfo and st_dev.
struct DeviceNumber {
    uint32_t major = 0;
    uint32_t minor = 0;
    auto operator<=>(const DeviceNumber&) const = default;
    std::string text() const;  // "254:1", as procfs::Mount has it
};

using SizeHistogram = std::array<uint64_t, kSizeBins>;  // calls by size_bin() of the bytes that they returned

// Totals since the file was made. Each only ever grows.
struct DeviceTotals {
    enum class Of : uint8_t {
        kDevice,
        kNone,    // calls by names that could not be found anywhere
        kOthers,  // all devices beyond the first kDevices - 2
    };
    Of of = Of::kDevice;
    DeviceNumber device = {};  // of kDevice
    std::array<uint64_t, kCounters> counters = {};
    SizeHistogram reads_in_order = {};
    SizeHistogram reads_elsewhere = {};
    SizeHistogram writes = {};

    uint64_t operator[](Counter counter) const { return counters[counter]; }
    double seconds(Counter nanoseconds) const { return static_cast<double>(counters[nanoseconds]) * 1e-9; }

    uint64_t read_calls() const;
    uint64_t random_read_calls() const;
    uint64_t write_calls() const;
    // Of those, the calls of 1 to `most` bytes; `most` is a power of two less one, or is taken as the next
    // one below.
    uint64_t read_calls_up_to(uint64_t most) const;
    uint64_t random_read_calls_up_to(uint64_t most) const;
    uint64_t write_calls_up_to(uint64_t most) const;
    // opens and closes of files and directories, stats and changes, with those that failed.
    uint64_t metadata_calls() const;
    // Of the reads that returned bytes, those that did not begin where the one before them had ended; nothing
    // without any.
    std::optional<double> random_share() const;

    bool operator==(const DeviceTotals&) const = default;
};

struct IoTotals {
    core::Time began = {};  // when the file was made: all counters were 0 then
    uint64_t programs = 0;  // started under the library
    uint64_t threads = 0;   // that have counted something, those of forked children too
    std::vector<DeviceTotals> devices =
        {};  // in the order in which they were first seen; kNone and kOthers where they counted
    bool operator==(const IoTotals&) const = default;
};

// A file in which nothing has been counted: its first kHeaderBytes; what follows, up to kFileBytes, is zeros.
std::string encode_header(core::Time began);
// A whole file that holds these totals, for tests and demonstrations; of devices the first kDevices - 2.
std::string encode(const IoTotals& totals);

// Whether a place in the table of devices is taken, in a file of which at least the header is there.
bool is_device_set(std::string_view bytes, unsigned index);

// Errors: kBadInput for anything but such a file, with what is wrong. Any counters are taken: a process may
// write what it likes into the file; sums stop at the largest number.
core::Result<IoTotals> decode(std::string_view bytes);

}  // namespace belay::iotrace
