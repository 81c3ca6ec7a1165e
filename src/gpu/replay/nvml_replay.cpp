// A library with NVML's names that plays a trace: BELAY_GPU_TRACE names the file, BELAY_GPU_TRACE_SPEED its
// speed. A program finds it where it looks for libnvidia-ml.so.1, and takes the same way as with a driver.
#include "core/file.h"
#include "gpu/gpm_metrics.h"
#include "gpu/nvml_abi.h"
#include "gpu/replay/player.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace belay::gpu::replay {

using namespace nvml;

namespace {

std::unique_ptr<Player> player;

// Handles are numbers: of a device of the trace from kFirstDevice, of a GPU with slices from kFirstGpu.
constexpr uintptr_t kFirstDevice = 1;
constexpr uintptr_t kFirstGpu = 1'000'000;

Handle handle_of(uintptr_t number) {
    return reinterpret_cast<Handle>(number);
}
uintptr_t number_of(Handle handle) {
    return reinterpret_cast<uintptr_t>(handle);
}

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
    return number_of(handle) >= kFirstGpu;
}
int gpu_index(Handle handle) {
    return static_cast<int>(number_of(handle) - kFirstGpu);
}

std::optional<size_t> device_of(Handle handle) {
    uintptr_t number = number_of(handle);
    if (player == nullptr || number < kFirstDevice || number - kFirstDevice >= devices().size())
        return std::nullopt;
    return number - kFirstDevice;
}

// The devices that stand for a GPU: itself, or its slices.
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

template <typename Number>
Return number_at(Handle handle, size_t field, double unit, Number* target) {
    double value = 0;
    Return status = value_of(handle, field, value);
    if (status == kSuccess) *target = static_cast<Number>(std::llround(value / unit));
    return status;
}

// Limits of a device that is lost are not told either.
template <typename Number>
Return fact_of(Handle handle, size_t fact, double unit, Number* target) {
    if (player == nullptr) return kUninitialized;
    auto device = device_of(handle);
    if (!device) return is_gpu_with_slices(handle) ? kNotSupported : kInvalidArgument;
    const Reading* reading = player->at(*device, player->now());
    if (reading != nullptr && reading->lost) return kGpuIsLost;
    double value = player->trace().facts_of(*device)[fact];
    if (std::isnan(value)) return kNotSupported;
    *target = static_cast<Number>(std::llround(value / unit));
    return kSuccess;
}

Return copy_text(const std::string& text, char* target, unsigned size) {
    if (text.size() + 1 > size) return kInsufficientSize;
    memcpy(target, text.c_str(), text.size() + 1);
    return kSuccess;
}

struct Sample {
    double seconds;
    size_t device;
};

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
    if (!trace) {
        fprintf(stderr, "%s", trace.error().render("belay gpu replay").c_str());
        return kDriverNotLoaded;
    }
    player = std::make_unique<Player>(std::move(*trace), speed == nullptr ? 1 : std::max(0.0, atof(speed)));
    return kSuccess;
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

Return nvmlDeviceGetName(Handle handle, char* name, unsigned size) {
    auto device = is_gpu_with_slices(handle) ? std::optional(devices_of_gpu(gpu_index(handle)).at(0))
                                             : device_of(handle);
    return device ? copy_text(devices()[*device].name, name, size) : kInvalidArgument;
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
    *count = is_gpu_with_slices(handle) ? static_cast<unsigned>(devices_of_gpu(gpu_index(handle)).size()) : 0;
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

Return nvmlDeviceGetAttributes_v2(Handle slice, DeviceAttributes* attributes) {
    auto device = device_of(slice);
    unsigned slices = 0;
    unsigned gigabytes = 0;
    if (!device || sscanf(devices()[*device].mig_profile.c_str(), "%ug.%ugb", &slices, &gigabytes) != 2)
        return kNotSupported;
    *attributes = {.gpu_slices = slices, .compute_slices = slices, .memory_mib = gigabytes * 1024ULL};
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

Return nvmlDeviceGetTemperatureThreshold(Handle device, TemperatureThreshold threshold, unsigned* celsius) {
    return fact_of(device,
                   threshold == kThresholdShutdown ? fact("shutdown_celsius") : fact("slowdown_celsius"), 1,
                   celsius);
}

Return nvmlDeviceGetApplicationsClock(Handle device, ClockType type, unsigned* clock) {
    return fact_of(
        device,
        type == kClockMemory ? fact("clock_memory_application_hertz") : fact("clock_sm_application_hertz"),
        1e6, clock);
}

Return nvmlDeviceGetMaxClockInfo(Handle device, ClockType type, unsigned* clock) {
    return fact_of(device, type == kClockMemory ? fact("clock_memory_max_hertz") : fact("clock_sm_max_hertz"),
                   1e6, clock);
}

Return nvmlDeviceGetMaxPcieLinkGeneration(Handle device, unsigned* generation) {
    return fact_of(device, fact("pcie_generation_max"), 1, generation);
}

Return nvmlDeviceGetMaxPcieLinkWidth(Handle device, unsigned* width) {
    return fact_of(device, fact("pcie_width_max"), 1, width);
}

// The last links are those that are down; the first has counted all errors.
Return nvmlDeviceGetNvLinkState(Handle device, unsigned link, unsigned* up) {
    unsigned links = 0, down = 0;
    Return status = fact_of(device, fact("nvlinks"), 1, &links);
    if (status != kSuccess) return status;
    fact_of(device, fact("nvlinks_down"), 1, &down);
    *up = link + down < links ? 1 : 0;
    return link < links ? kSuccess : kInvalidArgument;
}

Return nvmlDeviceGetNvLinkErrorCounter(Handle device, unsigned link, NvlinkCounter counter,
                                       unsigned long long* count) {
    Return status = fact_of(device, fact("nvlink_errors_total"), 1, count);
    if (link > 0 || counter != kNvlinkReplay) *count = 0;
    return status;
}

Return nvmlDeviceGetRetiredPages(Handle device, RetirementCause cause, unsigned* count, unsigned long long*) {
    Return status = fact_of(device, fact("retired_pages"), 1, count);
    if (cause != kCauseSingleBit) *count = 0;
    return status == kSuccess && *count > 0 ? kInsufficientSize : status;
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
