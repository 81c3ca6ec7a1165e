// Readings from NVML. What a device or its driver does not have is missing, each field by itself.
#include "gpu/gpm.h"
#include "gpu/mig.h"
#include "gpu/nvml.h"
#include "gpu/nvml_facts.h"
#include "gpu/source.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace belay::gpu {

using core::Result;
using namespace nvml;

namespace {

// One number of a device, in the units of `field.h`.
using Getter = Return (*)(const Library&, Handle, double&);

template <auto Function, auto... Arguments>
Return number(const Library& library, Handle device, double& value, double unit) {
    if (library.*Function == nullptr) return kFunctionNotFound;
    unsigned raw = 0;
    Return status = (library.*Function)(device, Arguments..., &raw);
    value = raw * unit;
    return status;
}

template <auto Function, auto... Arguments>
Return long_number(const Library& library, Handle device, double& value, double unit) {
    if (library.*Function == nullptr) return kFunctionNotFound;
    unsigned long long raw = 0;
    Return status = (library.*Function)(device, Arguments..., &raw);
    value = static_cast<double>(raw) * unit;
    return status;
}

constexpr double kMilli = 1e-3;

struct Row {
    size_t field;
    Getter get;
};

constexpr Row kRows[] = {
    {field("utilization_ratio"),
     [](const Library& nvml, Handle device, double& value) {
         if (nvml.utilization == nullptr) return kFunctionNotFound;
         Utilization rates{};
         Return status = nvml.utilization(device, &rates);
         value = rates.gpu / 100.0;
         return status;
     }},
    {field("clock_sm_hertz"),
     [](const Library& nvml, Handle device, double& value) {
         return number<&Library::clock, kClockSm>(nvml, device, value, kMega);
     }},
    {field("clock_memory_hertz"),
     [](const Library& nvml, Handle device, double& value) {
         return number<&Library::clock, kClockMemory>(nvml, device, value, kMega);
     }},
    {field("temperature_celsius"),
     [](const Library& nvml, Handle device, double& value) {
         return number<&Library::temperature, kTemperatureGpu>(nvml, device, value, 1);
     }},
    {field("power_watts"),
     [](const Library& nvml, Handle device, double& value) {
         return number<&Library::power>(nvml, device, value, kMilli);
     }},
    {field("energy_joules_total"),
     [](const Library& nvml, Handle device, double& value) {
         return long_number<&Library::energy>(nvml, device, value, kMilli);
     }},
    {field("clock_event_reasons"),
     [](const Library& nvml, Handle device, double& value) {
         return long_number<&Library::clock_reasons>(nvml, device, value, 1);
     }},
    {field("ecc_corrected_total"),
     [](const Library& nvml, Handle device, double& value) {
         return long_number<&Library::ecc_errors, kCorrected, kVolatile>(nvml, device, value, 1);
     }},
    {field("ecc_uncorrected_total"),
     [](const Library& nvml, Handle device, double& value) {
         return long_number<&Library::ecc_errors, kUncorrected, kVolatile>(nvml, device, value, 1);
     }},
    {field("pcie_replays_total"),
     [](const Library& nvml, Handle device, double& value) {
         return number<&Library::pcie_replays>(nvml, device, value, 1);
     }},
    {field("pcie_generation"),
     [](const Library& nvml, Handle device, double& value) {
         return number<&Library::pcie_generation>(nvml, device, value, 1);
     }},
    {field("pcie_width"), [](const Library& nvml, Handle device,
                             double& value) { return number<&Library::pcie_width>(nvml, device, value, 1); }},
    {field("processes"),
     [](const Library& nvml, Handle device, double& value) {
         if (nvml.processes == nullptr) return kFunctionNotFound;
         unsigned count = 0;
         Return status = nvml.processes(device, &count, nullptr);
         value = count;
         return status == kInsufficientSize ? kSuccess : status;
     }},
};

// Values that only nvmlDeviceGetFieldValues gives; several of one field add up.
struct FieldRow {
    unsigned id;
    size_t field;
    double unit;
};

constexpr double kNano = 1e-9;
constexpr FieldRow kFieldValues[] = {
    {kFieldMemoryTemperature, field("memory_temperature_celsius"), 1},
    {kFieldPowerViolation, field("power_violation_seconds_total"), kNano},
    {kFieldThermalViolation, field("thermal_violation_seconds_total"), kNano},
    {kFieldNvlinkCrcFlit, field("nvlink_errors_total"), 1},
    {kFieldNvlinkCrcData, field("nvlink_errors_total"), 1},
    {kFieldNvlinkReplay, field("nvlink_errors_total"), 1},
    {kFieldNvlinkRecovery, field("nvlink_errors_total"), 1},
};

double value_of(const FieldValue& value) {
    if (value.status != kSuccess) return kMissing;
    switch (value.type) {
        case kUnsignedInt:
            return value.value.unsigned_int;
        case kUnsignedLong:
            return static_cast<double>(value.value.unsigned_long);
        case kUnsignedLongLong:
            return static_cast<double>(value.value.unsigned_long_long);
        default:
            return kMissing;
    }
}

// NVML writes no more than it is told, but not always the zero at the end.
template <size_t kBytes, typename Function>
std::string text_of(Function function) {
    std::array<char, kBytes + 1> buffer{};
    if (function(buffer.data(), kBytes) != kSuccess) return "";
    return buffer.data();
}

class NvmlSource : public Source {
  public:
    explicit NvmlSource(std::unique_ptr<Library> library) : nvml_(std::move(library)) {
        if (nvml_->driver_version != nullptr)
            driver_ = text_of<kDriverBytes>(
                [&](char* text, unsigned size) { return nvml_->driver_version(text, size); });
    }
    ~NvmlSource() override {
        entries_.clear();
        if (events_ != nullptr) nvml_->event_set_free(events_);
    }

    Result<> list() {
        unsigned count = 0;
        if (Return status = nvml_->device_count(&count); status != kSuccess)
            return core::system_error("NVML cannot list its devices: {}", describe(status))
                .because(cause_of(status));
        for (unsigned index = 0; index < count; ++index) {
            Handle device = nullptr;
            Return status = nvml_->device_by_index(index, &device);
            if (status == kNoPermission) continue;  // counted, but another job's
            if (status != kSuccess) {
                add_lost(static_cast<int>(index));
                continue;
            }
            watch(device, static_cast<int>(index));
            if (!add_slices(device, static_cast<int>(index))) add(device, static_cast<int>(index));
        }
        return {};
    }

    const std::vector<Device>& devices() const override { return devices_; }

    Reading read(size_t index) override {
        Reading reading;
        Entry& entry = entries_.at(index);
        if (entry.device == nullptr) {
            reading.lost = true;
            return reading;
        }
        for (const Row& row : kRows) {
            double value = kMissing;
            Return status = row.get(*nvml_, entry.device, value);
            if (status == kGpuIsLost) {
                Reading nothing;
                nothing.lost = true;
                return nothing;
            }
            if (status == kSuccess) reading[row.field] = value;
        }
        read_memory(entry.device, reading);
        read_rows(entry.device, reading);
        read_field_values(entry.device, reading);
        if (entry.counters) entry.counters->read(reading);
        return reading;
    }

    Facts facts(size_t index) override {
        const Entry& entry = entries_.at(index);
        return entry.device == nullptr ? Facts() : read_facts(*nvml_, entry.device);
    }

    std::vector<Xid> take_xids() override {
        std::vector<Xid> xids;
        EventData event{};
        while (events_ != nullptr && xids.size() < kMostXids &&
               nvml_->wait_event(events_, &event, 0) == kSuccess) {
            if ((event.type & kEventXid) == 0) continue;
            auto watched = std::ranges::find(watched_, event.device, &Watched::device);
            xids.push_back({.uuid = uuid_of(event.device),
                            .index = watched == watched_.end() ? -1 : watched->index,
                            .code = static_cast<int64_t>(event.data)});
        }
        return xids;
    }

  private:
    static constexpr size_t kMostXids = 1000;

    struct Watched {
        Handle device;
        int index;
    };
    struct Entry {
        Handle device;
        std::unique_ptr<GpmCounters> counters;
    };

    std::string uuid_of(Handle device) const {
        if (nvml_->device_uuid == nullptr) return "";
        return text_of<kUuidBytes>(
            [&](char* text, unsigned size) { return nvml_->device_uuid(device, text, size); });
    }

    std::string name_of(Handle device) const {
        if (nvml_->device_name == nullptr) return "";
        return text_of<kNameBytes>(
            [&](char* text, unsigned size) { return nvml_->device_name(device, text, size); });
    }

    std::string pci_address_of(Handle device) const {
        PciInfo pci{};
        if (nvml_->pci_info == nullptr || nvml_->pci_info(device, &pci) != kSuccess) return "";
        return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
    }

    void add_lost(int index) {
        devices_.push_back({.index = index, .driver = driver_});
        entries_.push_back({nullptr, nullptr});
    }

    void add(Handle device, int index) {
        auto counters = GpmCounters::open(*nvml_, device, std::nullopt);
        devices_.push_back({.uuid = uuid_of(device),
                            .index = index,
                            .name = name_of(device),
                            .driver = driver_,
                            .profiling = counters != nullptr,
                            .pci_address = pci_address_of(device)});
        entries_.push_back({device, std::move(counters)});
    }

    // Under MIG the slices are the devices. False if the GPU has none.
    bool add_slices(Handle gpu, int index) {
        unsigned now = 0;
        unsigned pending = 0;
        if (nvml_->mig_mode == nullptr || nvml_->mig_device_count == nullptr ||
            nvml_->mig_device == nullptr || nvml_->mig_mode(gpu, &now, &pending) != kSuccess || now == 0)
            return false;
        unsigned most = 0;
        if (nvml_->mig_device_count(gpu, &most) != kSuccess) return false;
        bool any = false;
        for (unsigned slice = 0; slice < most; ++slice) {
            Handle device = nullptr;
            if (nvml_->mig_device(gpu, slice, &device) != kSuccess) continue;
            add_slice(gpu, device, index, most);
            any = true;
        }
        return any;
    }

    void add_slice(Handle gpu, Handle slice, int index, unsigned most) {
        Device device{.uuid = uuid_of(slice), .index = index, .name = name_of(gpu), .driver = driver_};
        device.pci_address = pci_address_of(gpu);
        DeviceAttributes attributes{};
        if (nvml_->attributes != nullptr && nvml_->attributes(slice, &attributes) == kSuccess) {
            device.mig_profile = mig_profile(name_of(slice), attributes);
            device.weight = mig_weight(attributes, most);
        }
        unsigned instance = 0;
        std::optional<unsigned> known;
        if (nvml_->gpu_instance != nullptr && nvml_->gpu_instance(slice, &instance) == kSuccess)
            known = instance;
        auto counters = known ? GpmCounters::open(*nvml_, gpu, known) : nullptr;
        device.profiling = counters != nullptr;
        devices_.push_back(std::move(device));
        entries_.push_back({slice, std::move(counters)});
    }

    void watch(Handle device, int index) {
        watched_.push_back({device, index});
        if (nvml_->event_set_new == nullptr || nvml_->event_set_free == nullptr ||
            nvml_->register_events == nullptr || nvml_->wait_event == nullptr)
            return;
        if (events_ == nullptr && nvml_->event_set_new(&events_) != kSuccess) {
            events_ = nullptr;
            return;
        }
        nvml_->register_events(device, kEventXid, events_);  // not every device has them
    }

    void read_memory(Handle device, Reading& reading) const {
        MemoryV2 memory{.version = kMemoryVersion};
        if (nvml_->memory == nullptr || nvml_->memory(device, &memory) != kSuccess) return;
        reading[field("memory_used_bytes")] = static_cast<double>(memory.used);
        reading[field("memory_total_bytes")] = static_cast<double>(memory.total);
    }

    void read_rows(Handle device, Reading& reading) const {
        unsigned corrected = 0;
        unsigned uncorrected = 0;
        unsigned pending = 0;
        unsigned failed = 0;
        if (nvml_->remapped_rows == nullptr ||
            nvml_->remapped_rows(device, &corrected, &uncorrected, &pending, &failed) != kSuccess)
            return;
        reading[field("remapped_rows_total")] = static_cast<double>(corrected) + uncorrected;
        reading[field("remap_pending")] = pending;
        reading[field("remap_failed")] = failed;
    }

    // All in one call; errors of NVLinks are a sum of what is known.
    void read_field_values(Handle device, Reading& reading) const {
        constexpr size_t kCount = std::size(kFieldValues);
        std::array<FieldValue, kCount> values{};
        for (size_t i = 0; i < kCount; ++i) values[i].field = kFieldValues[i].id;
        if (nvml_->field_values == nullptr ||
            nvml_->field_values(device, static_cast<int>(kCount), values.data()) != kSuccess)
            return;
        for (size_t i = 0; i < kCount; ++i) {
            const double value = value_of(values[i]) * kFieldValues[i].unit;
            double& sum = reading[kFieldValues[i].field];
            if (!std::isnan(value)) sum = std::isnan(sum) ? value : sum + value;
        }
    }

    std::unique_ptr<Library> nvml_;
    std::string driver_;
    std::vector<Device> devices_;
    std::vector<Entry> entries_;
    std::vector<Watched> watched_;  // whole GPUs
    EventSet events_ = nullptr;
};

}  // namespace

Result<std::unique_ptr<Source>> open_nvml(const std::string& library) {
    BELAY_TRY(nvml, Library::load(library));
    auto source = std::make_unique<NvmlSource>(std::move(nvml));
    BELAY_CHECK(source->list());
    return std::unique_ptr<Source>(std::move(source));
}

}  // namespace belay::gpu
