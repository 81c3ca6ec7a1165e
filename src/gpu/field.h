// What is measured on a GPU (schema/tables/gpu.h), as the readings of a source.
#pragma once

#include "schema/tables/gpu.h"

#include <cmath>
#include <limits>

namespace belay::gpu {

using Field = schema::Quantity;
using FieldType = schema::ColumnType;
inline constexpr const auto& kFields = schema::kGpuFields;
inline constexpr size_t kFieldCount = schema::kGpuFieldCount;

// The index of a field, at compile time; an unknown name does not compile.
consteval size_t field(std::string_view name) {
    return schema::gpu_field(name);
}

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// kMissing where the device or the source does not have a field.
struct Reading : schema::GpuValues {
    bool lost = false;  // the device no longer answers ("fell off the bus"); nothing else is known
};

}  // namespace belay::gpu
