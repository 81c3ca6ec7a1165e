#include "observe/collect/host.h"

#include "observe/collect/source_file.h"
#include "observe/collect/units.h"
#include "procfs/keyed.h"
#include "procfs/loadavg.h"
#include "procfs/pressure.h"
#include "procfs/stat.h"
#include "schema/tables/host.h"

#include <algorithm>
#include <unistd.h>

namespace belay::observe::collect {

namespace {

using schema::column;
using schema::kHost;
using stream::Batch;

void set_cpu(Batch& rows, const procfs::Stat& stat, int64_t ticks) {
    rows.set(column(kHost, "cpu_count"), stat.cpus_online);
    rows.set(column(kHost, "cpu_user_seconds_total"), seconds_of(sum(stat.user, stat.nice), ticks));
    rows.set(column(kHost, "cpu_system_seconds_total"), seconds_of(stat.system, ticks));
    rows.set(column(kHost, "cpu_idle_seconds_total"), seconds_of(stat.idle, ticks));
    rows.set(column(kHost, "cpu_iowait_seconds_total"), seconds_of(stat.iowait, ticks));
    rows.set(column(kHost, "cpu_irq_seconds_total"), seconds_of(sum(stat.irq, stat.softirq), ticks));
    rows.set(column(kHost, "cpu_steal_seconds_total"), seconds_of(stat.steal, ticks));
    rows.set(column(kHost, "threads_running"), stat.threads_running);
    rows.set(column(kHost, "threads_blocked"), stat.threads_blocked);
    rows.set(column(kHost, "context_switches_total"), stat.context_switches);
    rows.set(column(kHost, "interrupts_total"), stat.interrupts);
    rows.set(column(kHost, "forks_total"), stat.forks);
}

// A file of lines "key value": which of them go where is declared with the columns.
class KeyedFile {
  public:
    KeyedFile(const std::filesystem::path& proc, std::string_view name) : file_(proc / name) {
        for (size_t i = 0; i < std::size(schema::kHostQuantities); ++i) {
            const schema::Quantity& quantity = schema::kHostQuantities[i];
            if (quantity.sampling.file != name || quantity.sampling.key.empty()) continue;
            wanted_.push_back({quantity.sampling.key, quantity.unit == "B"});
            columns_.push_back(schema::kFirstHostQuantity + i);
        }
        values_.resize(wanted_.size());
    }

    void set(Batch& rows) {
        procfs::parse_keyed(file_.read_or_empty(), wanted_, values_);
        for (size_t i = 0; i < columns_.size(); ++i) rows.set(columns_[i], values_[i]);
    }

  private:
    SourceFile file_;
    std::vector<procfs::Keyed> wanted_;
    std::vector<size_t> columns_;
    std::vector<std::optional<int64_t>> values_;
};

static_assert(std::ranges::all_of(schema::kHostQuantities,
                                  [](const schema::Quantity& quantity) {
                                      return quantity.sampling.key.empty() ||
                                             quantity.type == schema::ColumnType::kInteger;
                                  }),
              "lines of keyed files are whole numbers");

// Each file once.
std::vector<KeyedFile> keyed_files(const std::filesystem::path& proc) {
    std::vector<std::string_view> names;
    for (const schema::Quantity& quantity : schema::kHostQuantities)
        if (!quantity.sampling.key.empty() && std::ranges::find(names, quantity.sampling.file) == names.end())
            names.push_back(quantity.sampling.file);
    std::vector<KeyedFile> files;
    for (std::string_view name : names) files.emplace_back(proc, name);
    return files;
}

class HostCollector : public Collector {
  public:
    explicit HostCollector(const std::filesystem::path& proc)
        : stat_(proc / "stat"),
          loadavg_(proc / "loadavg"),
          pressure_cpu_(proc / "pressure/cpu"),
          pressure_memory_(proc / "pressure/memory"),
          pressure_io_(proc / "pressure/io"),
          keyed_(keyed_files(proc)) {}

    const schema::Table& table() const override { return kHost; }

    core::Result<> collect(const Sample& sample, Batch& rows) override {
        BELAY_TRY(stat, stat_.read());
        rows.add_row(sample.time, sample.node);
        set_cpu(rows, procfs::parse_stat(stat), ticks_per_second_);
        rows.set(column(kHost, "load_1m"), procfs::parse_loadavg(loadavg_.read_or_empty()));
        for (KeyedFile& file : keyed_) file.set(rows);
        set_pressure(rows);
        return {};
    }

  private:
    void set_pressure(Batch& rows) {
        procfs::Pressure cpu = procfs::parse_pressure(pressure_cpu_.read_or_empty());
        procfs::Pressure memory = procfs::parse_pressure(pressure_memory_.read_or_empty());
        procfs::Pressure io = procfs::parse_pressure(pressure_io_.read_or_empty());
        rows.set(column(kHost, "pressure_cpu_some_seconds_total"), seconds_of(cpu.some, kMicroseconds));
        rows.set(column(kHost, "pressure_memory_some_seconds_total"), seconds_of(memory.some, kMicroseconds));
        rows.set(column(kHost, "pressure_memory_full_seconds_total"), seconds_of(memory.full, kMicroseconds));
        rows.set(column(kHost, "pressure_io_some_seconds_total"), seconds_of(io.some, kMicroseconds));
        rows.set(column(kHost, "pressure_io_full_seconds_total"), seconds_of(io.full, kMicroseconds));
    }

    SourceFile stat_, loadavg_, pressure_cpu_, pressure_memory_, pressure_io_;
    std::vector<KeyedFile> keyed_;
    int64_t ticks_per_second_ = sysconf(_SC_CLK_TCK);
};

}  // namespace

std::unique_ptr<Collector> make_host_collector(const CollectOptions& options) {
    return std::make_unique<HostCollector>(options.proc);
}

}  // namespace belay::observe::collect
