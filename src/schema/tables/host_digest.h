// What the samples of hosts, processes, interfaces and disks come to in spans of time: made by
// record/series/, asked by the rules of findings/.
#pragma once

#include "schema/tables/filesystem.h"
#include "schema/tables/host.h"
#include "schema/tables/network.h"
#include "schema/tables/process.h"

namespace belay::schema {

inline constexpr SampledSeries kNodeSeriesColumns[] = {
    {{"cpus", "", "logical CPUs of the node", Fold::kMean}, Sampled::kState, "cpu_count"},
    {{"cpu_seconds", "", "CPUs of the node in use, by anybody", Fold::kMean},
     Sampled::kCounter,
     "cpu_user_seconds_total + cpu_system_seconds_total + coalesce(cpu_irq_seconds_total, 0)"},
    {{"system_seconds", "", "CPUs in the kernel", Fold::kMean},
     Sampled::kCounter,
     "cpu_system_seconds_total"},
    {{"iowait_seconds", "", "CPUs idle while I/O was outstanding", Fold::kMean},
     Sampled::kUnsteadyCounter,
     "cpu_iowait_seconds_total"},
    {{"memory_total_bytes", "B", "memory of the node", Fold::kHighest},
     Sampled::kState,
     "memory_total_bytes"},
    {{"memory_available_bytes", "B", "that a program could get", Fold::kMean},
     Sampled::kState,
     "memory_available_bytes"},
    {{"memory_anonymous_bytes", "B", "anonymous and shared memory", Fold::kMean},
     Sampled::kState,
     "memory_anonymous_bytes + coalesce(memory_shared_bytes, 0)"},
    {{"swap_used_bytes", "B", "swap in use", Fold::kMean},
     Sampled::kState,
     "swap_total_bytes - swap_free_bytes"},
    {{"major_faults_per_second", "1/s", "page faults that needed I/O", Fold::kMean},
     Sampled::kCounter,
     "page_faults_major_total"},
    {{"oom_kills", "", "processes killed for lack of memory since boot", Fold::kHighest},
     Sampled::kState,
     "oom_kills_total"},
    {{"compaction_stalls_per_second", "1/s", "times a process waited for memory compaction", Fold::kMean},
     Sampled::kCounter,
     "compaction_stalls_total"},
    {{"threads_running", "", "threads runnable on the node", Fold::kMean},
     Sampled::kState,
     "threads_running"},
    {{"threads_blocked", "", "threads in uninterruptible sleep", Fold::kMean},
     Sampled::kState,
     "threads_blocked"},
    {{"cpu_pressure_share", "ratio", "some task waited for a CPU", Fold::kMean},
     Sampled::kCounter,
     "pressure_cpu_some_seconds_total"},
    {{"memory_pressure_share", "ratio", "all tasks waited for memory", Fold::kMean},
     Sampled::kCounter,
     "pressure_memory_full_seconds_total"},
    {{"io_pressure_share", "ratio", "some task waited for I/O", Fold::kMean},
     Sampled::kCounter,
     "pressure_io_some_seconds_total"},
    {{"io_stall_share", "ratio", "all tasks waited for I/O", Fold::kMean},
     Sampled::kCounter,
     "pressure_io_full_seconds_total"},
};

inline constexpr SampledSeries kProcessSeriesColumns[] = {
    {{"cpus_used", "", "CPUs in use", Fold::kMean},
     Sampled::kCounter,
     "cpu_user_seconds_total + cpu_system_seconds_total"},
    {{"run_delay_share", "ratio", "share of the time in which its main thread waited for a CPU", Fold::kMean},
     Sampled::kCounter,
     "run_delay_seconds_total"},
    {{"threads", "", "threads", Fold::kHighest}, Sampled::kState, "threads"},
    {{"resident_bytes", "B", "memory in RAM", Fold::kMean}, Sampled::kState, "resident_bytes"},
    {{"anonymous_bytes", "B", "memory in RAM that is no page of a file; all of it where that is not known",
      Fold::kMean},
     Sampled::kState,
     "coalesce(anonymous_bytes, resident_bytes)"},
    {{"read_bytes_per_second", "B/s", "fetched from storage", Fold::kMean},
     Sampled::kCounter,
     "read_bytes_total"},
    {{"written_bytes_per_second", "B/s", "sent to storage", Fold::kMean},
     Sampled::kCounter,
     "written_bytes_total"},
    {{"read_characters_per_second", "B/s", "read(2), cache hits included", Fold::kMean},
     Sampled::kCounter,
     "read_characters_total"},
    {{"written_characters_per_second", "B/s", "write(2)", Fold::kMean},
     Sampled::kCounter,
     "written_characters_total"},
    {{"device_wait_share", "ratio", "samples in which it waited for a device", Fold::kMean},
     Sampled::kState,
     "(state = 'D')::INTEGER"},
    {{"running_share", "ratio", "samples in which its main thread ran", Fold::kMean},
     Sampled::kState,
     "(state = 'R')::INTEGER"},
};

inline constexpr SampledSeries kNetworkSeriesColumns[] = {
    {{"received_bytes_per_second", "B/s", "received", Fold::kMean}, Sampled::kCounter, "receive_bytes_total"},
    {{"sent_bytes_per_second", "B/s", "sent", Fold::kMean}, Sampled::kCounter, "transmit_bytes_total"},
    {{"errors_per_second", "1/s", "packets lost or damaged", Fold::kMean},
     Sampled::kCounter,
     "coalesce(receive_errors_total, 0) + coalesce(receive_dropped_total, 0) + "
     "coalesce(transmit_errors_total, 0) + coalesce(transmit_dropped_total, 0)"},
    {{"carrier_changes", "", "times the link went up or down since boot", Fold::kHighest},
     Sampled::kState,
     "carrier_changes_total"},
    {{"link_bits_per_second", "bit/s", "speed of the link", Fold::kHighest},
     Sampled::kState,
     "link_bits_per_second"},
    {{"is_own", "", "whether no other interface counts the same traffic: not of lo, bonds, bridges, VLANs",
      Fold::kHighest},
     Sampled::kState,
     kOwnTraffic},
};

inline constexpr SampledSeries kDiskSeriesColumns[] = {
    {{"read_bytes_per_second", "B/s", "read", Fold::kMean}, Sampled::kCounter, "read_bytes_total"},
    {{"written_bytes_per_second", "B/s", "written", Fold::kMean}, Sampled::kCounter, "written_bytes_total"},
    {{"reads_per_second", "1/s", "read requests", Fold::kMean}, Sampled::kCounter, "reads_total"},
    {{"writes_per_second", "1/s", "write requests", Fold::kMean}, Sampled::kCounter, "writes_total"},
    {{"busy_share", "ratio", "time with requests outstanding", Fold::kMean},
     Sampled::kCounter,
     "busy_seconds_total"},
};

inline constexpr size_t kProcessKeys[] = {column(kProcess, "task"), column(kProcess, "pid"),
                                          column(kProcess, "start_time"), column(kProcess, "command")};
inline constexpr size_t kProcessIdentity[] = {column(kProcess, "pid"), column(kProcess, "start_time")};
inline constexpr size_t kNetworkKeys[] = {column(kNetwork, "device")};
inline constexpr size_t kDiskKeys[] = {column(kFilesystem, "name")};

inline constexpr Column kSpanColumns[] = {
    {"time", ColumnType::kTimestamp, "", "start of the span"},
    {"node", ColumnType::kText, "", "name of the node"},
};
inline constexpr Column kSampledSeconds[] = {
    {"seconds", ColumnType::kReal, "s", "part of the span that samples tell of"},
};

// time, node, what tells the rows of a span apart, seconds, values.
template <size_t kKeys, size_t kValues>
consteval auto series_columns(const Table& source, const std::array<size_t, kKeys>& keys,
                              const SampledSeries (&values)[kValues]) {
    std::array<Column, kKeys> key_columns{};
    for (size_t i = 0; i < kKeys; ++i) key_columns[i] = source.columns[keys[i]];
    std::array<Column, kValues> value_columns{};
    for (size_t i = 0; i < kValues; ++i)
        value_columns[i] = {values[i].series.name, ColumnType::kReal, values[i].series.unit,
                            values[i].series.doc};
    return joined(columns_of(kSpanColumns), key_columns, columns_of(kSampledSeconds), value_columns);
}

inline constexpr auto kNodeSeriesTable = series_columns(kHost, std::array<size_t, 0>{}, kNodeSeriesColumns);
inline constexpr auto kProcessSeriesTable =
    series_columns(kProcess, std::to_array(kProcessKeys), kProcessSeriesColumns);
inline constexpr auto kNetworkSeriesTable =
    series_columns(kNetwork, std::to_array(kNetworkKeys), kNetworkSeriesColumns);
inline constexpr auto kDiskSeriesTable =
    series_columns(kFilesystem, std::to_array(kDiskKeys), kDiskSeriesColumns);

inline constexpr Table kNodeSeries{"node_series", Cadence::kPeriodic, "CPU, memory and pressure of a node",
                                   kNodeSeriesTable};
inline constexpr Table kProcessSeries{"process_series", Cadence::kPeriodic, "a process of the job",
                                      kProcessSeriesTable};
inline constexpr Table kNetworkSeries{"network_series", Cadence::kPeriodic,
                                      "a network interface; lo is the node itself", kNetworkSeriesTable};
inline constexpr Table kDiskSeries{"disk_series", Cadence::kPeriodic, "a block device", kDiskSeriesTable};

inline constexpr SeriesTable kSeriesTables[] = {
    {&kNodeSeries, &kHost, "", {}, {}, "", kNodeSeriesColumns},
    {&kProcessSeries, &kProcess, "", kProcessKeys, kProcessIdentity, "epoch_us(start_time)",
     kProcessSeriesColumns},
    {&kNetworkSeries, &kNetwork, "", kNetworkKeys, kNetworkKeys, "", kNetworkSeriesColumns},
    {&kDiskSeries, &kFilesystem, kOwnDisk, kDiskKeys, kDiskKeys, "", kDiskSeriesColumns},
};

}  // namespace belay::schema
