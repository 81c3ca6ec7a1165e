#include "metrics/row_mapper.h"

#include "metrics/table_metrics.h"
#include "metrics/text_encoder.h"
#include "schema/tables/event.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::metrics {
namespace {

using schema::column;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr core::Time kNoon = core::time_from_nanoseconds(1'700'000'000'000'000'000);

// A batch of one row.
stream::Batch one_row(const schema::Table& table) {
    stream::Batch rows(table);
    rows.add_row(kNoon, "n1");
    return rows;
}

void set_any(stream::Batch& rows, size_t index) {
    switch (rows.table().columns[index].type) {
        case schema::ColumnType::kTimestamp:
            return rows.set(index, kNoon);
        case schema::ColumnType::kText:
            return rows.set(index, "some");
        case schema::ColumnType::kInteger:
            return rows.set(index, 8);
        case schema::ColumnType::kReal:
            return rows.set(index, 1.5);
        case schema::ColumnType::kBoolean:
            return rows.set(index, true);
    }
}

const Family* named(const std::vector<Family>& families, std::string_view name) {
    auto found = std::ranges::find(families, name, &Family::name);
    return found == families.end() ? nullptr : &*found;
}

double number_of(const Sample& sample) {
    return std::get<double>(sample.value);
}

TEST(metrics, every_family_of_the_schema_keeps_the_rules) {
    const std::vector<Family> families = declared_families();
    auto result = check(families);
    EXPECT_TRUE(result) << result.error().render();
    for (const Family& family : families) {
        EXPECT_TRUE(family.name.starts_with("belay_")) << family.name;
        EXPECT_FALSE(family.help.empty()) << family.name;
    }
}

TEST(metrics, every_column_has_a_metric_that_says_what_kind_it_is) {
    for (const TableRow& table : kTableRows) {
        for (size_t i = table.first_value; i < table.table->columns.size(); ++i) {
            const schema::Column& one = table.table->columns[i];
            if (one.type == schema::ColumnType::kText) continue;
            stream::Batch rows = one_row(*table.table);
            set_any(rows, i);
            std::vector<Family> families = RowMapper().families_of(rows);
            ASSERT_THAT(families, SizeIs(1)) << table.table->name << "." << one.name;
            auto quantity = std::ranges::find(table.quantities, one.name, &schema::Quantity::name);
            if (quantity == table.quantities.end()) continue;
            const bool counter = quantity->sampling.kind != schema::Sampled::kState;
            EXPECT_EQ(families[0].type, counter ? MetricType::kCounter : MetricType::kGauge)
                << table.table->name << "." << one.name << " is " << families[0].name;
        }
    }
}

TEST(metrics, columns_of_one_metric_differ_in_their_labels) {
    for (const TableRow& table : kTableRows) {
        stream::Batch rows = one_row(*table.table);
        for (size_t i = 2; i < table.table->columns.size(); ++i) set_any(rows, i);
        std::vector<Family> families = RowMapper().families_of(rows);
        EXPECT_FALSE(families.empty());
        auto text = encode_text(families, TextForm::kPrometheus);
        EXPECT_TRUE(text) << table.table->name << ": " << text.error().render();
    }
}

TEST(metrics, exceptions_name_tables_and_columns_that_there_are) {
    auto is_there = [](std::string_view table, std::string_view name) {
        const schema::Table* found = schema::find_table(table);
        return found != nullptr &&
               std::ranges::find(found->columns, name, &schema::Column::name) != found->columns.end();
    };
    for (const MetricRow& row : kMetrics)
        EXPECT_TRUE(is_there(row.table, row.column)) << row.table << "." << row.column;
    for (const LabelRow& row : kLabels)
        EXPECT_TRUE(is_there(row.table, row.column)) << row.table << "." << row.column;
}

// The catalogue's names of what Belay's tables hold today.
TEST(metrics, names_are_those_of_the_catalogue) {
    const std::vector<Family> families = declared_families();
    for (std::string_view name : {"node_cpu_seconds_total",
                                  "node_interrupts_total",
                                  "node_memory_bytes",
                                  "node_vmstat_total",
                                  "node_pressure_seconds_total",
                                  "process_cpu_seconds_total",
                                  "process_run_delay_seconds_total",
                                  "process_io_bytes_total",
                                  "process_resident_bytes",
                                  "node_disk_bytes_total",
                                  "node_disk_io_seconds_total",
                                  "filesystem_free_bytes",
                                  "filesystem_free_inodes",
                                  "net_bytes_total",
                                  "net_errors_total",
                                  "net_carrier_changes_total",
                                  "job_info",
                                  "gpu_engine_active_ratio",
                                  "gpu_sm_active_ratio",
                                  "gpu_sm_occupancy_ratio",
                                  "gpu_tensor_active_ratio",
                                  "gpu_dram_active_ratio",
                                  "gpu_pipe_active_ratio",
                                  "gpu_pcie_bytes_per_second",
                                  "gpu_nvlink_bytes_per_second",
                                  "gpu_c2c_bytes_per_second",
                                  "gpu_utilization_ratio",
                                  "gpu_memory_bytes",
                                  "gpu_clock_hertz",
                                  "gpu_temperature_celsius",
                                  "gpu_power_watts",
                                  "gpu_energy_joules_total",
                                  "gpu_clock_event_active",
                                  "gpu_violation_seconds_total",
                                  "gpu_ecc_errors_total",
                                  "gpu_remapped_rows",
                                  "gpu_pcie_replays_total",
                                  "gpu_nvlink_errors_total"})
        EXPECT_NE(named(families, std::string("belay_").append(name)), nullptr) << name;
}

TEST(metrics, a_row_of_a_host) {
    stream::Batch rows = one_row(schema::kHost);
    rows.set(column(schema::kHost, "cpu_count"), 64);
    rows.set(column(schema::kHost, "cpu_user_seconds_total"), 12.25);
    rows.set(column(schema::kHost, "cpu_idle_seconds_total"), 99.5);
    rows.set(column(schema::kHost, "memory_free_bytes"), int64_t{1} << 40);
    rows.set(column(schema::kHost, "pressure_io_full_seconds_total"), 0.0);
    auto text = encode_text(RowMapper().families_of(rows), TextForm::kOpenMetrics);
    ASSERT_TRUE(text) << text.error().render();
    EXPECT_EQ(*text, R"(# TYPE belay_node_cpus gauge
# HELP belay_node_cpus logical CPUs online
belay_node_cpus{node="n1"} 64 1700000000
# TYPE belay_node_cpu_seconds counter
# UNIT belay_node_cpu_seconds seconds
# HELP belay_node_cpu_seconds CPU time of all CPUs by mode; user includes niced, guests once
belay_node_cpu_seconds_total{node="n1",mode="user"} 12.25 1700000000
belay_node_cpu_seconds_total{node="n1",mode="idle"} 99.5 1700000000
# TYPE belay_node_memory_bytes gauge
# UNIT belay_node_memory_bytes bytes
# HELP belay_node_memory_bytes memory of the node by kind
belay_node_memory_bytes{node="n1",kind="free"} 1099511627776 1700000000
# TYPE belay_node_pressure_seconds counter
# UNIT belay_node_pressure_seconds seconds
# HELP belay_node_pressure_seconds time in which some or all tasks waited (PSI)
belay_node_pressure_seconds_total{node="n1",resource="io",kind="full"} 0 1700000000
# EOF
)");
}

TEST(metrics, what_is_missing_is_no_sample) {
    for (const TableRow& table : kTableRows) {
        std::vector<Family> families = RowMapper().families_of(one_row(*table.table));
        std::erase_if(families, [](const Family& family) { return family.type == MetricType::kInfo; });
        EXPECT_THAT(families, IsEmpty()) << table.table->name;
    }
    EXPECT_THAT(RowMapper().families_of(stream::Batch(schema::kHost)), IsEmpty());
}

TEST(metrics, keys_become_labels) {
    stream::Batch rows = one_row(schema::kProcess);
    rows.set(column(schema::kProcess, "pid"), 4711);
    rows.set(column(schema::kProcess, "parent_pid"), 1);
    rows.set(column(schema::kProcess, "start_time"), kNoon);
    rows.set(column(schema::kProcess, "job_id"), 99);
    rows.set(column(schema::kProcess, "command"), "py\"thon");
    rows.set(column(schema::kProcess, "state"), "R");
    rows.set(column(schema::kProcess, "read_characters_total"), 7);
    std::vector<Family> families = RowMapper().families_of(rows);
    ASSERT_THAT(families, SizeIs(1));
    EXPECT_EQ(families[0].name, "belay_process_io_bytes_total");
    ASSERT_THAT(families[0].samples, SizeIs(1));
    EXPECT_THAT(families[0].samples[0].labels,
                ElementsAre(Label{"node", "n1"}, Label{"pid", "4711"}, Label{"job_id", "99"},
                            Label{"command", "py\"thon"}, Label{"kind", "rchar"}));
    EXPECT_EQ(families[0].samples[0].time, kNoon);
}

TEST(metrics, values_are_in_base_units) {
    stream::Batch rows = one_row(schema::kNetwork);
    rows.set(column(schema::kNetwork, "device"), "hsn0");
    rows.set(column(schema::kNetwork, "link_bits_per_second"), int64_t{200'000'000'000});
    rows.set(column(schema::kNetwork, "carrier"), true);
    std::vector<Family> families = RowMapper().families_of(rows);
    const Family* speed = named(families, "belay_net_link_bytes_per_second");
    ASSERT_NE(speed, nullptr);
    EXPECT_EQ(speed->unit, "bytes_per_second");
    EXPECT_EQ(number_of(speed->samples[0]), 25e9);
    EXPECT_THAT(speed->samples[0].labels, ElementsAre(Label{"node", "n1"}, Label{"dev", "hsn0"}));
    const Family* carrier = named(families, "belay_net_carrier");
    ASSERT_NE(carrier, nullptr);
    EXPECT_EQ(number_of(carrier->samples[0]), 1);
}

TEST(metrics, bits_become_series) {
    stream::Batch rows = one_row(schema::kGpu);
    rows.set(column(schema::kGpu, "device"), "GPU-1");
    rows.set(column(schema::kGpu, "clock_event_reasons"), 0x44);
    std::vector<Family> families = RowMapper().families_of(rows);
    ASSERT_THAT(families, SizeIs(1));
    EXPECT_EQ(families[0].name, "belay_gpu_clock_event_active");
    std::set<std::string> active;
    for (const Sample& sample : families[0].samples)
        if (number_of(sample) == 1) active.insert(sample.labels.back().value);
    EXPECT_THAT(families[0].samples, SizeIs(5));
    EXPECT_THAT(active, ElementsAre("hw_thermal", "power_cap"));
}

TEST(metrics, a_counter_that_goes_back_a_little_stays) {
    RowMapper mapper;
    auto shown = [&](double iowait, std::string_view node) {
        stream::Batch rows(schema::kHost);
        rows.add_row(kNoon, node);
        rows.set(column(schema::kHost, "cpu_iowait_seconds_total"), iowait);
        return number_of(mapper.families_of(rows).at(0).samples.at(0));
    };
    EXPECT_EQ(shown(100, "n1"), 100);
    EXPECT_EQ(shown(50, "n2"), 50);
    EXPECT_EQ(shown(99.5, "n1"), 100);
    EXPECT_EQ(shown(99.75, "n1"), 100);
    EXPECT_EQ(shown(101, "n1"), 101);
    EXPECT_EQ(shown(50.5, "n2"), 50.5);
    EXPECT_EQ(shown(2, "n1"), 2) << "a new beginning";
    EXPECT_EQ(shown(3, "n1"), 3);
}

TEST(metrics, a_device_is_an_info) {
    stream::Batch rows = one_row(schema::kGpuDevice);
    rows.set(column(schema::kGpuDevice, "device"), "GPU-1");
    rows.set(column(schema::kGpuDevice, "index"), 0);
    rows.set(column(schema::kGpuDevice, "name"), "NVIDIA H100 80GB HBM3");
    rows.set(column(schema::kGpuDevice, "weight"), 1.0);
    std::vector<Family> families = RowMapper().families_of(rows);
    ASSERT_THAT(families, SizeIs(1));
    EXPECT_EQ(families[0].name, "belay_gpu_info");
    EXPECT_EQ(families[0].type, MetricType::kInfo);
    EXPECT_THAT(families[0].samples[0].labels,
                ElementsAre(Label{"node", "n1"}, Label{"device", "GPU-1"}, Label{"index", "0"},
                            Label{"name", "NVIDIA H100 80GB HBM3"}));
}

TEST(metrics, what_is_wrong_in_a_counter_is_missing) {
    stream::Batch rows = one_row(schema::kHost);
    rows.set(column(schema::kHost, "forks_total"), -1);
    rows.set(column(schema::kHost, "load_1m"), -1.0);
    std::vector<Family> families = RowMapper().families_of(rows);
    ASSERT_THAT(families, SizeIs(1));
    EXPECT_EQ(families[0].name, "belay_node_load_1m");
}

TEST(metrics, events_are_not_shown) {
    EXPECT_FALSE(is_shown(schema::kEvent));
    EXPECT_TRUE(is_shown(schema::kGpu));
    EXPECT_THAT(RowMapper().families_of(one_row(schema::kEvent)), IsEmpty());
}

}  // namespace
}  // namespace belay::metrics
