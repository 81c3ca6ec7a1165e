// What a report plots of each node over time: the quantities that are added up over its processes, interfaces
// and disks, moment by moment. Made by report/, and kept by a sealed record.
#pragma once

#include "schema/tables/sampled_series.h"

#include <array>

namespace belay::schema {

// Those of a table of series that are plotted.
template <const auto& kSeries>
consteval auto plotted() {
    constexpr size_t kCount = [] {
        size_t count = 0;
        for (const SampledSeries& one : kSeries) count += one.series.plot.label.empty() ? 0 : 1;
        return count;
    }();
    std::array<SampledSeries, kCount> all{};
    size_t at = 0;
    for (const SampledSeries& one : kSeries)
        if (!one.series.plot.label.empty()) all[at++] = one;
    return all;
}

// What is added up of another table of series; an unknown name does not compile.
consteval SampledSeries sum_of(std::span<const SampledSeries> of, std::string_view name,
                               const SeriesColumn& series, ShareOf share_of = ShareOf::kNothing) {
    const SampledSeries& one = series_named(of, name);
    return {series, one.sampled, one.sql, share_of};
}

// What the CPUs of a node did. Interrupts and the hypervisor's time are unknown to some kernels, but where
// all is unknown, so are they.
inline constexpr std::array kCpuPlots = std::to_array<SampledSeries>({
    sum_of(kHostSeriesColumns, "cpus_used",
           {"node_cpu_share",
            "ratio",
            "CPUs of the node that were busy with anything",
            Fold::kMean,
            {"CPU, whole node", "", "", 20}},
           ShareOf::kNodeCpus),
    {{"cpu_user_share", "ratio", "CPUs in user mode", Fold::kMean, {"CPU, user"}},
     kCounter,
     "cpu_user_seconds_total",
     ShareOf::kPartOfNodeCpus},
    sum_of(kHostSeriesColumns, "cpus_system",
           {"cpu_system_share", "ratio", "CPUs in the kernel", Fold::kMean, {"CPU, system"}},
           ShareOf::kPartOfNodeCpus),
    sum_of(kHostSeriesColumns, "cpus_iowait",
           {"cpu_iowait_share",
            "ratio",
            "CPUs idle while I/O was outstanding",
            Fold::kMean,
            {"CPU, waiting for I/O"}},
           ShareOf::kPartOfNodeCpus),
    {{"cpu_other_share",
      "ratio",
      "CPUs in interrupts, or taken by the hypervisor",
      Fold::kMean,
      {"CPU, interrupts and hypervisor"}},
     kCounter,
     "coalesce(cpu_irq_seconds_total, 0) + coalesce(cpu_steal_seconds_total, 0) + 0 * cpu_user_seconds_total",
     ShareOf::kPartOfNodeCpus},
});
inline constexpr std::string_view kNodeCpus = "cpu_count";  // SQL: of which these are shares
inline constexpr auto kHostPlots = joined(plotted<kHostSeriesColumns>(), kCpuPlots);

// The job's processes on the node together.
inline constexpr std::array kJobPlots = std::to_array<SampledSeries>({
    sum_of(kProcessSeriesColumns, "cpus_used",
           {"job_cpu_share",
            "ratio",
            "CPUs that the job used, of those that it may use",
            Fold::kMean,
            {"CPU, job", "processor", "Of the CPUs allotted to it, per node", 10, "CPU use of the job"}},
           ShareOf::kJobCpus),
    sum_of(kProcessSeriesColumns, "resident_bytes",
           {"job_memory_bytes",
            "B",
            "memory of the job in RAM; pages shared between processes count for each",
            Fold::kMean,
            {"Memory, job", "memory", "Summed over its processes; pages that they share count for each", 30,
             "Resident memory of the job"}}),
    sum_of(kProcessSeriesColumns, "read_bytes_per_second",
           {"job_read_bytes_per_second",
            "B/s",
            "that the job fetched from storage",
            Fold::kMean,
            {"Job, read", "", "", 100}}),
    sum_of(kProcessSeriesColumns, "written_bytes_per_second",
           {"job_written_bytes_per_second",
            "B/s",
            "that the job sent to storage",
            Fold::kMean,
            {"Job, written", "", "", 110}}),
});

// The node's traffic with others, counted once, and that of its processes among each other.
inline constexpr std::array kNetworkPlots = std::to_array<SampledSeries>({
    sum_of(kNetworkSeriesColumns, "received_bytes_per_second",
           {"network_received_bytes_per_second",
            "B/s",
            "received from other nodes",
            Fold::kMean,
            {"Network, received", "", "", 50}}),
    sum_of(kNetworkSeriesColumns, "sent_bytes_per_second",
           {"network_sent_bytes_per_second",
            "B/s",
            "sent to other nodes",
            Fold::kMean,
            {"Network, sent", "", "", 60}}),
});
inline constexpr std::array kLoopbackPlots = std::to_array<SampledSeries>({
    sum_of(kNetworkSeriesColumns, "sent_bytes_per_second",
           {"loopback_bytes_per_second",
            "B/s",
            "over the loopback interface, between processes of the node",
            Fold::kMean,
            {"Network, within the node", "", "", 70}}),
});

inline constexpr std::array kDiskPlots = std::to_array<SampledSeries>({
    sum_of(kDiskSeriesColumns, "read_bytes_per_second",
           {"disk_read_bytes_per_second",
            "B/s",
            "read from the disks, by anybody",
            Fold::kMean,
            {"Disks, read", "", "", 80}}),
    sum_of(kDiskSeriesColumns, "written_bytes_per_second",
           {"disk_written_bytes_per_second",
            "B/s",
            "written to the disks, by anybody",
            Fold::kMean,
            {"Disks, written", "", "", 90}}),
});

// All that is plotted of a node, source by source.
inline constexpr auto kNodePlots = joined(kHostPlots, kJobPlots, kNetworkPlots, kLoopbackPlots, kDiskPlots);
inline constexpr size_t kNodePlotCount = kNodePlots.size();

// The index of one of them, at compile time; an unknown name does not compile.
consteval size_t node_plot(std::string_view name) {
    for (size_t i = 0; i < kNodePlotCount; ++i)
        if (kNodePlots[i].series.name == name) return i;
    throw "there is no such quantity";
}

inline constexpr auto kPlotSeriesColumns = joined(columns_of(kSpanColumns), columns_of(kNodePlots));
inline constexpr Table kPlotSeries{"plot_series", Cadence::kPeriodic,
                                   "what a report plots of a node, over a span of the job",
                                   kPlotSeriesColumns};

inline constexpr Column kPlotSummaryColumns[] = {
    {"time", ColumnType::kTimestamp, "", "start of the first span"},
    {"node", ColumnType::kText, "", "name of the node"},
    {"quantity", ColumnType::kText, "", "a column of plot_series, whose unit it has"},
    {"mean", ColumnType::kReal, "", "over the time in which it was sampled"},
    {"highest", ColumnType::kReal, "", "of single samples"},
};
inline constexpr Table kPlotSummary{"plot_summary", Cadence::kEvents,
                                    "what a report plots of a node, over the whole job", kPlotSummaryColumns};

// What the columns of plot_series are made of, in their order. Values are added up over the rows that a node
// has in a source at one moment; `identity` tells which of them is which.
inline constexpr SeriesTable kPlotSources[] = {
    {&kPlotSeries, &kHost, "", {}, {}, "", kHostPlots},
    {&kPlotSeries, &kProcess, "", {}, kProcessIdentity, kProcessBorn, kJobPlots},
    {&kPlotSeries, &kNetwork, kOwnTraffic, {}, kNetworkKeys, "", kNetworkPlots},
    {&kPlotSeries, &kNetwork, "device = 'lo'", {}, kNetworkKeys, "", kLoopbackPlots},
    {&kPlotSeries, &kFilesystem, kOwnDisk, {}, kDiskKeys, "", kDiskPlots},
};

}  // namespace belay::schema
