#include "gpu/nvml.h"

#include "gpu/library_file.h"

#include <dlfcn.h>

namespace belay::gpu::nvml {

namespace {

// A name that is older or newer than the one before it may stand for the same function.
template <typename Function>
void find(void* library, Function& target, std::initializer_list<const char*> names) {
    for (const char* name : names)
        if (target == nullptr) target = reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

core::Result<std::unique_ptr<Library>> Library::load(const std::string& file) {
    std::unique_ptr<Library> nvml(new Library);
    nvml->library_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (nvml->library_ == nullptr) {
        const std::string why = dlerror();
        const core::Cause cause = cause_of_failed_load(file);
        return core::system_error("NVML {}: {}",
                                  cause == core::Cause::kNotFound ? "is not there" : "cannot be loaded", why)
            .because(cause)
            .hint("it comes with NVIDIA's driver; without it nothing is known of GPUs");
    }
    void* library = nvml->library_;
    find(library, nvml->init, {"nvmlInit_v2"});
    find(library, nvml->shutdown, {"nvmlShutdown"});
    find(library, nvml->error_text, {"nvmlErrorString"});
    find(library, nvml->driver_version, {"nvmlSystemGetDriverVersion"});
    find(library, nvml->device_count, {"nvmlDeviceGetCount_v2"});
    find(library, nvml->device_by_index, {"nvmlDeviceGetHandleByIndex_v2"});
    find(library, nvml->device_name, {"nvmlDeviceGetName"});
    find(library, nvml->device_uuid, {"nvmlDeviceGetUUID"});
    find(library, nvml->pci_info, {"nvmlDeviceGetPciInfo_v3"});
    find(library, nvml->memory, {"nvmlDeviceGetMemoryInfo_v2"});
    find(library, nvml->utilization, {"nvmlDeviceGetUtilizationRates"});
    find(library, nvml->clock, {"nvmlDeviceGetClockInfo"});
    find(library, nvml->max_clock, {"nvmlDeviceGetMaxClockInfo"});
    find(library, nvml->power, {"nvmlDeviceGetPowerUsage"});
    find(library, nvml->energy, {"nvmlDeviceGetTotalEnergyConsumption"});
    find(library, nvml->temperature, {"nvmlDeviceGetTemperature"});
    find(library, nvml->temperature_threshold, {"nvmlDeviceGetTemperatureThreshold"});
    find(library, nvml->temperature_margin, {"nvmlDeviceGetMarginTemperature"});
    find(library, nvml->application_clock, {"nvmlDeviceGetApplicationsClock"});
    find(library, nvml->clock_reasons,
         {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"});
    find(library, nvml->ecc_errors, {"nvmlDeviceGetTotalEccErrors"});
    find(library, nvml->remapped_rows, {"nvmlDeviceGetRemappedRows"});
    find(library, nvml->retired_pages, {"nvmlDeviceGetRetiredPages"});
    find(library, nvml->nvlink_state, {"nvmlDeviceGetNvLinkState"});
    find(library, nvml->pcie_replays, {"nvmlDeviceGetPcieReplayCounter"});
    find(library, nvml->pcie_generation, {"nvmlDeviceGetCurrPcieLinkGeneration"});
    find(library, nvml->pcie_width, {"nvmlDeviceGetCurrPcieLinkWidth"});
    find(library, nvml->pcie_max_generation, {"nvmlDeviceGetMaxPcieLinkGeneration"});
    find(library, nvml->pcie_max_width, {"nvmlDeviceGetMaxPcieLinkWidth"});
    find(library, nvml->field_values, {"nvmlDeviceGetFieldValues"});
    find(library, nvml->processes, {"nvmlDeviceGetComputeRunningProcesses_v3"});
    find(library, nvml->mig_mode, {"nvmlDeviceGetMigMode"});
    find(library, nvml->mig_device_count, {"nvmlDeviceGetMaxMigDeviceCount"});
    find(library, nvml->mig_device, {"nvmlDeviceGetMigDeviceHandleByIndex"});
    find(library, nvml->gpu_instance, {"nvmlDeviceGetGpuInstanceId"});
    find(library, nvml->attributes, {"nvmlDeviceGetAttributes_v2"});
    find(library, nvml->gpm_support, {"nvmlGpmQueryDeviceSupport"});
    find(library, nvml->gpm_sample_new, {"nvmlGpmSampleAlloc"});
    find(library, nvml->gpm_sample_free, {"nvmlGpmSampleFree"});
    find(library, nvml->gpm_sample_take, {"nvmlGpmSampleGet"});
    find(library, nvml->gpm_mig_sample_take, {"nvmlGpmMigSampleGet"});
    find(library, nvml->gpm_metrics, {"nvmlGpmMetricsGet"});
    find(library, nvml->event_set_new, {"nvmlEventSetCreate"});
    find(library, nvml->event_set_free, {"nvmlEventSetFree"});
    find(library, nvml->register_events, {"nvmlDeviceRegisterEvents"});
    find(library, nvml->wait_event, {"nvmlEventSetWait_v2"});
    if (nvml->init == nullptr || nvml->shutdown == nullptr || nvml->device_count == nullptr ||
        nvml->device_by_index == nullptr)
        return core::system_error("{} is not a supported NVML: it lacks nvmlInit_v2 or what lists devices",
                                  file)
            .hint("drivers from 450 on have it");
    if (Return status = nvml->init(); status != kSuccess)
        return core::system_error(
                   "NVML does not start: {}{}", describe(status),
                   nvml->error_text != nullptr ? fmt::format(" ({})", nvml->error_text(status)) : "")
            .because(cause_of(status));
    nvml->started_ = true;
    return nvml;
}

Library::~Library() {
    if (started_) shutdown();
    if (library_ != nullptr) dlclose(library_);
}

std::string_view describe(Return status) {
    struct Meaning {
        Return status;
        std::string_view text;
    };
    constexpr Meaning kMeanings[] = {
        {kSuccess, "success"},
        {kUninitialized, "the library was not started"},
        {kInvalidArgument, "an argument is wrong"},
        {kNotSupported, "the device does not have this"},
        {kNoPermission, "permission denied"},
        {kNotFound, "not found"},
        {kInsufficientSize, "the answer is longer than the space for it"},
        {kDriverNotLoaded, "the driver is not loaded"},
        {kTimeout, "timed out"},
        {kFunctionNotFound, "the driver does not have this function"},
        {kGpuIsLost, "the GPU has fallen off the bus"},
        {kResetRequired, "the GPU needs a reset"},
        {kVersionMismatch, "driver and library are of different versions"},
        {kNoData, "there is no data"},
    };
    for (const Meaning& meaning : kMeanings)
        if (meaning.status == status) return meaning.text;
    return "unknown error";
}

core::Cause cause_of(Return status) {
    switch (status) {
        case kDriverNotLoaded:
        case kNotFound:
            return core::Cause::kNotFound;
        case kNoPermission:
            return core::Cause::kDenied;
        case kTimeout:
            return core::Cause::kTimedOut;
        default:
            return core::Cause::kOther;
    }
}

}  // namespace belay::gpu::nvml
