// A recorded trace of a node's GPUs: what NVML said, row by row, so that programs can be run on it without a
// GPU. The format is described in docs/formats/gpu-trace.md.
#pragma once

#include "core/error.h"
#include "gpu/source.h"

#include <string>
#include <string_view>
#include <vector>

namespace belay::gpu {

struct TraceRow {
    double seconds = 0;  // since the beginning; not falling
    size_t device = 0;   // index into Trace::devices
    Reading reading;     // of means, over the time since the device's row before
};

struct TraceXid {
    double seconds = 0;
    size_t device = 0;
    int64_t code = 0;
};

struct Trace {
    std::string driver;
    std::string note;  // one line: what ran, and where it was recorded
    std::vector<Device> devices;
    std::vector<Facts> facts;  // of the devices in their order; those that are absent have none
    std::vector<TraceRow> rows;
    std::vector<TraceXid> xids;
    Facts facts_of(size_t device) const { return device < facts.size() ? facts[device] : Facts(); }
    double seconds() const { return rows.empty() ? 0 : rows.back().seconds; }
};

inline constexpr size_t kLargestTrace = size_t{64} << 20;  // bytes of text
inline constexpr size_t kMostTraceRows = 1'000'000;        // a day of 11 GPUs at one row a second

// Errors: kBadInput with file and line; a last line without its end is left out, as a recorder that was
// killed leaves one.
core::Result<Trace> parse_trace(std::string_view text, const std::string& file);

// parse_trace(format_trace(t)) gives back t.
std::string format_trace(const Trace& trace);
// In parts, for a recorder: what stands before the rows, and one row.
std::string format_trace_head(const Trace& trace);
std::string format_trace_row(const TraceRow& row);
std::string format_trace_xid(const TraceXid& xid);

}  // namespace belay::gpu
