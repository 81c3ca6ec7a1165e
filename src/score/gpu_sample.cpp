#include "score/gpu_sample.h"

#include "score/companion.h"

#include <cmath>

namespace belay::score {

namespace {

double has_any(double value, int64_t bits) {
    if (std::isnan(value)) return kMissing;
    return (static_cast<int64_t>(value) & bits) != 0 ? 1 : 0;
}

double both(double sent, double received) {
    if (std::isnan(sent)) return received;
    return std::isnan(received) ? sent : sent + received;
}

}  // namespace

Activity GpuSample::activity() const {
    static constexpr std::array<size_t, kLimits> kPipes = {
        schema::gpu_field("tensor_active_ratio"), schema::gpu_field("fp64_active_ratio"),
        schema::gpu_field("fp32_active_ratio"), schema::gpu_field("fp16_active_ratio"),
        schema::gpu_field("dram_active_ratio")};
    Activity activity;
    for (size_t i = 0; i < kLimits; ++i) activity.active[i] = values[kPipes[i]];
    activity.integer = values[schema::gpu_field("integer_active_ratio")];
    activity.tensor_fp64 = values[schema::gpu_field("tensor_double_active_ratio")];
    activity.engine = values[schema::gpu_field("engine_active_ratio")];
    activity.sm = values[schema::gpu_field("sm_active_ratio")];
    activity.clock_hertz = values[schema::gpu_field("clock_sm_hertz")];
    return activity;
}

std::array<double, kLinks> GpuSample::links() const {
    static constexpr std::array<size_t, kLinks> kQuantity = {schema::gpu_quantity("pcie_bytes_per_second"),
                                                             schema::gpu_quantity("nvlink_bytes_per_second"),
                                                             schema::gpu_quantity("c2c_bytes_per_second")};
    std::array<double, kLinks> links;
    for (size_t i = 0; i < kLinks; ++i) {
        const schema::GpuQuantity& link = schema::kGpuQuantities[kQuantity[i]];
        links[i] = both(values[link.first], values[link.second]);
    }
    return links;
}

double value_of(const schema::GpuQuantity& quantity, const GpuSample& sample,
                const DeviceCeilings& ceilings) {
    switch (quantity.origin) {
        case schema::GpuOrigin::kModel:
            break;
        case schema::GpuOrigin::kField:
            return sample[quantity.first];
        case schema::GpuOrigin::kSum:
            return both(sample[quantity.first], sample[quantity.second]);
        case schema::GpuOrigin::kAnyBit:
            return has_any(sample[quantity.first], quantity.bits);
        case schema::GpuOrigin::kLinks:
            return link_use(sample.links(), ceilings.links);
    }
    return kMissing;
}

}  // namespace belay::score
