// The counters of pipes and DRAM of one device (NVML's GPM; Hopper and newer): means between two samples.
#pragma once

#include "gpu/field.h"
#include "gpu/nvml.h"

#include <memory>
#include <optional>

namespace belay::gpu {

class GpmCounters {
  public:
    // Null if the device has none. `gpu` is the whole GPU also for a slice, which is its `instance`. The
    // library must live longer.
    static std::unique_ptr<GpmCounters> open(const nvml::Library& library, nvml::Handle gpu,
                                             std::optional<unsigned> instance);
    ~GpmCounters();
    GpmCounters(const GpmCounters&) = delete;
    GpmCounters& operator=(const GpmCounters&) = delete;

    // Fills in what the device gives: means since the reading before, or since it was opened. Nothing if a
    // sample at either end failed.
    void read(Reading& reading);

  private:
    GpmCounters(const nvml::Library& library, nvml::Handle gpu, std::optional<unsigned> instance)
        : library_(library), gpu_(gpu), instance_(instance) {}
    bool take(nvml::GpmSample sample) const;

    const nvml::Library& library_;
    nvml::Handle gpu_;
    std::optional<unsigned> instance_;
    nvml::GpmSample before_ = nullptr;
    nvml::GpmSample now_ = nullptr;
    bool has_before_ = false;
    std::unique_ptr<nvml::GpmMetricsGet> request_;
};

}  // namespace belay::gpu
