// Makes a sealed record of many GPUs over a long time, as a day of training at 1 Hz would leave it:
//   big_record DIRECTORY [NODES] [GPUS_EACH] [SECONDS]     (256 nodes of 4 GPUs, a day)
// The numbers are made up, each with noise of its own, so that they do not compress better than real ones.
#include "core/file.h"
#include "record/archive/archive.h"
#include "record/archive/database.h"
#include "record/place.h"

#include <charconv>
#include <cstdio>
#include <map>
#include <string>

namespace belay {

namespace {

using core::Result;

constexpr int64_t kStart = 1'780'000'000'000'000;  // µs since 1970

// SQL for the columns that have values; t is the second, n the node, g the GPU. Every 600 s a checkpoint of
// 20 s.
const std::map<std::string, std::string>& gpu_values() {
    static const std::map<std::string, std::string> values = {
        {"engine_active_ratio", "round((0.9 + 0.1 * random()) * (t % 600 >= 20)::INT, 4)"},
        {"sm_active_ratio", "round((0.8 + 0.1 * random()) * (t % 600 >= 20)::INT, 4)"},
        {"sm_occupancy_ratio", "round(0.3 + 0.1 * random(), 4)"},
        {"tensor_active_ratio", "round((0.4 + 0.15 * random()) * (t % 600 >= 20)::INT, 4)"},
        {"fp64_active_ratio", "0.0"},
        {"fp32_active_ratio", "round(0.06 + 0.04 * random(), 4)"},
        {"fp16_active_ratio", "round(0.02 + 0.02 * random(), 4)"},
        {"integer_active_ratio", "round(0.03 + 0.02 * random(), 4)"},
        {"dram_active_ratio", "round(0.3 + 0.1 * random(), 4)"},
        {"utilization_ratio", "floor(95 + 5 * random()) / 100"},
        {"memory_used_bytes", "(60000 + t // 1000) * 1048576::BIGINT"},
        {"memory_total_bytes", "81559 * 1048576::BIGINT"},
        {"clock_sm_hertz", "1e6 * (1695 + 15 * floor(8 * random()))"},
        {"clock_memory_hertz", "2619e6"},
        {"temperature_celsius", "55 + floor(8 * random())"},
        {"memory_temperature_celsius", "65 + floor(8 * random())"},
        {"power_watts", "round(560 + 80 * random(), 1)"},
        {"energy_joules_total", "600.0 * t + floor(1000 * random()) / 1000"},
        {"clock_event_reasons", "CASE WHEN random() < 0.05 THEN 4 ELSE 0 END"},
        {"pcie_sent_bytes_per_second", "round(1e6 * random(), -3)"},
        {"pcie_received_bytes_per_second", "round(1e6 * random(), -3)"},
        {"nvlink_sent_bytes_per_second", "round(1e11 * random(), -7)"},
        {"nvlink_received_bytes_per_second", "round(1e11 * random(), -7)"},
        {"ecc_corrected_total", "0"},
        {"ecc_uncorrected_total", "0"},
        {"remapped_rows_total", "0"},
        {"remap_pending", "0"},
        {"remap_failed", "0"},
        {"pcie_replays_total", "0"},
        {"pcie_generation", "5"},
        {"pcie_width", "16"},
        {"processes", "1"},
    };
    return values;
}

const std::map<std::string, std::string>& host_values() {
    static const std::map<std::string, std::string> values = {
        {"cpu_count", "72"},
        {"cpu_user_seconds_total", "20.0 * t + floor(100 * random()) / 100"},
        {"cpu_system_seconds_total", "2.0 * t + floor(100 * random()) / 100"},
        {"cpu_idle_seconds_total", "50.0 * t"},
        {"cpu_iowait_seconds_total", "0.1 * t"},
        {"load_1m", "20 + floor(100 * random()) / 100"},
        {"threads_running", "(20 + floor(8 * random()))::BIGINT"},
        {"threads_blocked", "0"},
        {"context_switches_total", "50000 * t + floor(10000 * random())::BIGINT"},
        {"memory_total_bytes", "500000000000"},
        {"memory_available_bytes", "(300000000 + floor(1000000 * random())::BIGINT) * 1000"},
        {"memory_anonymous_bytes", "(100000000 + floor(1000000 * random())::BIGINT) * 1000"},
        {"memory_shared_bytes", "1000000000"},
        {"oom_kills_total", "0"},
        {"pressure_io_some_seconds_total", "0.01 * t"},
        {"pressure_io_full_seconds_total", "0.01 * t"},
    };
    return values;
}

// Of a rank; its loaders are left out.
const std::map<std::string, std::string>& process_values() {
    static const std::map<std::string, std::string> values = {
        {"pid", "1000 + g"},
        {"parent_pid", "999"},
        {"start_time", fmt::format("make_timestamp({})", kStart)},
        {"task", "n * 4 + g"},
        {"command", "'python3'"},
        {"state", "CASE WHEN random() < 0.9 THEN 'R' ELSE 'S' END"},
        {"threads", "80"},
        {"processor", "floor(72 * random())::BIGINT"},
        {"cpu_user_seconds_total", "4.0 * t + floor(100 * random()) / 100"},
        {"cpu_system_seconds_total", "0.4 * t + floor(100 * random()) / 100"},
        {"run_delay_seconds_total", "0.001 * t"},
        {"resident_bytes", "(20000000 + floor(100000 * random())::BIGINT) * 1024"},
        {"anonymous_bytes", "(15000000 + floor(100000 * random())::BIGINT) * 1024"},
        {"virtual_bytes", "900000000000"},
        {"page_faults_major_total", "0"},
        {"read_bytes_total", "(t * 20000 + floor(20000 * random())::BIGINT) * 4096"},
        {"written_bytes_total", "t // 600 * 4000000000"},
        {"read_characters_total", "(t * 30000 + floor(20000 * random())::BIGINT) * 4096"},
        {"written_characters_total", "t // 600 * 4000000000"},
    };
    return values;
}

std::string columns_of(const schema::Table& table, const std::string& first,
                       const std::map<std::string, std::string>& values) {
    std::string sql = first;
    for (size_t i = 2; i < table.columns.size(); ++i) {
        const schema::Column& column = table.columns[i];
        if (column.name == "device") continue;
        auto value = values.find(std::string(column.name));
        sql += fmt::format(", CAST({} AS {}) AS \"{}\"", value != values.end() ? value->second : "NULL",
                           schema::sql_type(column.type), column.name);
    }
    return sql;
}

struct Shape {
    int64_t nodes = 256;
    int64_t gpus = 4;
    int64_t seconds = 86400;
};

std::string select_of(const schema::Table& table, const Shape& shape) {
    const std::string time = fmt::format("make_timestamp({} + (t + 1) * 1000000) AS time", kStart);
    const std::string node = "'node' || lpad(n::VARCHAR, 4, '0') AS node";
    const std::string device =
        "'GPU-00000000-0000-' || lpad(n::VARCHAR, 4, '0') || '-0000-' || lpad(g::VARCHAR, 12, '0') "
        "AS device";
    const std::string nodes = fmt::format("range(0, {}) nodes(n)", shape.nodes);
    const std::string gpus = fmt::format("range(0, {}) gpus(g)", shape.gpus);
    // In order of node and time, as a sealed record is.
    const std::string ticks = fmt::format("(SELECT n, unnest(range({})) AS t FROM {})", shape.seconds, nodes);
    const std::string readings =
        fmt::format("(SELECT n, t, unnest(range({})) AS g FROM {})", shape.gpus, ticks);
    const std::string span =
        fmt::format("make_timestamp({0}) AS t0, make_timestamp({0} + {1} * 1000000::BIGINT) AS t1", kStart,
                    shape.seconds);
    if (table.name == "gpu")
        return fmt::format("SELECT {} FROM {}",
                           columns_of(table, time + ", " + node + ", " + device, gpu_values()), readings);
    if (table.name == "host")
        return fmt::format("SELECT {} FROM {}", columns_of(table, time + ", " + node, host_values()), ticks);
    if (table.name == "process")
        return fmt::format("SELECT {} FROM {}", columns_of(table, time + ", " + node, process_values()),
                           readings);
    if (table.name == "gpu_device")
        return fmt::format(
            "SELECT make_timestamp({}) AS time, {}, {}, g AS index, 'NVIDIA H100 80GB HBM3' AS name, "
            "NULL::VARCHAR AS mig_profile, 1.0 AS weight, '550.54' AS driver, 'nvml' AS source FROM {}, {}",
            kStart, node, device, nodes, gpus);
    if (table.name == "allocation")
        return fmt::format(
            "SELECT make_timestamp({}) AS time, {}, 4711 AS job_id, '0' AS step_id, 0 AS restart, {}, n * {} "
            "AS first_task, {} AS tasks, 72 AS cpus, {} FROM {}, {}",
            kStart, node, device, shape.gpus, shape.gpus, span, nodes, gpus);
    if (table.name == "coverage")
        return fmt::format(
            "SELECT make_timestamp({0} + {1} * 1000000::BIGINT) AS time, {2}, name AS table_name, "
            "make_timestamp({0}) "
            "AS start, 1.0 AS interval_seconds, {1} AS expected, {1} AS received FROM {3}, (VALUES ('gpu'), "
            "('host'), ('process')) names(name)",
            kStart, shape.seconds, node, nodes);
    return {};
}

Result<> make(const std::filesystem::path& directory, const Shape& shape) {
    record::Manifest manifest;
    manifest.job.cluster = "made-up";
    manifest.job.id = 4711;
    manifest.job.name = "train";
    for (int64_t n = 0; n < shape.nodes; ++n) manifest.job.nodes.push_back(fmt::format("node{:04}", n));
    manifest.created = core::time_from_nanoseconds(kStart * 1000);
    manifest.job.start = manifest.created;
    manifest.job.end = manifest.created + std::chrono::seconds(shape.seconds);
    manifest.interval = std::chrono::seconds(1);
    BELAY_CHECK(record::begin_record(directory, manifest));
    BELAY_CHECK(core::make_directories(record::tables_path(directory)));
    BELAY_TRY(database, record::Database::open());
    for (const schema::Table* table : schema::tables()) {
        std::string select = select_of(*table, shape);
        if (select.empty()) {
            BELAY_CHECK(database.execute(schema::create_table_sql(*table)));
            select = fmt::format("SELECT * FROM \"{}\"", table->name);
        }
        const auto file = record::tables_path(directory) / fmt::format("{}.parquet", table->name);
        BELAY_CHECK(database.execute(fmt::format("COPY ({}) TO {} (FORMAT parquet, COMPRESSION zstd)", select,
                                                 record::sql_literal(file.string()))));
        manifest.tables[std::string(table->name)] = {};
        fmt::print(stderr, "{}\n", table->name);
    }
    manifest.sealed = *manifest.job.end;
    return core::replace_file(record::manifest_path(directory), record::to_json(manifest));
}

}  // namespace

}  // namespace belay

int main(int argc, char** argv) {
    belay::Shape shape;
    int64_t* const fields[] = {&shape.nodes, &shape.gpus, &shape.seconds};
    for (int i = 2; i < argc && i < 5; ++i) {
        std::string_view text = argv[i];
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *fields[i - 2]);
        if (error != std::errc() || end != text.data() + text.size() || *fields[i - 2] < 1) argc = 0;
    }
    if (argc < 2) {
        std::fputs("usage: big_record DIRECTORY [NODES] [GPUS_EACH] [SECONDS]\n", stderr);
        return 2;
    }
    if (auto made = belay::make(argv[1], shape); !made) {
        std::fputs(made.error().render("big_record").c_str(), stderr);
        return 3;
    }
    return 0;
}
