#include "gpu/trace_recorder.h"

#include "gpu/trace.h"

#include <algorithm>

namespace belay::gpu {

std::string TraceRecorder::head() {
    Trace trace{.note = note_, .devices = source_.devices()};
    for (size_t device = 0; device < trace.devices.size(); ++device) {
        trace.driver = trace.devices[device].driver;
        trace.facts.push_back(source_.facts(device));
    }
    lost_.assign(trace.devices.size(), false);
    return format_trace_head(trace);
}

std::string TraceRecorder::tick(double seconds) {
    const std::vector<Device>& devices = source_.devices();
    std::string text;
    for (size_t device = 0; device < devices.size(); ++device) {
        if (lost_[device]) continue;
        TraceRow row{.seconds = seconds, .device = device, .reading = source_.read(device)};
        lost_[device] = row.reading.lost;
        text += format_trace_row(row);
        ++rows_;
    }
    for (const Xid& xid : source_.take_xids()) {
        auto found = std::ranges::find(devices, xid.uuid, &Device::uuid);
        if (found == devices.end()) found = std::ranges::find(devices, xid.index, &Device::index);
        if (found != devices.end())
            text += format_trace_xid({.seconds = seconds,
                                      .device = static_cast<size_t>(found - devices.begin()),
                                      .code = xid.code});
    }
    return text;
}

}  // namespace belay::gpu
