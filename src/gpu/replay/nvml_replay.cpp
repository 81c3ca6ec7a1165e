// A library with NVML's names that plays a trace: BELAY_GPU_TRACE names the file, BELAY_GPU_TRACE_SPEED its
// speed. A program finds it where it looks for libnvidia-ml.so.1, and takes the same way as with a driver.
#include "core/file.h"
#include "core/tell.h"
#include "gpu/gpm_metrics.h"
#include "gpu/replay/playing.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace belay::gpu::replay {

using namespace nvml;

namespace {

struct Sample {
    double seconds;
    size_t device;
};

// 3g.40gb, or 1c.3g.40gb where several compute instances share its slices.
struct Profile {
    unsigned compute_slices, gpu_slices, gigabytes;
};

std::optional<Profile> parse_profile(const std::string& text) {
    Profile profile{};
    if (sscanf(text.c_str(), "%uc.%ug.%ugb", &profile.compute_slices, &profile.gpu_slices,
               &profile.gigabytes) == 3)
        return profile;
    if (sscanf(text.c_str(), "%ug.%ugb", &profile.gpu_slices, &profile.gigabytes) != 2) return std::nullopt;
    profile.compute_slices = profile.gpu_slices;
    return profile;
}

std::string why_not_started;

Sample* sample_of(GpmSample sample) {
    return reinterpret_cast<Sample*>(sample);
}

std::optional<size_t> slice_of(Handle gpu, unsigned instance) {
    auto found = devices_of_gpu(gpu_index(gpu));
    if (!is_gpu_with_slices(gpu) || instance >= found.size()) return std::nullopt;
    return found[instance];
}

Return take_sample(std::optional<size_t> device, GpmSample sample) {
    if (!device) return kInvalidArgument;
    const Reading* reading = player->at(*device, player->now());
    if (reading != nullptr && reading->lost) return kGpuIsLost;
    *sample_of(sample) = {player->now(), *device};
    return kSuccess;
}

}  // namespace

}  // namespace belay::gpu::replay

#pragma GCC visibility push(default)
extern "C" {

using namespace belay::gpu;
using namespace belay::gpu::nvml;
using namespace belay::gpu::replay;

// For tests: the time of the trace stands still at `seconds`.
void belay_gpu_trace_stand_at(double seconds) {
    if (player) player->stand_at(seconds);
}

Return nvmlInit_v2() {
    const char* path = getenv("BELAY_GPU_TRACE");
    const char* speed = getenv("BELAY_GPU_TRACE_SPEED");
    auto text =
        path == nullptr ? belay::core::Result<std::string>(std::string()) : belay::core::read_file(path);
    auto trace = text ? parse_trace(*text, path == nullptr ? "BELAY_GPU_TRACE" : path)
                      : belay::core::Result<Trace>(std::unexpected(text.error()));
    why_not_started = trace ? "" : belay::core::in_one_line(trace.error());
    // A trace that is not there is a driver that is not; one that cannot be played does not start.
    if (!trace) return text && path != nullptr ? kUnknown : kDriverNotLoaded;
    player = std::make_unique<Player>(std::move(*trace), speed == nullptr ? 1 : std::max(0.0, atof(speed)));
    return kSuccess;
}

// The trace's own words, since whoever plays one can mend it.
const char* nvmlErrorString(Return) {
    return why_not_started.c_str();
}

Return nvmlShutdown() {
    player.reset();
    return kSuccess;
}

Return nvmlSystemGetDriverVersion(char* version, unsigned size) {
    if (!player) return kUninitialized;
    return copy_text(player->trace().driver, version, size);
}

Return nvmlDeviceGetCount_v2(unsigned* count) {
    if (!player) return kUninitialized;
    *count = static_cast<unsigned>(gpus().size());
    return kSuccess;
}

Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Handle* device) {
    if (!player) return kUninitialized;
    auto indices = gpus();
    if (index >= indices.size()) return kInvalidArgument;
    auto found = devices_of_gpu(indices[index]);
    bool sliced = !devices()[found[0]].mig_profile.empty();
    *device =
        handle_of(sliced ? kFirstGpu + static_cast<uintptr_t>(indices[index]) : kFirstDevice + found[0]);
    return kSuccess;
}

// Of a slice it ends in its profile, "NVIDIA H200 MIG 1g.18gb".
Return nvmlDeviceGetName(Handle handle, char* name, unsigned size) {
    auto device = is_gpu_with_slices(handle) ? std::optional(devices_of_gpu(gpu_index(handle)).at(0))
                                             : device_of(handle);
    if (!device) return kInvalidArgument;
    const Device& known = devices()[*device];
    const bool is_slice = !is_gpu_with_slices(handle) && !known.mig_profile.empty();
    return copy_text(is_slice ? fmt::format("{} MIG {}", known.name, known.mig_profile) : known.name, name,
                     size);
}

Return nvmlDeviceGetUUID(Handle handle, char* uuid, unsigned size) {
    auto device = device_of(handle);
    return device ? copy_text(devices()[*device].uuid, uuid, size) : kInvalidArgument;
}

Return nvmlDeviceGetMigMode(Handle handle, unsigned* now, unsigned* pending) {
    *now = *pending = is_gpu_with_slices(handle) ? 1 : 0;
    return kSuccess;
}

Return nvmlDeviceGetMaxMigDeviceCount(Handle handle, unsigned* count) {
    *count = 0;
    if (!is_gpu_with_slices(handle)) return kSuccess;
    const Device& slice = devices()[devices_of_gpu(gpu_index(handle)).front()];
    auto profile = parse_profile(slice.mig_profile);
    if (profile && slice.weight > 0)
        *count = static_cast<unsigned>(std::lround(profile->compute_slices / slice.weight));
    *count = std::max(*count, static_cast<unsigned>(devices_of_gpu(gpu_index(handle)).size()));
    return kSuccess;
}

Return nvmlDeviceGetMigDeviceHandleByIndex(Handle gpu, unsigned index, Handle* slice) {
    auto device = slice_of(gpu, index);
    if (!device) return kNotFound;
    *slice = handle_of(kFirstDevice + *device);
    return kSuccess;
}

Return nvmlDeviceGetGpuInstanceId(Handle slice, unsigned* id) {
    auto device = device_of(slice);
    if (!device || devices()[*device].mig_profile.empty()) return kNotSupported;
    auto all = devices_of_gpu(devices()[*device].index);
    *id = static_cast<unsigned>(std::ranges::find(all, *device) - all.begin());
    return kSuccess;
}

// The memory is what programs have of it: an H200 gives a 1g.18gb about 16 GiB.
Return nvmlDeviceGetAttributes_v2(Handle slice, DeviceAttributes* attributes) {
    auto device = device_of(slice);
    auto profile = device ? parse_profile(devices()[*device].mig_profile) : std::nullopt;
    if (!profile) return kNotSupported;
    double bytes = profile->gigabytes * 1e9;
    for (const TraceRow& row : player->trace().rows)
        if (double total = row.reading[field("memory_total_bytes")];
            row.device == *device && !std::isnan(total)) {
            bytes = total;
            break;
        }
    *attributes = {.gpu_slices = profile->gpu_slices,
                   .compute_slices = profile->compute_slices,
                   .memory_mib = static_cast<unsigned long long>(bytes / kMib)};
    return kSuccess;
}

Return nvmlDeviceGetMemoryInfo_v2(Handle device, MemoryV2* memory) {
    Return status = number_at(device, field("memory_total_bytes"), 1, &memory->total);
    if (status == kSuccess) status = number_at(device, field("memory_used_bytes"), 1, &memory->used);
    memory->free = status == kSuccess ? memory->total - memory->used : 0;
    return status;
}

Return nvmlDeviceGetUtilizationRates(Handle device, Utilization* rates) {
    rates->memory = 0;
    return number_at(device, field("utilization_ratio"), kPercent, &rates->gpu);
}

Return nvmlDeviceGetClockInfo(Handle device, ClockType type, unsigned* clock) {
    if (type == kClockMemory) return number_at(device, field("clock_memory_hertz"), 1e6, clock);
    return number_at(device, field("clock_sm_hertz"), 1e6, clock);
}

Return nvmlDeviceGetPowerUsage(Handle device, unsigned* milliwatts) {
    return number_at(device, field("power_watts"), 1e-3, milliwatts);
}

Return nvmlDeviceGetTotalEnergyConsumption(Handle device, unsigned long long* millijoules) {
    return number_at(device, field("energy_joules_total"), 1e-3, millijoules);
}

Return nvmlDeviceGetTemperature(Handle device, TemperatureSensor, unsigned* celsius) {
    return number_at(device, field("temperature_celsius"), 1, celsius);
}

Return nvmlDeviceGetCurrentClocksEventReasons(Handle device, unsigned long long* reasons) {
    return number_at(device, field("clock_event_reasons"), 1, reasons);
}

Return nvmlDeviceGetTotalEccErrors(Handle device, MemoryError error, EccCounter, unsigned long long* count) {
    return number_at(device,
                     error == kCorrected ? field("ecc_corrected_total") : field("ecc_uncorrected_total"), 1,
                     count);
}

Return nvmlDeviceGetRemappedRows(Handle device, unsigned* corrected, unsigned* uncorrected, unsigned* pending,
                                 unsigned* failed) {
    *corrected = 0;
    Return status = number_at(device, field("remapped_rows_total"), 1, uncorrected);
    if (status == kSuccess) status = number_at(device, field("remap_pending"), 1, pending);
    if (status == kSuccess) status = number_at(device, field("remap_failed"), 1, failed);
    return status;
}

Return nvmlDeviceGetPcieReplayCounter(Handle device, unsigned* count) {
    return number_at(device, field("pcie_replays_total"), 1, count);
}

Return nvmlDeviceGetCurrPcieLinkGeneration(Handle device, unsigned* generation) {
    return number_at(device, field("pcie_generation"), 1, generation);
}

Return nvmlDeviceGetCurrPcieLinkWidth(Handle device, unsigned* width) {
    return number_at(device, field("pcie_width"), 1, width);
}

Return nvmlDeviceGetComputeRunningProcesses_v3(Handle device, unsigned* count, ProcessInfo* infos) {
    unsigned running = 0;
    Return status = number_at(device, field("processes"), 1, &running);
    if (status != kSuccess) return status;
    bool fits = *count >= running;
    for (unsigned i = 0; fits && infos != nullptr && i < running; ++i) infos[i] = {.pid = i + 1};
    *count = running;
    return fits ? kSuccess : kInsufficientSize;
}

Return nvmlDeviceGetFieldValues(Handle device, int count, FieldValue* values) {
    for (int i = 0; i < count; ++i) {
        FieldValue& value = values[i];
        value.status = kNotSupported;
        value.type = kUnsignedInt;
        if (value.field == kFieldMemoryTemperature)
            value.status =
                number_at(device, field("memory_temperature_celsius"), 1, &value.value.unsigned_int);
        if (value.field == kFieldPowerViolation || value.field == kFieldThermalViolation) {
            value.type = kUnsignedLongLong;
            value.status =
                number_at(device,
                          value.field == kFieldPowerViolation ? field("power_violation_seconds_total")
                                                              : field("thermal_violation_seconds_total"),
                          1e-9, &value.value.unsigned_long_long);
        }
        // The first kind has counted all errors; the driver tells nothing of one of the others.
        if (value.field == kFieldNvlinkReplay || value.field == kFieldNvlinkRecovery) {
            value.type = kUnsignedLongLong;
            value.status =
                number_at(device, field("nvlink_errors_total"), 1, &value.value.unsigned_long_long);
            if (value.field == kFieldNvlinkRecovery) value.value.unsigned_long_long = 0;
        }
        if (value.field == kFieldRecoveryAction)
            value.status = fact_of(device, fact("recovery_action"), 1, &value.value.unsigned_int);
    }
    return kSuccess;
}

Return nvmlGpmQueryDeviceSupport(Handle handle, GpmSupport* support) {
    auto device = is_gpu_with_slices(handle) ? std::optional(devices_of_gpu(gpu_index(handle)).at(0))
                                             : device_of(handle);
    if (!device) return kInvalidArgument;
    support->supported = devices()[*device].profiling ? 1 : 0;
    return kSuccess;
}

Return nvmlGpmSampleAlloc(GpmSample* sample) {
    *sample = reinterpret_cast<GpmSample>(new Sample{0, 0});
    return kSuccess;
}

Return nvmlGpmSampleFree(GpmSample sample) {
    delete sample_of(sample);
    return kSuccess;
}

Return nvmlGpmSampleGet(Handle device, GpmSample sample) {
    return take_sample(device_of(device), sample);
}

Return nvmlGpmMigSampleGet(Handle gpu, unsigned instance, GpmSample sample) {
    return take_sample(slice_of(gpu, instance), sample);
}

Return nvmlGpmMetricsGet(GpmMetricsGet* request) {
    if (request->version != kGpmVersion) return kInvalidArgument;
    const Sample& first = *sample_of(request->first);
    const Sample& second = *sample_of(request->second);
    for (unsigned i = 0; i < request->count; ++i) {
        GpmMetric& metric = request->metrics[i];
        auto known = std::ranges::find(kGpmMetricFields, metric.id, &GpmMetricField::id);
        double mean = known == std::end(kGpmMetricFields)
                          ? kMissing
                          : player->mean(second.device, known->field, first.seconds, second.seconds);
        metric.status = std::isnan(mean) ? kNotSupported : kSuccess;
        if (metric.status == kSuccess) metric.value = mean / known->unit;
    }
    return kSuccess;
}

Return nvmlEventSetCreate(EventSet* set) {
    *set = reinterpret_cast<EventSet>(1);
    return kSuccess;
}

Return nvmlEventSetFree(EventSet) {
    return kSuccess;
}

Return nvmlDeviceRegisterEvents(Handle, unsigned long long, EventSet) {
    return kSuccess;
}

Return nvmlEventSetWait_v2(EventSet, EventData* event, unsigned) {
    auto xid = player ? player->take_xid() : std::nullopt;
    if (!xid) return kTimeout;
    *event = {.device = handle_of(kFirstDevice + xid->device),
              .type = kEventXid,
              .data = static_cast<unsigned long long>(xid->code)};
    return kSuccess;
}
}
