// The part of NVML's binary interface that Belay calls: declarations of our own, so that neither the vendor's
// header nor its library is needed to build. Values and layouts are those of NVML's public header (API
// version 11 to 13); where that header is installed, a test compares them
// (testing/nvml_header_test.cpp).
#pragma once

namespace belay::gpu::nvml {

extern "C" {

struct DeviceTag;
struct GpmSampleTag;
struct EventSetTag;
using Handle = DeviceTag*;
using GpmSample = GpmSampleTag*;
using EventSet = EventSetTag*;

enum Return : int {
    kSuccess = 0,
    kUninitialized = 1,
    kInvalidArgument = 2,
    kNotSupported = 3,
    kNoPermission = 4,
    kNotFound = 6,
    kInsufficientSize = 7,
    kDriverNotLoaded = 9,
    kTimeout = 10,
    kFunctionNotFound = 13,
    kGpuIsLost = 15,
    kResetRequired = 16,
    kVersionMismatch = 18,
    kNoData = 21,
    kUnknown = 999,
};

inline constexpr double kMega = 1e6;  // of its clocks, which are in MHz
enum ClockType : int { kClockGraphics = 0, kClockSm = 1, kClockMemory = 2 };
enum TemperatureSensor : int { kTemperatureGpu = 0 };
enum TemperatureThreshold : int { kThresholdShutdown = 0, kThresholdSlowdown = 1 };
enum NvlinkCounter : int { kNvlinkReplay = 0, kNvlinkRecovery = 1, kNvlinkCrcFlit = 2, kNvlinkCrcData = 3 };
enum RetirementCause : int { kCauseSingleBit = 0, kCauseDoubleBit = 1 };
enum MemoryError : int { kCorrected = 0, kUncorrected = 1 };
enum EccCounter : int { kVolatile = 0, kAggregate = 1 };
enum ValueType : int {
    kDouble = 0,
    kUnsignedInt = 1,
    kUnsignedLong = 2,
    kUnsignedLongLong = 3,
    kSignedLongLong = 4,
    kSignedInt = 5,
    kUnsignedShort = 6
};

inline constexpr unsigned long long kEventXid = 0x8;

// Ids of nvmlDeviceGetFieldValues.
inline constexpr unsigned kFieldNvlinkCrcFlit = 38, kFieldNvlinkCrcData = 45;  // of all links
inline constexpr unsigned kFieldNvlinkReplay = 52, kFieldNvlinkRecovery = 59;
inline constexpr unsigned kFieldPowerViolation = 74, kFieldThermalViolation = 75;  // ns
inline constexpr unsigned kFieldMemoryTemperature = 82;
inline constexpr unsigned kFieldRecoveryAction = 230;

struct Utilization {
    unsigned gpu;  // percent of the last sample period in which a kernel ran
    unsigned memory;
};

struct MemoryV2 {
    unsigned version;
    unsigned long long total, reserved, free, used;  // bytes
};

struct MarginTemperature {
    unsigned version;
    int celsius;  // until the clocks are lowered
};

struct PciInfo {
    char legacy_address[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32];
};

struct DeviceAttributes {  // of a MIG device
    unsigned multiprocessors, copy_engines, decoders, encoders, jpeg_engines, ofa_engines;
    unsigned gpu_slices, compute_slices;
    unsigned long long memory_mib;
};

struct ProcessInfo {
    unsigned pid;
    unsigned long long used_memory;  // bytes; all ones if not known
    unsigned gpu_instance, compute_instance;
};

union Value {
    double real;
    int signed_int;
    unsigned unsigned_int;
    unsigned long unsigned_long;
    unsigned long long unsigned_long_long;
    signed long long signed_long_long;
    unsigned short unsigned_short;
};

struct FieldValue {
    unsigned field;
    unsigned scope;
    long long timestamp;  // µs since 1970
    long long latency;    // µs
    ValueType type;
    Return status;
    Value value;
};

struct EventData {
    Handle device;
    unsigned long long type;
    unsigned long long data;  // the XID
    unsigned gpu_instance, compute_instance;
};

// A metric of GPM: ratios as percent, rates in MiB/s.
struct GpmMetric {
    unsigned id;
    Return status;
    double value;
    struct {
        char* short_name;
        char* long_name;
        char* unit;
    } info;
};

// The array's bound grows with the library's version (333 in version 13); an array longer than its own is
// safe.
inline constexpr unsigned kGpmMetrics = 512;
struct GpmMetricsGet {
    unsigned version;  // 1
    unsigned count;
    GpmSample first;
    GpmSample second;
    GpmMetric metrics[kGpmMetrics];
};

struct GpmSupport {
    unsigned version;  // 1
    unsigned supported;
};
}

inline constexpr unsigned kMemoryVersion = sizeof(MemoryV2) | (2U << 24);
inline constexpr unsigned kMarginVersion = sizeof(MarginTemperature) | (1U << 24);
inline constexpr unsigned kGpmVersion = 1;
inline constexpr unsigned kMostNvlinks = 36;  // 18 in versions before 13.3

inline constexpr unsigned kNameBytes = 96;
inline constexpr unsigned kUuidBytes = 96;
inline constexpr unsigned kDriverBytes = 80;

}  // namespace belay::gpu::nvml
