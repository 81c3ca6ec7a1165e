// Our declarations of NVML against the vendor's header: compiled only where that is installed
// (CMakeLists.txt).
#include "gpu/gpm_metrics.h"
#include "gpu/nvml.h"

#include <algorithm>
#include <cstddef>
#include <nvml.h>
#include <type_traits>

#include <gtest/gtest.h>

namespace belay::gpu {
namespace {

// Whether a parameter travels in the same way: by value of the same size, or a pointer to something of the
// same size. Requests for metrics of GPM are longer than the header's on purpose (nvml_abi.h).
template <typename Ours, typename Theirs>
consteval bool is_alike() {
    if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>) {
        using A = std::remove_pointer_t<Ours>;
        using B = std::remove_pointer_t<Theirs>;
        if constexpr (requires { sizeof(A), sizeof(B); } && !std::is_same_v<A, nvml::GpmMetricsGet>)
            return sizeof(A) == sizeof(B) && std::is_pointer_v<A> == std::is_pointer_v<B>;
        return true;
    }
    return sizeof(Ours) == sizeof(Theirs) && std::is_pointer_v<Ours> == std::is_pointer_v<Theirs> &&
           std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
}

template <typename Ours, typename Theirs>
struct IsCalledAlike : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
    requires(sizeof...(A) == sizeof...(B))
struct IsCalledAlike<R (*)(A...), S(B...)>
    : std::bool_constant<is_alike<R, S>() && (is_alike<A, B>() && ...)> {};

#define CALLED_ALIKE(member, function) \
    static_assert(IsCalledAlike<decltype(nvml::Library::member), decltype(function)>::value, #function)

CALLED_ALIKE(init, nvmlInit_v2);
CALLED_ALIKE(shutdown, nvmlShutdown);
CALLED_ALIKE(error_text, nvmlErrorString);
CALLED_ALIKE(driver_version, nvmlSystemGetDriverVersion);
CALLED_ALIKE(device_count, nvmlDeviceGetCount_v2);
CALLED_ALIKE(device_by_index, nvmlDeviceGetHandleByIndex_v2);
CALLED_ALIKE(device_name, nvmlDeviceGetName);
CALLED_ALIKE(device_uuid, nvmlDeviceGetUUID);
CALLED_ALIKE(pci_info, nvmlDeviceGetPciInfo_v3);
CALLED_ALIKE(memory, nvmlDeviceGetMemoryInfo_v2);
CALLED_ALIKE(utilization, nvmlDeviceGetUtilizationRates);
CALLED_ALIKE(clock, nvmlDeviceGetClockInfo);
CALLED_ALIKE(max_clock, nvmlDeviceGetMaxClockInfo);
CALLED_ALIKE(power, nvmlDeviceGetPowerUsage);
CALLED_ALIKE(energy, nvmlDeviceGetTotalEnergyConsumption);
CALLED_ALIKE(temperature, nvmlDeviceGetTemperature);
CALLED_ALIKE(temperature_threshold, nvmlDeviceGetTemperatureThreshold);
CALLED_ALIKE(application_clock, nvmlDeviceGetApplicationsClock);
CALLED_ALIKE(clock_reasons, nvmlDeviceGetCurrentClocksThrottleReasons);
CALLED_ALIKE(ecc_errors, nvmlDeviceGetTotalEccErrors);
CALLED_ALIKE(remapped_rows, nvmlDeviceGetRemappedRows);
CALLED_ALIKE(retired_pages, nvmlDeviceGetRetiredPages);
CALLED_ALIKE(nvlink_state, nvmlDeviceGetNvLinkState);
CALLED_ALIKE(pcie_replays, nvmlDeviceGetPcieReplayCounter);
CALLED_ALIKE(pcie_generation, nvmlDeviceGetCurrPcieLinkGeneration);
CALLED_ALIKE(pcie_width, nvmlDeviceGetCurrPcieLinkWidth);
CALLED_ALIKE(pcie_max_generation, nvmlDeviceGetMaxPcieLinkGeneration);
CALLED_ALIKE(pcie_max_width, nvmlDeviceGetMaxPcieLinkWidth);
CALLED_ALIKE(field_values, nvmlDeviceGetFieldValues);
CALLED_ALIKE(processes, nvmlDeviceGetComputeRunningProcesses_v3);
CALLED_ALIKE(mig_mode, nvmlDeviceGetMigMode);
CALLED_ALIKE(mig_device_count, nvmlDeviceGetMaxMigDeviceCount);
CALLED_ALIKE(mig_device, nvmlDeviceGetMigDeviceHandleByIndex);
CALLED_ALIKE(gpu_instance, nvmlDeviceGetGpuInstanceId);
CALLED_ALIKE(attributes, nvmlDeviceGetAttributes_v2);
CALLED_ALIKE(gpm_support, nvmlGpmQueryDeviceSupport);
CALLED_ALIKE(gpm_sample_new, nvmlGpmSampleAlloc);
CALLED_ALIKE(gpm_sample_free, nvmlGpmSampleFree);
CALLED_ALIKE(gpm_sample_take, nvmlGpmSampleGet);
CALLED_ALIKE(gpm_mig_sample_take, nvmlGpmMigSampleGet);
CALLED_ALIKE(gpm_metrics, nvmlGpmMetricsGet);
CALLED_ALIKE(event_set_new, nvmlEventSetCreate);
CALLED_ALIKE(event_set_free, nvmlEventSetFree);
CALLED_ALIKE(register_events, nvmlDeviceRegisterEvents);
CALLED_ALIKE(wait_event, nvmlEventSetWait_v2);

#define SAME(ours, theirs) \
    static_assert(static_cast<long long>(nvml::ours) == static_cast<long long>(theirs), #theirs)

SAME(kSuccess, NVML_SUCCESS);
SAME(kUninitialized, NVML_ERROR_UNINITIALIZED);
SAME(kInvalidArgument, NVML_ERROR_INVALID_ARGUMENT);
SAME(kNotSupported, NVML_ERROR_NOT_SUPPORTED);
SAME(kNoPermission, NVML_ERROR_NO_PERMISSION);
SAME(kNotFound, NVML_ERROR_NOT_FOUND);
SAME(kInsufficientSize, NVML_ERROR_INSUFFICIENT_SIZE);
SAME(kDriverNotLoaded, NVML_ERROR_DRIVER_NOT_LOADED);
SAME(kTimeout, NVML_ERROR_TIMEOUT);
SAME(kFunctionNotFound, NVML_ERROR_FUNCTION_NOT_FOUND);
SAME(kGpuIsLost, NVML_ERROR_GPU_IS_LOST);
SAME(kResetRequired, NVML_ERROR_RESET_REQUIRED);
SAME(kVersionMismatch, NVML_ERROR_LIB_RM_VERSION_MISMATCH);
SAME(kNoData, NVML_ERROR_NO_DATA);
SAME(kUnknown, NVML_ERROR_UNKNOWN);
SAME(kClockGraphics, NVML_CLOCK_GRAPHICS);
SAME(kClockSm, NVML_CLOCK_SM);
SAME(kClockMemory, NVML_CLOCK_MEM);
SAME(kTemperatureGpu, NVML_TEMPERATURE_GPU);
SAME(kThresholdShutdown, NVML_TEMPERATURE_THRESHOLD_SHUTDOWN);
SAME(kThresholdSlowdown, NVML_TEMPERATURE_THRESHOLD_SLOWDOWN);
SAME(kNvlinkReplay, NVML_NVLINK_ERROR_DL_REPLAY);
SAME(kNvlinkRecovery, NVML_NVLINK_ERROR_DL_RECOVERY);
SAME(kNvlinkCrcFlit, NVML_NVLINK_ERROR_DL_CRC_FLIT);
SAME(kNvlinkCrcData, NVML_NVLINK_ERROR_DL_CRC_DATA);
SAME(kCauseSingleBit, NVML_PAGE_RETIREMENT_CAUSE_MULTIPLE_SINGLE_BIT_ECC_ERRORS);
SAME(kCauseDoubleBit, NVML_PAGE_RETIREMENT_CAUSE_DOUBLE_BIT_ECC_ERROR);
SAME(kCorrected, NVML_MEMORY_ERROR_TYPE_CORRECTED);
SAME(kUncorrected, NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
SAME(kVolatile, NVML_VOLATILE_ECC);
SAME(kAggregate, NVML_AGGREGATE_ECC);
SAME(kDouble, NVML_VALUE_TYPE_DOUBLE);
SAME(kUnsignedInt, NVML_VALUE_TYPE_UNSIGNED_INT);
SAME(kUnsignedLong, NVML_VALUE_TYPE_UNSIGNED_LONG);
SAME(kUnsignedLongLong, NVML_VALUE_TYPE_UNSIGNED_LONG_LONG);
SAME(kSignedLongLong, NVML_VALUE_TYPE_SIGNED_LONG_LONG);
SAME(kEventXid, nvmlEventTypeXidCriticalError);
SAME(kFieldMemoryTemperature, NVML_FI_DEV_MEMORY_TEMP);
SAME(kFieldPowerViolation, NVML_FI_DEV_PERF_POLICY_POWER);
SAME(kFieldThermalViolation, NVML_FI_DEV_PERF_POLICY_THERMAL);
SAME(kFieldNvlinkCrcFlit, NVML_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL);
SAME(kFieldNvlinkCrcData, NVML_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL);
SAME(kFieldNvlinkReplay, NVML_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL);
SAME(kFieldNvlinkRecovery, NVML_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL);
SAME(kMemoryVersion, nvmlMemory_v2);
SAME(kGpmVersion, NVML_GPM_METRICS_GET_VERSION);
SAME(kGpmVersion, NVML_GPM_SUPPORT_VERSION);
SAME(kNameBytes, NVML_DEVICE_NAME_V2_BUFFER_SIZE);
SAME(kUuidBytes, NVML_DEVICE_UUID_V2_BUFFER_SIZE);
SAME(kDriverBytes, NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE);
static_assert(nvml::kMostNvlinks >= NVML_NVLINK_MAX_LINKS);
static_assert(nvml::kGpmMetrics >= NVML_GPM_METRIC_MAX);
// Headers of before 12.8 lack these.
#ifdef nvmlMarginTemperature_v1
CALLED_ALIKE(temperature_margin, nvmlDeviceGetMarginTemperature);
SAME(kMarginVersion, nvmlMarginTemperature_v1);
static_assert(offsetof(nvml::MarginTemperature, celsius) ==
              offsetof(nvmlMarginTemperature_t, marginTemperature));
#endif
#ifdef NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
SAME(kFieldRecoveryAction, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION);
#endif

#define SAME_SIZE(ours, theirs) static_assert(sizeof(nvml::ours) == sizeof(theirs), #theirs)
#define SAME_PLACE(ours, member, theirs, their_member)                              \
    static_assert(offsetof(nvml::ours, member) == offsetof(theirs, their_member) && \
                      sizeof(nvml::ours::member) == sizeof(theirs::their_member),   \
                  #theirs "::" #their_member)

SAME_SIZE(Utilization, nvmlUtilization_t);
SAME_PLACE(Utilization, gpu, nvmlUtilization_t, gpu);
SAME_SIZE(MemoryV2, nvmlMemory_v2_t);
SAME_PLACE(MemoryV2, total, nvmlMemory_v2_t, total);
SAME_PLACE(MemoryV2, reserved, nvmlMemory_v2_t, reserved);
SAME_PLACE(MemoryV2, free, nvmlMemory_v2_t, free);
SAME_PLACE(MemoryV2, used, nvmlMemory_v2_t, used);
SAME_SIZE(PciInfo, nvmlPciInfo_t);
SAME_PLACE(PciInfo, domain, nvmlPciInfo_t, domain);
SAME_PLACE(PciInfo, bus, nvmlPciInfo_t, bus);
SAME_PLACE(PciInfo, device, nvmlPciInfo_t, device);
SAME_SIZE(DeviceAttributes, nvmlDeviceAttributes_t);
SAME_PLACE(DeviceAttributes, multiprocessors, nvmlDeviceAttributes_t, multiprocessorCount);
SAME_PLACE(DeviceAttributes, gpu_slices, nvmlDeviceAttributes_t, gpuInstanceSliceCount);
SAME_PLACE(DeviceAttributes, compute_slices, nvmlDeviceAttributes_t, computeInstanceSliceCount);
SAME_PLACE(DeviceAttributes, memory_mib, nvmlDeviceAttributes_t, memorySizeMB);
SAME_SIZE(ProcessInfo, nvmlProcessInfo_t);
SAME_PLACE(ProcessInfo, used_memory, nvmlProcessInfo_t, usedGpuMemory);
SAME_SIZE(Value, nvmlValue_t);
SAME_SIZE(FieldValue, nvmlFieldValue_t);
SAME_PLACE(FieldValue, field, nvmlFieldValue_t, fieldId);
SAME_PLACE(FieldValue, scope, nvmlFieldValue_t, scopeId);
SAME_PLACE(FieldValue, type, nvmlFieldValue_t, valueType);
SAME_PLACE(FieldValue, status, nvmlFieldValue_t, nvmlReturn);
SAME_PLACE(FieldValue, value, nvmlFieldValue_t, value);
SAME_SIZE(EventData, nvmlEventData_t);
SAME_PLACE(EventData, device, nvmlEventData_t, device);
SAME_PLACE(EventData, type, nvmlEventData_t, eventType);
SAME_PLACE(EventData, data, nvmlEventData_t, eventData);
SAME_SIZE(GpmMetric, nvmlGpmMetric_t);
SAME_PLACE(GpmMetric, id, nvmlGpmMetric_t, metricId);
SAME_PLACE(GpmMetric, status, nvmlGpmMetric_t, nvmlReturn);
SAME_PLACE(GpmMetric, value, nvmlGpmMetric_t, value);
static_assert(sizeof(nvml::GpmMetricsGet) >= sizeof(nvmlGpmMetricsGet_t));
SAME_PLACE(GpmMetricsGet, version, nvmlGpmMetricsGet_t, version);
SAME_PLACE(GpmMetricsGet, count, nvmlGpmMetricsGet_t, numMetrics);
SAME_PLACE(GpmMetricsGet, first, nvmlGpmMetricsGet_t, sample1);
SAME_PLACE(GpmMetricsGet, second, nvmlGpmMetricsGet_t, sample2);
static_assert(offsetof(nvml::GpmMetricsGet, metrics) == offsetof(nvmlGpmMetricsGet_t, metrics));
SAME_SIZE(GpmSupport, nvmlGpmSupport_t);
SAME_PLACE(GpmSupport, supported, nvmlGpmSupport_t, isSupportedDevice);

TEST(gpu, metrics_of_gpm_have_the_ids_of_the_installed_header) {
    struct Metric {
        size_t field;
        unsigned id;
    };
    const Metric metrics[] = {
        {field("engine_active_ratio"), NVML_GPM_METRIC_GRAPHICS_UTIL},
        {field("sm_active_ratio"), NVML_GPM_METRIC_SM_UTIL},
        {field("sm_occupancy_ratio"), NVML_GPM_METRIC_SM_OCCUPANCY},
        {field("integer_active_ratio"), NVML_GPM_METRIC_INTEGER_UTIL},
        {field("tensor_active_ratio"), NVML_GPM_METRIC_ANY_TENSOR_UTIL},
        {field("tensor_double_active_ratio"), NVML_GPM_METRIC_DFMA_TENSOR_UTIL},
        {field("tensor_half_active_ratio"), NVML_GPM_METRIC_HMMA_TENSOR_UTIL},
        {field("tensor_integer_active_ratio"), NVML_GPM_METRIC_IMMA_TENSOR_UTIL},
        {field("dram_active_ratio"), NVML_GPM_METRIC_DRAM_BW_UTIL},
        {field("fp64_active_ratio"), NVML_GPM_METRIC_FP64_UTIL},
        {field("fp32_active_ratio"), NVML_GPM_METRIC_FP32_UTIL},
        {field("fp16_active_ratio"), NVML_GPM_METRIC_FP16_UTIL},
        {field("jpeg_active_ratio"), NVML_GPM_METRIC_NVJPG_0_UTIL},
        {field("pcie_sent_bytes_per_second"), NVML_GPM_METRIC_PCIE_TX_PER_SEC},
        {field("pcie_received_bytes_per_second"), NVML_GPM_METRIC_PCIE_RX_PER_SEC},
        {field("nvlink_received_bytes_per_second"), NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC},
        {field("nvlink_sent_bytes_per_second"), NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC},
#if NVML_API_VERSION >= 13
        {field("c2c_sent_bytes_per_second"), NVML_GPM_METRIC_C2C_TOTAL_TX_PER_SEC},
        {field("c2c_received_bytes_per_second"), NVML_GPM_METRIC_C2C_TOTAL_RX_PER_SEC},
#endif
    };
    for (const Metric& metric : metrics) {
        auto ours = std::ranges::find(kGpmMetricFields, metric.field, &GpmMetricField::field);
        ASSERT_NE(ours, std::end(kGpmMetricFields)) << kFields[metric.field].name;
        EXPECT_EQ(ours->id, metric.id) << kFields[metric.field].name;
    }
}

}  // namespace
}  // namespace belay::gpu
