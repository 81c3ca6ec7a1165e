// How Belay's tables are shown as metrics, as data. By default a column of a table is the metric
// belay_SUBJECT_COLUMN with the column's unit and meaning, and the columns before its first value are labels; a name
// that ends in _total is a counter's. What has another name in the catalogue of metrics, or is one series among
// several of one metric, is a row of kMetrics.
#pragma once

#include "schema/schema.h"
#include "schema/tables/allocation.h"
#include "schema/tables/filesystem.h"
#include "schema/tables/gpu.h"
#include "schema/tables/gpu_device.h"
#include "schema/tables/host.h"
#include "schema/tables/io.h"
#include "schema/tables/network.h"
#include "schema/tables/process.h"
#include "schema/tables/progress.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace belay::metrics {

inline constexpr std::string_view kPrefix = "belay_";

struct TableRow {
    const schema::Table* table;
    std::string_view subject;
    size_t first_value;  // columns from here on are values, those before are labels
    std::span<const schema::Quantity> quantities =
        {};                      // which say what is a counter; empty: their names say it
    std::string_view info = {};  // each row is also one sample of this metric, with the labels only
};

// The other tables hold verdicts, events and lines of text: no series of numbers.
inline constexpr TableRow kTableRows[] = {
    {&schema::kHost, "node", schema::kFirstHostQuantity, schema::kHostQuantities},
    {&schema::kNetwork, "net", schema::kFirstNetworkQuantity, schema::kNetworkQuantities},
    {&schema::kFilesystem, "filesystem", schema::column(schema::kFilesystem, "responsive"),
     schema::kDiskQuantities},
    {&schema::kProcess, "process", schema::kFirstProcessQuantity, schema::kProcessQuantities},
    {&schema::kIo, "io", schema::column(schema::kIo, "opens_total"), schema::kIoQuantities},
    {&schema::kGpu, "gpu", schema::kFirstGpuField},
    {&schema::kProgress, "progress", schema::column(schema::kProgress, "epoch")},
    {&schema::kGpuDevice, "gpu", schema::kGpuDevice.columns.size(), {}, "gpu_info"},
    {&schema::kAllocation, "job", schema::kAllocation.columns.size(), {}, "job_info"},
};

// Units of columns, and what OpenMetrics calls them. Those that are not here have none.
struct UnitRow {
    std::string_view unit;
    std::string_view name;
};
inline constexpr UnitRow kUnits[] = {
    {"s", "seconds"},
    {"B", "bytes"},
    {"ratio", "ratio"},
    {"Hz", "hertz"},
    {"W", "watts"},
    {"°C", "celsius"},
    {"J", "joules"},
    {"1/s", "per_second"},
    {"B/s", "bytes_per_second"},
    {"FLOP/s", "flops_per_second"},
};

struct FixedLabel {
    std::string_view name = {};
    std::string_view value = {};
};

// A column that is shown in another way. Several rows of one column make several series of it.
struct MetricRow {
    std::string_view table;
    std::string_view column;
    std::string_view metric;  // without the prefix
    FixedLabel labels[2] = {};
    std::string_view help = {};  // of the metric; empty: the meaning of its first column
    double scale = 1;            // by which values are multiplied
    std::string_view unit = {};  // as of kUnits; empty: the column's
    int64_t bits = 0;            // not 0: 1 where any of these bits of the value is set, else 0
};

inline constexpr std::string_view kCpuHelp = "CPU time of all CPUs by mode; user includes niced, guests once";
inline constexpr std::string_view kMemoryHelp = "memory of the node by kind";
inline constexpr std::string_view kEventsHelp = "events of memory management since boot";
inline constexpr std::string_view kPressureHelp = "time in which some or all tasks waited (PSI)";
inline constexpr std::string_view kClockEventHelp = "1 while this lowers the clock";

inline constexpr MetricRow kMetrics[] = {
    {"host", "cpu_count", "node_cpus"},
    {"host", "cpu_user_seconds_total", "node_cpu_seconds_total", {{"mode", "user"}}, kCpuHelp},
    {"host", "cpu_system_seconds_total", "node_cpu_seconds_total", {{"mode", "system"}}},
    {"host", "cpu_idle_seconds_total", "node_cpu_seconds_total", {{"mode", "idle"}}},
    {"host", "cpu_iowait_seconds_total", "node_cpu_seconds_total", {{"mode", "iowait"}}},
    {"host", "cpu_irq_seconds_total", "node_cpu_seconds_total", {{"mode", "irq"}}},
    {"host", "cpu_steal_seconds_total", "node_cpu_seconds_total", {{"mode", "steal"}}},
    {"host", "memory_total_bytes", "node_memory_bytes", {{"kind", "total"}}, kMemoryHelp},
    {"host", "memory_free_bytes", "node_memory_bytes", {{"kind", "free"}}},
    {"host", "memory_available_bytes", "node_memory_bytes", {{"kind", "available"}}},
    {"host", "memory_cached_bytes", "node_memory_bytes", {{"kind", "cached"}}},
    {"host", "memory_buffers_bytes", "node_memory_bytes", {{"kind", "buffers"}}},
    {"host", "memory_anonymous_bytes", "node_memory_bytes", {{"kind", "anonymous"}}},
    {"host", "memory_shared_bytes", "node_memory_bytes", {{"kind", "shared"}}},
    {"host", "memory_slab_bytes", "node_memory_bytes", {{"kind", "slab"}}},
    {"host", "memory_dirty_bytes", "node_memory_bytes", {{"kind", "dirty"}}},
    {"host", "memory_committed_bytes", "node_memory_bytes", {{"kind", "committed"}}},
    {"host", "page_faults_total", "node_vmstat_total", {{"event", "pgfault"}}, kEventsHelp},
    {"host", "page_faults_major_total", "node_vmstat_total", {{"event", "pgmajfault"}}},
    {"host", "oom_kills_total", "node_vmstat_total", {{"event", "oom_kill"}}},
    {"host", "compaction_stalls_total", "node_vmstat_total", {{"event", "compact_stall"}}},
    {"host",
     "pressure_cpu_some_seconds_total",
     "node_pressure_seconds_total",
     {{"resource", "cpu"}, {"kind", "some"}},
     kPressureHelp},
    {"host",
     "pressure_memory_some_seconds_total",
     "node_pressure_seconds_total",
     {{"resource", "memory"}, {"kind", "some"}}},
    {"host",
     "pressure_memory_full_seconds_total",
     "node_pressure_seconds_total",
     {{"resource", "memory"}, {"kind", "full"}}},
    {"host",
     "pressure_io_some_seconds_total",
     "node_pressure_seconds_total",
     {{"resource", "io"}, {"kind", "some"}}},
    {"host",
     "pressure_io_full_seconds_total",
     "node_pressure_seconds_total",
     {{"resource", "io"}, {"kind", "full"}}},

    {"network",
     "receive_bytes_total",
     "net_bytes_total",
     {{"dir", "rx"}},
     "bytes; RDMA traffic is not in it"},
    {"network", "transmit_bytes_total", "net_bytes_total", {{"dir", "tx"}}},
    {"network", "receive_packets_total", "net_packets_total", {{"dir", "rx"}}, "packets"},
    {"network", "transmit_packets_total", "net_packets_total", {{"dir", "tx"}}},
    {"network", "receive_errors_total", "net_errors_total", {{"dir", "rx"}}, "packets with an error"},
    {"network", "transmit_errors_total", "net_errors_total", {{"dir", "tx"}}},
    {"network", "receive_dropped_total", "net_dropped_total", {{"dir", "rx"}}, "packets dropped"},
    {"network", "transmit_dropped_total", "net_dropped_total", {{"dir", "tx"}}},
    {"network",
     "link_bits_per_second",
     "net_link_bytes_per_second",
     {},
     "negotiated speed of the link",
     0.125,
     "B/s"},

    {"filesystem", "inodes_total", "filesystem_inodes"},
    {"filesystem", "inodes_free", "filesystem_free_inodes"},
    {"filesystem", "read_bytes_total", "node_disk_bytes_total", {{"op", "read"}}, "bytes since boot"},
    {"filesystem", "written_bytes_total", "node_disk_bytes_total", {{"op", "write"}}},
    {"filesystem", "reads_total", "node_disk_operations_total", {{"op", "read"}}, "requests completed"},
    {"filesystem", "writes_total", "node_disk_operations_total", {{"op", "write"}}},
    {"filesystem",
     "read_seconds_total",
     "node_disk_operation_seconds_total",
     {{"op", "read"}},
     "time in requests, summed over requests"},
    {"filesystem", "write_seconds_total", "node_disk_operation_seconds_total", {{"op", "write"}}},
    {"filesystem", "busy_seconds_total", "node_disk_io_seconds_total"},
    {"filesystem", "requests_in_flight", "node_disk_requests_in_flight"},

    {"process",
     "cpu_user_seconds_total",
     "process_cpu_seconds_total",
     {{"mode", "user"}},
     "CPU time of a process by mode"},
    {"process", "cpu_system_seconds_total", "process_cpu_seconds_total", {{"mode", "system"}}},
    {"process",
     "read_bytes_total",
     "process_io_bytes_total",
     {{"kind", "read_bytes"}},
     "bytes as /proc/PID/io has them: rchar and wchar also of caches"},
    {"process", "written_bytes_total", "process_io_bytes_total", {{"kind", "write_bytes"}}},
    {"process", "read_characters_total", "process_io_bytes_total", {{"kind", "rchar"}}},
    {"process", "written_characters_total", "process_io_bytes_total", {{"kind", "wchar"}}},

    {"gpu",
     "tensor_active_ratio",
     "gpu_tensor_active_ratio",
     {{"type", "any"}},
     "tensor pipe active by type of instruction, mean"},
    {"gpu", "tensor_half_active_ratio", "gpu_tensor_active_ratio", {{"type", "hmma"}}},
    {"gpu", "tensor_integer_active_ratio", "gpu_tensor_active_ratio", {{"type", "imma"}}},
    {"gpu", "tensor_double_active_ratio", "gpu_tensor_active_ratio", {{"type", "dfma"}}},
    {"gpu",
     "fp64_active_ratio",
     "gpu_pipe_active_ratio",
     {{"pipe", "fp64"}},
     "pipe active, mean; fp32 may count integer work"},
    {"gpu", "fp32_active_ratio", "gpu_pipe_active_ratio", {{"pipe", "fp32"}}},
    {"gpu", "fp16_active_ratio", "gpu_pipe_active_ratio", {{"pipe", "fp16"}}},
    {"gpu", "integer_active_ratio", "gpu_pipe_active_ratio", {{"pipe", "integer"}}},
    {"gpu", "memory_used_bytes", "gpu_memory_bytes", {{"kind", "used"}}, "device memory by kind"},
    {"gpu", "memory_total_bytes", "gpu_memory_bytes", {{"kind", "total"}}},
    {"gpu", "clock_sm_hertz", "gpu_clock_hertz", {{"clock", "sm"}}, "clocks of the GPU"},
    {"gpu", "clock_memory_hertz", "gpu_clock_hertz", {{"clock", "memory"}}},
    {"gpu",
     "temperature_celsius",
     "gpu_temperature_celsius",
     {{"sensor", "gpu"}},
     "temperature of the GPU and of its memory"},
    {"gpu", "memory_temperature_celsius", "gpu_temperature_celsius", {{"sensor", "memory"}}},
    {"gpu",
     "pcie_sent_bytes_per_second",
     "gpu_pcie_bytes_per_second",
     {{"dir", "tx"}},
     "over PCIe as the GPU sees it, mean"},
    {"gpu", "pcie_received_bytes_per_second", "gpu_pcie_bytes_per_second", {{"dir", "rx"}}},
    {"gpu",
     "nvlink_sent_bytes_per_second",
     "gpu_nvlink_bytes_per_second",
     {{"dir", "tx"}},
     "over all NVLinks as the GPU sees it, mean"},
    {"gpu", "nvlink_received_bytes_per_second", "gpu_nvlink_bytes_per_second", {{"dir", "rx"}}},
    {"gpu",
     "c2c_sent_bytes_per_second",
     "gpu_c2c_bytes_per_second",
     {{"dir", "tx"}},
     "over the link to the CPU (GH200) as the GPU sees it, mean"},
    {"gpu", "c2c_received_bytes_per_second", "gpu_c2c_bytes_per_second", {{"dir", "rx"}}},
    // Bits of nvmlClocksEventReasons (nvml.h).
    {"gpu",
     "clock_event_reasons",
     "gpu_clock_event_active",
     {{"reason", "power_cap"}},
     kClockEventHelp,
     1,
     {},
     0x4},
    {"gpu", "clock_event_reasons", "gpu_clock_event_active", {{"reason", "hw_slowdown"}}, {}, 1, {}, 0x8},
    {"gpu", "clock_event_reasons", "gpu_clock_event_active", {{"reason", "sw_thermal"}}, {}, 1, {}, 0x20},
    {"gpu", "clock_event_reasons", "gpu_clock_event_active", {{"reason", "hw_thermal"}}, {}, 1, {}, 0x40},
    {"gpu", "clock_event_reasons", "gpu_clock_event_active", {{"reason", "power_brake"}}, {}, 1, {}, 0x80},
    {"gpu",
     "power_violation_seconds_total",
     "gpu_violation_seconds_total",
     {{"reason", "power"}},
     "time in which the clocks were lowered, since the driver was loaded"},
    {"gpu", "thermal_violation_seconds_total", "gpu_violation_seconds_total", {{"reason", "thermal"}}},
    {"gpu",
     "ecc_corrected_total",
     "gpu_ecc_errors_total",
     {{"type", "corrected"}},
     "memory errors since the driver was loaded"},
    {"gpu", "ecc_uncorrected_total", "gpu_ecc_errors_total", {{"type", "uncorrected"}}},
    {"gpu", "remapped_rows_total", "gpu_remapped_rows"},
};

// Keys that are labels under another name, or, without a name, are none: they do not tell series apart, and a new
// value of one would begin a new series.
struct LabelRow {
    std::string_view table;
    std::string_view column;
    std::string_view label;
};
inline constexpr LabelRow kLabels[] = {
    {"network", "device", "dev"}, {"process", "parent_pid", ""}, {"allocation", "first_task", ""},
    {"allocation", "tasks", ""},  {"allocation", "cpus", ""},
};

}  // namespace belay::metrics
