// The part of DCGM's binary interface that Belay calls: declarations of our own, as in nvml_abi.h. Values and
// layouts are those of DCGM's public headers (dcgm_structs.h, dcgm_agent.h, dcgm_fields.h; versions 3 and 4).
#pragma once

#include <cstdint>

namespace belay::gpu::dcgm {

extern "C" {

using Handle = uintptr_t;
using Group = uintptr_t;
using FieldGroup = uintptr_t;

enum Return : int {
    kOk = 0,
    kBadParameter = -1,
    kNotSupported = -6,
    kTimeout = -11,
    kNoData = -14,
    kNotWatched = -16,
    kNoPermission = -17,
    kGpuIsLost = -18,
    kConnectionNotValid = -21,
};

inline constexpr int kMostDevices = 32;
inline constexpr Group kAllGpus = 0x7fffffff;

struct ConnectParameters {
    unsigned version;
    unsigned persist_after_disconnect;
    unsigned timeout_milliseconds;
    unsigned address_is_unix_socket;
};

// What a value is.
inline constexpr unsigned short kDouble = 'd';
inline constexpr unsigned short kInteger = 'i';
inline constexpr unsigned short kText = 's';

struct FieldValue {
    unsigned version;
    unsigned short field;
    unsigned short type;
    int status;
    int64_t timestamp;  // µs since 1970
    union {
        int64_t integer;
        double real;
        char text[256];
        char blob[4096];
    } value;
};
}

inline constexpr unsigned kConnectVersion = sizeof(ConnectParameters) | (2U << 24);
static_assert(sizeof(ConnectParameters) == 16 && sizeof(FieldValue) == 24 + 4096);

// From here on a number means that there is none, and why (dcgm_structs.h, DCGM_FP64_BLANK and
// DCGM_INT64_BLANK).
inline constexpr double kBlankReal = 140737488355328.0;
inline constexpr int64_t kBlankInteger = 0x7ffffffffffffff0;

}  // namespace belay::gpu::dcgm
