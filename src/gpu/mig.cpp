#include "gpu/mig.h"

#include <cmath>

#include <fmt/format.h>

namespace belay::gpu {

std::string mig_profile(std::string_view name, const nvml::DeviceAttributes& attributes) {
    constexpr std::string_view kMark = " MIG ";
    constexpr double kMibPerGib = 1024;
    if (size_t at = name.rfind(kMark); at != std::string_view::npos && at + kMark.size() < name.size())
        return std::string(name.substr(at + kMark.size()));
    std::string profile = fmt::format("{}g.{:.0f}gb", attributes.gpu_slices,
                                      std::ceil(static_cast<double>(attributes.memory_mib) / kMibPerGib));
    if (attributes.compute_slices > 0 && attributes.compute_slices < attributes.gpu_slices)
        return fmt::format("{}c.{}", attributes.compute_slices, profile);
    return profile;
}

double mig_weight(const nvml::DeviceAttributes& attributes, unsigned most) {
    if (attributes.compute_slices == 0 || attributes.compute_slices > most) return 1;
    return static_cast<double>(attributes.compute_slices) / most;
}

}  // namespace belay::gpu
