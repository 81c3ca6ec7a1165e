// Makes a record that is not sealed, of one recorder on each of many nodes, as they leave it at 1 Hz when
// they write every 2 s:
//   big_streams DIRECTORY [NODES] [GPUS_EACH] [SECONDS] [LINES]
// LINES, where it is given, gets the same samples of the GPUs as the JSON lines that VictoriaMetrics imports:
// one for each series and ten minutes. The numbers are made up, each with noise of its own.
#include "core/file.h"
#include "record/new_segment.h"
#include "record/place.h"
#include "schema/tables/coverage.h"
#include "schema/tables/gpu.h"
#include "schema/tables/gpu_device.h"
#include "stream/batch.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <random>
#include <string>

namespace belay {

namespace {

using core::Result;

const core::Time kStart = core::time_from_nanoseconds(1'780'000'000'000'000'000);
constexpr int64_t kFlushSeconds = 2;
constexpr int64_t kLineSeconds = 600;

class Noise {
  public:
    explicit Noise(uint64_t seed) : random_(seed) {}
    // Uniform, in steps as a recorder keeps them.
    double operator()(double from, double to, double step) {
        const double share = static_cast<double>(random_()) / static_cast<double>(std::mt19937::max());
        return std::round((from + (to - from) * share) / step) * step;
    }

  private:
    std::mt19937 random_;
};

// Every 600 s there is a checkpoint of 20 s.
double is_busy(int64_t t) {
    return t % 600 >= 20 ? 1 : 0;
}

// Of a second t.
using Formula = double (*)(Noise&, int64_t t);
const std::map<std::string_view, Formula>& formulas() {
    static const std::map<std::string_view, Formula> all = {
        {"engine_active_ratio", [](Noise& noise, int64_t t) { return noise(0.9, 1, 1e-4) * is_busy(t); }},
        {"sm_active_ratio", [](Noise& noise, int64_t t) { return noise(0.8, 0.9, 1e-4) * is_busy(t); }},
        {"sm_occupancy_ratio", [](Noise& noise, int64_t) { return noise(0.3, 0.4, 1e-4); }},
        {"tensor_active_ratio", [](Noise& noise, int64_t t) { return noise(0.4, 0.55, 1e-4) * is_busy(t); }},
        {"fp64_active_ratio", [](Noise&, int64_t) { return 0.0; }},
        {"fp32_active_ratio", [](Noise& noise, int64_t) { return noise(0.06, 0.1, 1e-4); }},
        {"fp16_active_ratio", [](Noise& noise, int64_t) { return noise(0.02, 0.04, 1e-4); }},
        {"integer_active_ratio", [](Noise& noise, int64_t) { return noise(0.03, 0.05, 1e-4); }},
        {"dram_active_ratio", [](Noise& noise, int64_t) { return noise(0.3, 0.4, 1e-4); }},
        {"utilization_ratio", [](Noise& noise, int64_t) { return noise(0.95, 1, 1e-2); }},
        {"memory_used_bytes",
         [](Noise&, int64_t t) { return (60000.0 + std::floor(static_cast<double>(t) / 1e3)) * 1048576; }},
        {"memory_total_bytes", [](Noise&, int64_t) { return 81559.0 * 1048576; }},
        {"clock_sm_hertz", [](Noise& noise, int64_t) { return noise(1695e6, 1815e6, 15e6); }},
        {"clock_memory_hertz", [](Noise&, int64_t) { return 2619e6; }},
        {"temperature_celsius", [](Noise& noise, int64_t) { return noise(55, 63, 1); }},
        {"memory_temperature_celsius", [](Noise& noise, int64_t) { return noise(65, 73, 1); }},
        {"power_watts", [](Noise& noise, int64_t) { return noise(560, 640, 0.1); }},
        {"energy_joules_total",
         [](Noise& noise, int64_t t) { return 600.0 * static_cast<double>(t) + noise(0, 1, 1e-3); }},
        {"clock_event_reasons", [](Noise& noise, int64_t) { return noise(0, 1, 1e-3) < 0.05 ? 4.0 : 0.0; }},
        {"pcie_sent_bytes_per_second", [](Noise& noise, int64_t) { return noise(0, 1e6, 1e3); }},
        {"pcie_received_bytes_per_second", [](Noise& noise, int64_t) { return noise(0, 1e6, 1e3); }},
        {"nvlink_sent_bytes_per_second", [](Noise& noise, int64_t) { return noise(0, 1e11, 1e7); }},
        {"nvlink_received_bytes_per_second", [](Noise& noise, int64_t) { return noise(0, 1e11, 1e7); }},
        {"ecc_corrected_total", [](Noise&, int64_t) { return 0.0; }},
        {"ecc_uncorrected_total", [](Noise&, int64_t) { return 0.0; }},
        {"remapped_rows_total", [](Noise&, int64_t) { return 0.0; }},
        {"pcie_replays_total", [](Noise&, int64_t) { return 0.0; }},
        {"pcie_generation", [](Noise&, int64_t) { return 5.0; }},
        {"pcie_width", [](Noise&, int64_t) { return 16.0; }},
        {"processes", [](Noise&, int64_t) { return 1.0; }},
    };
    return all;
}

struct Shape {
    int64_t nodes = 64;
    int64_t gpus = 4;
    int64_t seconds = 80'000;
};

std::string device_of(int64_t node, int64_t gpu) {
    return fmt::format("GPU-00000000-0000-{:04}-0000-{:012}", node, gpu);
}

// What one series was in some minutes.
class Line {
  public:
    void add(int64_t second, double value) {
        fmt::format_to(std::back_inserter(values_), "{}{}", values_.empty() ? "" : ",", value);
        fmt::format_to(std::back_inserter(times_), "{}{}", times_.empty() ? "" : ",",
                       core::to_nanoseconds(kStart) / 1'000'000 + second * 1000);
    }
    void write(std::ostream& out, std::string_view name, std::string_view node, std::string_view device) {
        if (!values_.empty())
            out << fmt::format(
                R"({{"metric":{{"__name__":"gpu_{}","node":"{}","device":"{}"}},"values":[{}],"timestamps":[{}]}})"
                "\n",
                name, node, device, values_, times_);
        values_.clear();
        times_.clear();
    }

  private:
    std::string values_;
    std::string times_;
};

// Columns of the table that have a formula.
struct Sampled {
    size_t column;
    schema::ColumnType type;
    std::string_view name;
    Formula formula;
};
std::vector<Sampled> sampled_columns() {
    std::vector<Sampled> out;
    for (size_t i = 0; i < schema::kGpu.columns.size(); ++i) {
        const schema::Column& column = schema::kGpu.columns[i];
        if (auto found = formulas().find(column.name); found != formulas().end())
            out.push_back({i, column.type, column.name, found->second});
    }
    return out;
}

class NodeWriter {
  public:
    NodeWriter(const Shape& shape, int64_t node, std::ostream* lines)
        : shape_(shape),
          number_(node),
          node_(fmt::format("node{:04}", node)),
          lines_(lines),
          noise_(static_cast<uint64_t>(node)) {
        if (lines_ != nullptr) series_.resize(static_cast<size_t>(shape.gpus) * columns_.size());
    }

    Result<uint64_t> write(const core::Directory& record) {
        BELAY_TRY(segment, record::new_segment(record, node_ + "-0.seg",
                                               {.node = node_,
                                                .start = kStart,
                                                .interval = std::chrono::seconds(1),
                                                .flush = std::chrono::seconds(kFlushSeconds),
                                                .version = "big_streams"}));
        BELAY_CHECK(segment.append(devices()));
        stream::Batch rows(schema::kGpu);
        for (int64_t t = 1; t <= shape_.seconds; ++t) {
            for (int64_t gpu = 0; gpu < shape_.gpus; ++gpu) add_row(rows, t, gpu);
            if (t % kFlushSeconds == 0 || t == shape_.seconds) {
                BELAY_CHECK(segment.append(rows));
                rows.clear();
            }
            if (t % kLineSeconds == 0 || t == shape_.seconds) write_lines();
        }
        BELAY_CHECK(segment.append(coverage()));
        BELAY_CHECK(segment.finish(kStart + std::chrono::seconds(shape_.seconds)));
        return values_;
    }

  private:
    stream::Batch devices() const {
        stream::Batch rows(schema::kGpuDevice);
        for (int64_t gpu = 0; gpu < shape_.gpus; ++gpu) {
            rows.add_row(kStart, node_);
            rows.set(column(schema::kGpuDevice, "device"), device_of(number_, gpu));
            rows.set(column(schema::kGpuDevice, "index"), gpu);
            rows.set(column(schema::kGpuDevice, "name"), "NVIDIA H100 80GB HBM3");
            rows.set(column(schema::kGpuDevice, "weight"), 1.0);
            rows.set(column(schema::kGpuDevice, "source"), "nvml");
        }
        return rows;
    }

    stream::Batch coverage() const {
        stream::Batch rows(schema::kCoverage);
        rows.add_row(kStart + std::chrono::seconds(shape_.seconds), node_);
        rows.set(column(schema::kCoverage, "table_name"), "gpu");
        rows.set(column(schema::kCoverage, "start"), kStart);
        rows.set(column(schema::kCoverage, "interval_seconds"), 1.0);
        rows.set(column(schema::kCoverage, "expected"), shape_.seconds);
        rows.set(column(schema::kCoverage, "received"), shape_.seconds);
        return rows;
    }

    void add_row(stream::Batch& rows, int64_t t, int64_t gpu) {
        rows.add_row(kStart + std::chrono::seconds(t), node_);
        rows.set(column(schema::kGpu, "device"), device_of(number_, gpu));
        for (size_t i = 0; i < columns_.size(); ++i) {
            const double value = columns_[i].formula(noise_, t);
            if (columns_[i].type == schema::ColumnType::kReal)
                rows.set(columns_[i].column, value);
            else
                rows.set(columns_[i].column, static_cast<int64_t>(value));
            ++values_;
            if (lines_ != nullptr) series_[static_cast<size_t>(gpu) * columns_.size() + i].add(t, value);
        }
    }

    void write_lines() {
        for (size_t i = 0; i < series_.size(); ++i)
            series_[i].write(*lines_, columns_[i % columns_.size()].name, node_,
                             device_of(number_, static_cast<int64_t>(i / columns_.size())));
    }

    const Shape& shape_;
    int64_t number_;
    std::string node_;
    std::ostream* lines_;
    Noise noise_;
    std::vector<Sampled> columns_ = sampled_columns();
    std::vector<Line> series_;
    uint64_t values_ = 0;
};

Result<> make(const std::filesystem::path& directory, const Shape& shape, std::ostream* lines) {
    record::Manifest manifest;
    manifest.job.cluster = "made-up";
    manifest.job.id = 4711;
    for (int64_t n = 0; n < shape.nodes; ++n) manifest.job.nodes.push_back(fmt::format("node{:04}", n));
    manifest.created = kStart;
    manifest.job.start = kStart;
    manifest.interval = std::chrono::seconds(1);
    BELAY_CHECK(record::begin_record(directory, manifest));
    BELAY_TRY(record, core::Directory::open(directory));
    uint64_t values = 0;
    for (int64_t n = 0; n < shape.nodes; ++n) {
        BELAY_TRY(written, NodeWriter(shape, n, lines).write(record));
        values += written;
    }
    fmt::print("{}\n", values);
    return {};
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
        std::fputs("usage: big_streams DIRECTORY [NODES] [GPUS_EACH] [SECONDS] [LINES]\n", stderr);
        return 2;
    }
    std::ofstream lines;
    if (argc > 5) lines.open(argv[5]);
    if (auto made = belay::make(argv[1], shape, argc > 5 ? &lines : nullptr); !made) {
        std::fputs(made.error().render("big_streams").c_str(), stderr);
        return 3;
    }
    return lines.good() ? 0 : 3;
}
