// The trace that is played, and what its devices say now: for the functions with NVML's names.
#pragma once

#include "gpu/nvml_abi.h"
#include "gpu/replay/player.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::gpu::replay {

extern std::unique_ptr<Player> player;  // from nvmlInit to nvmlShutdown

// Handles are numbers: of a device of the trace from kFirstDevice, of a GPU with slices from kFirstGpu.
inline constexpr uintptr_t kFirstDevice = 1;
inline constexpr uintptr_t kFirstGpu = 1'000'000;
inline nvml::Handle handle_of(uintptr_t number) {
    return reinterpret_cast<nvml::Handle>(number);  // NOLINT(performance-no-int-to-ptr): never dereferenced
}

const std::vector<Device>& devices();
// The driver's numbers of the GPUs, each once.
std::vector<int> gpus();
bool is_gpu_with_slices(nvml::Handle handle);
int gpu_index(nvml::Handle handle);
std::optional<size_t> device_of(nvml::Handle handle);
// The devices that stand for a GPU: itself, or its slices.
std::vector<size_t> devices_of_gpu(int index);

nvml::Return value_of(nvml::Handle handle, size_t field, double& value);
// Of a device that is lost nothing is told.
nvml::Return fact_value_of(nvml::Handle handle, size_t fact, double& value);

template <typename Number>
nvml::Return number_at(nvml::Handle handle, size_t field, double unit, Number* target) {
    double value = 0;
    nvml::Return status = value_of(handle, field, value);
    if (status == nvml::kSuccess) *target = static_cast<Number>(std::llround(value / unit));
    return status;
}

template <typename Number>
nvml::Return fact_of(nvml::Handle handle, size_t fact, double unit, Number* target) {
    double value = 0;
    nvml::Return status = fact_value_of(handle, fact, value);
    if (status == nvml::kSuccess) *target = static_cast<Number>(std::llround(value / unit));
    return status;
}

nvml::Return copy_text(const std::string& text, char* target, unsigned size);

}  // namespace belay::gpu::replay
