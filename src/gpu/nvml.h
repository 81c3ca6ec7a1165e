// NVML's functions, each loaded by name: old drivers lack some, and then what they measure is missing.
#pragma once

#include "core/error.h"
#include "gpu/nvml_abi.h"

#include <memory>
#include <string>

namespace belay::gpu::nvml {

struct Library {
    // Errors: kSystem; kNotFound if the library or the driver is not there, another cause if it does not
    // start.
    static core::Result<std::unique_ptr<Library>> load(const std::string& file);
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    // Null where the library has none of the kind.
    Return (*init)() = nullptr;
    Return (*shutdown)() = nullptr;
    const char* (*error_text)(Return) = nullptr;
    Return (*driver_version)(char*, unsigned) = nullptr;
    Return (*device_count)(unsigned*) = nullptr;
    Return (*device_by_index)(unsigned, Handle*) = nullptr;
    Return (*device_name)(Handle, char*, unsigned) = nullptr;
    Return (*device_uuid)(Handle, char*, unsigned) = nullptr;
    Return (*pci_info)(Handle, PciInfo*) = nullptr;
    Return (*memory)(Handle, MemoryV2*) = nullptr;
    Return (*utilization)(Handle, Utilization*) = nullptr;
    Return (*clock)(Handle, ClockType, unsigned*) = nullptr;
    Return (*max_clock)(Handle, ClockType, unsigned*) = nullptr;
    Return (*power)(Handle, unsigned*) = nullptr;
    Return (*energy)(Handle, unsigned long long*) = nullptr;
    Return (*temperature)(Handle, TemperatureSensor, unsigned*) = nullptr;
    Return (*temperature_threshold)(Handle, TemperatureThreshold, unsigned*) = nullptr;
    Return (*temperature_margin)(Handle, MarginTemperature*) = nullptr;
    Return (*application_clock)(Handle, ClockType, unsigned*) = nullptr;
    Return (*clock_reasons)(Handle, unsigned long long*) = nullptr;
    Return (*ecc_errors)(Handle, MemoryError, EccCounter, unsigned long long*) = nullptr;
    Return (*remapped_rows)(Handle, unsigned*, unsigned*, unsigned*, unsigned*) = nullptr;
    Return (*retired_pages)(Handle, RetirementCause, unsigned*, unsigned long long*) = nullptr;
    Return (*nvlink_state)(Handle, unsigned, unsigned*) = nullptr;
    Return (*pcie_replays)(Handle, unsigned*) = nullptr;
    Return (*pcie_generation)(Handle, unsigned*) = nullptr;
    Return (*pcie_width)(Handle, unsigned*) = nullptr;
    Return (*pcie_max_generation)(Handle, unsigned*) = nullptr;
    Return (*pcie_max_width)(Handle, unsigned*) = nullptr;
    Return (*field_values)(Handle, int, FieldValue*) = nullptr;
    Return (*processes)(Handle, unsigned*, ProcessInfo*) = nullptr;
    Return (*mig_mode)(Handle, unsigned*, unsigned*) = nullptr;
    Return (*mig_device_count)(Handle, unsigned*) = nullptr;
    Return (*mig_device)(Handle, unsigned, Handle*) = nullptr;
    Return (*gpu_instance)(Handle, unsigned*) = nullptr;
    Return (*attributes)(Handle, DeviceAttributes*) = nullptr;
    Return (*gpm_support)(Handle, GpmSupport*) = nullptr;
    Return (*gpm_sample_new)(GpmSample*) = nullptr;
    Return (*gpm_sample_free)(GpmSample) = nullptr;
    Return (*gpm_sample_take)(Handle, GpmSample) = nullptr;
    Return (*gpm_mig_sample_take)(Handle, unsigned, GpmSample) = nullptr;
    Return (*gpm_metrics)(GpmMetricsGet*) = nullptr;
    Return (*event_set_new)(EventSet*) = nullptr;
    Return (*event_set_free)(EventSet) = nullptr;
    Return (*register_events)(Handle, unsigned long long, EventSet) = nullptr;
    Return (*wait_event)(EventSet, EventData*, unsigned) = nullptr;

  private:
    Library() = default;
    void* library_ = nullptr;
    bool started_ = false;
};

// "the driver is not loaded": what a status means, for people.
std::string_view describe(Return status);
// kNotFound only where there is no driver, or not what was asked for.
core::Cause cause_of(Return status);

}  // namespace belay::gpu::nvml
