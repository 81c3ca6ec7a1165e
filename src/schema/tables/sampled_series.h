// What the samples of hosts, processes, interfaces and disks come to in spans of time: made by
// record/series/, asked by the rules of findings/.
#pragma once

#include "schema/tables/filesystem.h"
#include "schema/tables/host.h"
#include "schema/tables/io.h"
#include "schema/tables/network.h"
#include "schema/tables/process.h"

namespace belay::schema {

// One of a table of series; an unknown name does not compile.
consteval const SampledSeries& series_named(std::span<const SampledSeries> of, std::string_view name) {
    for (const SampledSeries& one : of)
        if (one.series.name == name) return one;
    throw "there is no such series";
}

// Made of several columns of a host.
inline constexpr std::array kNodeDerived = std::to_array<SampledSeries>({
    // What the hypervisor takes is not there for the job either.
    {{"cpus_used", "", "CPUs of the node in use, by anybody, interrupts and the hypervisor included"},
     kCounter,
     "cpu_user_seconds_total + cpu_system_seconds_total + coalesce(cpu_irq_seconds_total, 0) + "
     "coalesce(cpu_steal_seconds_total, 0)"},
    {{"memory_unbacked_bytes", "B", "memory that no file backs: anonymous and shared"},
     kState,
     "memory_anonymous_bytes + coalesce(memory_shared_bytes, 0)"},
    {{"swap_used_bytes", "B", "swap in use"}, kState, "swap_total_bytes - swap_free_bytes"},
    {{"node_memory_bytes",
      "B",
      "that no program could get",
      Fold::kMean,
      {"Memory, whole node", "memory", "Everything that is not available to new programs", 40,
       "Memory in use on the node"}},
     kState,
     "memory_total_bytes - memory_available_bytes"},
});
inline constexpr auto kHostSeriesColumns = joined(series_of<kHostQuantities>(), kNodeDerived);

// Made of a process's state and of several of its columns.
inline constexpr std::array kProcessDerived = std::to_array<SampledSeries>({
    {{"cpus_used", "", "CPUs in use, by its short-lived children too"},
     kCounter,
     "cpu_user_seconds_total + cpu_system_seconds_total + coalesce(cpu_children_unseen_seconds_total, 0)"},
    {{"kernel_cpus", "", "CPUs that the kernel used for it"}, kCounter, "cpu_system_seconds_total"},
    {{"unseen_cpus", "", "CPUs that children of it used that ended between two samples"},
     kCounter,
     "cpu_children_unseen_seconds_total"},
    {{"anonymous_bytes", "B",
      "memory in RAM that is not backed by a file; all of it where that is not known"},
     kState,
     "coalesce(anonymous_bytes, resident_bytes)"},
    {{"device_wait_share", "ratio", "samples in which it waited for a device"},
     kState,
     "(state = 'D')::INTEGER"},
    {{"running_share", "ratio", "samples in which its main thread ran"}, kState, "(state = 'R')::INTEGER"},
});
inline constexpr auto kProcessSeriesColumns = joined(series_of<kProcessQuantities>(), kProcessDerived);
inline constexpr std::string_view kProcessBorn = "epoch_us(start_time)";  // SQL: when its counters were 0

// Made of several columns of an interface, or of its name.
inline constexpr std::string_view kOr0 = "coalesce(", kAnd0 = ", 0) + coalesce(", kEnd0 = ", 0)";
inline constexpr std::array kNetworkDerived = std::to_array<SampledSeries>({
    {{"errors_per_second", "1/s", "packets lost or damaged"},
     kCounter,
     JoinedText<kOr0, kInterfaceErrors, kAnd0, kInterfaceDrops, kEnd0>::kText},
    {{"is_own", "", "whether no other interface counts the same traffic: not of lo, bonds, bridges, VLANs",
      Fold::kHighest},
     kState,
     kOwnTraffic},
    {{"is_card", "", "whether it is a card's, by its name: not of lo, bonds, bridges, VLANs, containers",
      Fold::kHighest},
     kState,
     kIsCard},
});
inline constexpr auto kNetworkSeriesColumns = joined(series_of<kNetworkQuantities>(), kNetworkDerived);

inline constexpr auto kDiskSeriesColumns = series_of<kDiskQuantities>();

inline constexpr auto kIoSeriesColumns = series_of<kIoQuantities>();

inline constexpr size_t kProcessKeys[] = {column(kProcess, "task"), column(kProcess, "pid"),
                                          column(kProcess, "start_time"), column(kProcess, "command")};
inline constexpr size_t kProcessIdentity[] = {column(kProcess, "pid"), column(kProcess, "start_time")};
inline constexpr size_t kNetworkKeys[] = {column(kNetwork, "device")};
inline constexpr size_t kDiskKeys[] = {column(kFilesystem, "name")};
inline constexpr size_t kIoKeys[] = {column(kIo, "device"), column(kIo, "mount"), column(kIo, "type"),
                                     column(kIo, "tier")};
inline constexpr size_t kIoIdentity[] = {column(kIo, "device")};
inline constexpr std::string_view kIoBorn = "epoch_us(start_time)";

inline constexpr Column kSpanColumns[] = {
    {"time", ColumnType::kTimestamp, "", "start of the span"},
    {"node", ColumnType::kText, "", "name of the node"},
};
inline constexpr Column kSampledSeconds[] = {
    {"seconds", ColumnType::kReal, "s", "time of the span that samples cover"},
};

// time, node, what tells the rows of a span apart, seconds, values.
template <size_t kKeys, size_t kValues>
consteval auto series_columns(const Table& source, const std::array<size_t, kKeys>& keys,
                              const std::array<SampledSeries, kValues>& values) {
    std::array<Column, kKeys> key_columns{};
    for (size_t i = 0; i < kKeys; ++i) key_columns[i] = source.columns[keys[i]];
    return joined(columns_of(kSpanColumns), key_columns, columns_of(kSampledSeconds), columns_of(values));
}

inline constexpr auto kHostSeriesTable = series_columns(kHost, std::array<size_t, 0>{}, kHostSeriesColumns);
inline constexpr auto kProcessSeriesTable =
    series_columns(kProcess, std::to_array(kProcessKeys), kProcessSeriesColumns);
inline constexpr auto kNetworkSeriesTable =
    series_columns(kNetwork, std::to_array(kNetworkKeys), kNetworkSeriesColumns);
inline constexpr auto kDiskSeriesTable =
    series_columns(kFilesystem, std::to_array(kDiskKeys), kDiskSeriesColumns);

inline constexpr auto kIoSeriesTable = series_columns(kIo, std::to_array(kIoKeys), kIoSeriesColumns);

inline constexpr Table kHostSeries{"host_series", Cadence::kPeriodic, "CPU, memory and pressure of a node",
                                   kHostSeriesTable};
inline constexpr Table kProcessSeries{"process_series", Cadence::kPeriodic, "a process of the job",
                                      kProcessSeriesTable};
inline constexpr Table kNetworkSeries{"network_series", Cadence::kPeriodic,
                                      "a network interface; lo is the node itself", kNetworkSeriesTable};
inline constexpr Table kDiskSeries{"disk_series", Cadence::kPeriodic, "a block device", kDiskSeriesTable};
inline constexpr Table kIoSeries{"io_series", Cadence::kPeriodic,
                                 "what traced programs of the job did on a file system", kIoSeriesTable};

inline constexpr SeriesTable kSeriesTables[] = {
    {&kHostSeries, &kHost, "", {}, {}, "", kHostSeriesColumns},
    {&kProcessSeries, &kProcess, "", kProcessKeys, kProcessIdentity, kProcessBorn, kProcessSeriesColumns},
    {&kNetworkSeries, &kNetwork, "", kNetworkKeys, kNetworkKeys, "", kNetworkSeriesColumns},
    {&kDiskSeries, &kFilesystem, kOwnDisk, kDiskKeys, kDiskKeys, "", kDiskSeriesColumns},
    {&kIoSeries, &kIo, "", kIoKeys, kIoIdentity, kIoBorn, kIoSeriesColumns},
};

// What went through each interface in all of the time: asked by report/, which keeps the answer only.
inline constexpr std::array kNetworkTotalsColumns = std::to_array<SampledSeries>({
    {{"received_bytes", "B", "received", Fold::kIncrease}, kCounter, "receive_bytes_total"},
    {{"sent_bytes", "B", "sent", Fold::kIncrease}, kCounter, "transmit_bytes_total"},
    {{"errors", "", "packets with an error", Fold::kIncrease}, kCounter, kInterfaceErrors},
    {{"dropped", "", "packets dropped", Fold::kIncrease}, kCounter, kInterfaceDrops},
});
inline constexpr auto kNetworkTotalsTable =
    series_columns(kNetwork, std::to_array(kNetworkKeys), kNetworkTotalsColumns);
inline constexpr Table kNetworkTotals{"network_totals", Cadence::kPeriodic,
                                      "what went through a network interface", kNetworkTotalsTable};
inline constexpr SeriesTable kNetworkTotalsSeries{
    &kNetworkTotals, &kNetwork, "", kNetworkKeys, kNetworkKeys, "", kNetworkTotalsColumns};

// What was done on each file system in all of the time: likewise.
inline constexpr std::array kIoTotalsColumns = std::to_array<SampledSeries>({
    {{"opens", "", "files opened", Fold::kIncrease}, kCounter, "opens_total"},
    {{"looks", "", "looks at names and files", Fold::kIncrease}, kCounter, "stats_total"},
    {{"changes", "", "changes of names", Fold::kIncrease}, kCounter, "changes_total"},
    {{"failed", "", "opens and looks that failed", Fold::kIncrease},
     kCounter,
     "opens_failed_total + stats_failed_total"},
    {{"reads", "", "reads", Fold::kIncrease}, kCounter, "reads_total"},
    {{"small_random_reads", "", "of them, small and random", Fold::kIncrease},
     kCounter,
     "small_random_reads_total"},
    {{"read_bytes", "B", "read", Fold::kIncrease}, kCounter, "read_bytes_total"},
    {{"writes", "", "writes", Fold::kIncrease}, kCounter, "writes_total"},
    {{"written_bytes", "B", "written", Fold::kIncrease}, kCounter, "written_bytes_total"},
    {{"mapped_bytes", "B", "mapped", Fold::kIncrease}, kCounter, "mapped_bytes_total"},
    {{"call_seconds", "s", "in all of that", Fold::kIncrease},
     kCounter,
     "read_seconds_total + write_seconds_total + metadata_seconds_total + sync_seconds_total"},
});
inline constexpr auto kIoTotalsTable = series_columns(kIo, std::to_array(kIoKeys), kIoTotalsColumns);
inline constexpr Table kIoTotals{"io_totals", Cadence::kPeriodic,
                                 "what traced programs of the job did on a file system", kIoTotalsTable};
inline constexpr SeriesTable kIoTotalsSeries{&kIoTotals,      &kIo, "", kIoKeys, kIoIdentity, kIoBorn,
                                             kIoTotalsColumns};

}  // namespace belay::schema
