#include "observe/collect/host.h"

#include "observe/collect/keyed_columns.h"
#include "observe/collect/source_file.h"
#include "observe/collect/units.h"
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
    rows.set(column(kHost, "interrupts_total"), stat.interrupts);
}

KeyedColumns keyed_columns(std::string_view file) {
    return {schema::kHostQuantities, schema::kFirstHostQuantity, file, KeyedBytes::kKibibytes};
}
static_assert(keys_are_of_whole_numbers(schema::kHostQuantities));

// Files of lines "key value", each once.
struct KeyedFile {
    KeyedColumns columns;
    SourceFile file;
};

constexpr std::string_view kStat = "stat";  // in which more stands than such lines

std::vector<KeyedFile> keyed_files(const std::filesystem::path& proc) {
    std::vector<std::string_view> names = {kStat};
    std::vector<KeyedFile> files;
    for (const schema::Quantity& quantity : schema::kHostQuantities) {
        const std::string_view name = quantity.sampling.file;
        if (quantity.sampling.key.empty() || std::ranges::find(names, name) != names.end()) continue;
        names.push_back(name);
        files.push_back({keyed_columns(name), SourceFile(proc / name)});
    }
    return files;
}

class HostCollector : public Collector {
  public:
    explicit HostCollector(const std::filesystem::path& proc)
        : stat_(proc / kStat),
          loadavg_(proc / "loadavg"),
          pressure_cpu_(proc / "pressure/cpu"),
          pressure_memory_(proc / "pressure/memory"),
          pressure_io_(proc / "pressure/io"),
          in_stat_(keyed_columns(kStat)),
          keyed_(keyed_files(proc)) {}

    const schema::Table& table() const override { return kHost; }

    core::Result<> collect(const Sample& sample, Batch& rows) override {
        BELAY_TRY(stat, stat_.read());
        rows.add_row(sample.time, sample.node);
        set_cpu(rows, procfs::parse_stat(stat), ticks_per_second_);
        in_stat_.set(stat, rows);
        rows.set(column(kHost, "load_1m"), procfs::parse_loadavg(loadavg_.read_or_empty()));
        for (KeyedFile& keyed : keyed_) keyed.columns.set(keyed.file.read_or_empty(), rows);
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
    KeyedColumns in_stat_;
    std::vector<KeyedFile> keyed_;
    int64_t ticks_per_second_ = sysconf(_SC_CLK_TCK);
};

}  // namespace

std::unique_ptr<Collector> make_host_collector(const CollectOptions& options) {
    return std::make_unique<HostCollector>(options.proc);
}

}  // namespace belay::observe::collect
