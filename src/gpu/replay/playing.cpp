#include "gpu/replay/playing.h"

#include <algorithm>
#include <cstring>

namespace belay::gpu::replay {

using namespace nvml;

std::unique_ptr<Player> player;

const std::vector<Device>& devices() {
    return player->trace().devices;
}

std::vector<int> gpus() {
    std::vector<int> indices;
    for (const Device& device : devices()) indices.push_back(device.index);
    std::ranges::sort(indices);
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
    return indices;
}

bool is_gpu_with_slices(Handle handle) {
    return reinterpret_cast<uintptr_t>(handle) >= kFirstGpu;
}

int gpu_index(Handle handle) {
    return static_cast<int>(reinterpret_cast<uintptr_t>(handle) - kFirstGpu);
}

std::optional<size_t> device_of(Handle handle) {
    auto number = reinterpret_cast<uintptr_t>(handle);
    if (player == nullptr || number < kFirstDevice || number - kFirstDevice >= devices().size())
        return std::nullopt;
    return number - kFirstDevice;
}

std::vector<size_t> devices_of_gpu(int index) {
    std::vector<size_t> found;
    for (size_t i = 0; i < devices().size(); ++i)
        if (devices()[i].index == index) found.push_back(i);
    return found;
}

Return value_of(Handle handle, size_t field, double& value) {
    if (player == nullptr) return kUninitialized;
    auto device = device_of(handle);
    if (!device) return is_gpu_with_slices(handle) ? kNotSupported : kInvalidArgument;
    const Reading* reading = player->at(*device, player->now());
    if (reading == nullptr) return kNoData;
    if (reading->lost) return kGpuIsLost;
    value = (*reading)[field];
    return std::isnan(value) ? kNotSupported : kSuccess;
}

Return fact_value_of(Handle handle, size_t fact, double& value) {
    if (player == nullptr) return kUninitialized;
    auto device = device_of(handle);
    if (!device) return is_gpu_with_slices(handle) ? kNotSupported : kInvalidArgument;
    const Reading* reading = player->at(*device, player->now());
    if (reading != nullptr && reading->lost) return kGpuIsLost;
    value = player->trace().facts_of(*device)[fact];
    return std::isnan(value) ? kNotSupported : kSuccess;
}

Return copy_text(const std::string& text, char* target, unsigned size) {
    if (text.size() + 1 > size) return kInsufficientSize;
    memcpy(target, text.c_str(), text.size() + 1);
    return kSuccess;
}

}  // namespace belay::gpu::replay
