// Where readings of GPUs come from: NVML, DCGM, or a recorded trace behind the same interface of NVML.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "gpu/facts.h"
#include "gpu/field.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace belay::gpu {

struct Device {
    std::string uuid;
    int index = 0;            // of the driver; not the number in /dev/nvidiaN
    std::string name;         // "NVIDIA H100 80GB HBM3"
    std::string mig_profile;  // as the driver calls it, "1g.18gb"; empty for a whole GPU
    double weight = 1;        // share of the whole GPU's multiprocessors
    std::string driver;
    bool profiling = false;   // has the counters of pipes and DRAM (GPM)
    std::string pci_address;  // of the whole GPU, "0000:81:00.0"; empty if the driver does not tell
};

struct Xid {
    std::string uuid;  // of the whole GPU, also where its slices are the devices
    int index = 0;     // as Device::index; -1 if it is not known
    int64_t code = 0;
};

// Not thread-safe. A device that fails does not hide the others.
class Source {
  public:
    virtual ~Source() = default;
    // As they were when the source was opened.
    virtual const std::vector<Device>& devices() const = 0;
    // As it stands in the record.
    virtual std::string_view name() const { return "nvml"; }
    // Means are over the time since the device's reading before, or since the source was opened.
    virtual Reading read(size_t device) = 0;
    // As they are now; nothing of a device that is lost.
    virtual Facts facts(size_t) { return {}; }
    // Errors that the driver has reported since the last call.
    virtual std::vector<Xid> take_xids() = 0;

    // Why this one stands in for a source that would show more; nothing where none was to be had.
    const std::optional<core::Error>& stands_in_because() const { return stands_in_because_; }
    void stand_in(core::Error why) { stands_in_because_ = std::move(why); }

  private:
    std::optional<core::Error> stands_in_because_;
};

// Loads libnvidia-ml.so.1, or the library that `library` names. Errors: kSystem; kNotFound where there is no
// driver, and another cause (kDenied, kTimedOut, kOther) where it is there and does not start.
core::Result<std::unique_ptr<Source>> open_nvml(const std::string& library = "libnvidia-ml.so.1");

// A host engine of DCGM that runs already; none is started. It looks at this interval, and keeps what it
// watches for Belay until the source is closed. Errors: kSystem; kNotFound without DCGM, kUnreachable where
// no host engine answers.
core::Result<std::unique_ptr<Source>> open_dcgm(const std::string& library, const std::string& address,
                                                core::Duration interval);

}  // namespace belay::gpu
