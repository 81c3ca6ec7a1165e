#include "observe/fabric/size_bins.h"

#include "observe/fabric/port_file.h"
#include "observe/fabric/port_text.h"
#include "procfs/scan.h"

#include <cerrno>
#include <expected>
#include <fcntl.h>
#include <string>

#include <fmt/format.h>

namespace belay::observe::fabric {

BinnedTraffic traffic_of(const SizeBinCounts& counts) {
    BinnedTraffic traffic{.packets = 0, .bytes_at_least = 0};
    bool any = false;
    for (size_t i = 0; i < counts.size(); ++i) {
        traffic.packets = combined(traffic.packets, counts[i].packets, Combine::kSum);
        if (!counts[i].is_there) continue;
        any = true;
        traffic.bytes_at_least =
            combined(traffic.bytes_at_least, procfs::scaled(counts[i].packets, kSizeBins[i].smallest_bytes),
                     Combine::kSum);
    }
    return any ? traffic : BinnedTraffic();
}

void SizeBins::look(int directory) {
    if (is_open_) return;
    for (size_t i = 0; i < kSizeBinCount; ++i) {
        const std::string path = fmt::format("{}/{}{}", kTelemetry, prefix_, kSizeBins[i].name);
        open_[i] = core::Descriptor(openat(directory, path.c_str(), O_RDONLY | O_CLOEXEC));
        is_open_ = is_open_ || open_[i];
    }
}

bool SizeBins::read() {
    SizeBinCounts counts;
    for (size_t i = 0; i < kSizeBinCount; ++i) {
        if (!open_[i]) continue;
        const std::expected<PortText, int> text = read_text(open_[i].get());
        if (!text && text.error() == ENODEV) return false;
        counts[i] = {.is_there = true, .packets = text ? parse_telemetry(text->view()) : std::nullopt};
    }
    traffic_ = traffic_of(counts);
    return true;
}

}  // namespace belay::observe::fabric
