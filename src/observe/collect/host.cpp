#include "observe/collect/host.h"

#include "observe/collect/source_file.h"
#include "observe/collect/units.h"
#include "procfs/loadavg.h"
#include "procfs/meminfo.h"
#include "procfs/pressure.h"
#include "procfs/stat.h"
#include "procfs/vmstat.h"
#include "schema/tables/host.h"

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

void set_memory(Batch& rows, const procfs::Meminfo& memory) {
    rows.set(column(kHost, "memory_total_bytes"), memory.total);
    rows.set(column(kHost, "memory_free_bytes"), memory.free);
    rows.set(column(kHost, "memory_available_bytes"), memory.available);
    rows.set(column(kHost, "memory_cached_bytes"), memory.cached);
    rows.set(column(kHost, "memory_buffers_bytes"), memory.buffers);
    rows.set(column(kHost, "memory_anonymous_bytes"), memory.anonymous);
    rows.set(column(kHost, "memory_shared_bytes"), memory.shared);
    rows.set(column(kHost, "memory_slab_bytes"), memory.slab);
    rows.set(column(kHost, "memory_dirty_bytes"), memory.dirty);
    rows.set(column(kHost, "swap_total_bytes"), memory.swap_total);
    rows.set(column(kHost, "swap_free_bytes"), memory.swap_free);
}

class HostCollector : public Collector {
  public:
    explicit HostCollector(const std::filesystem::path& proc)
        : stat_(proc / "stat"),
          meminfo_(proc / "meminfo"),
          vmstat_(proc / "vmstat"),
          loadavg_(proc / "loadavg"),
          pressure_cpu_(proc / "pressure/cpu"),
          pressure_memory_(proc / "pressure/memory"),
          pressure_io_(proc / "pressure/io") {}

    const schema::Table& table() const override { return kHost; }

    core::Result<> collect(const Sample& sample, Batch& rows) override {
        BELAY_TRY(stat, stat_.read());
        rows.add_row(sample.time, sample.node);
        set_cpu(rows, procfs::parse_stat(stat), ticks_per_second_);
        set_memory(rows, procfs::parse_meminfo(meminfo_.read_or_empty()));
        rows.set(column(kHost, "load_1m"), procfs::parse_loadavg(loadavg_.read_or_empty()));
        set_vmstat(rows, procfs::parse_vmstat(vmstat_.read_or_empty()));
        set_pressure(rows);
        return {};
    }

  private:
    static void set_vmstat(Batch& rows, const procfs::Vmstat& vmstat) {
        rows.set(column(kHost, "page_faults_major_total"), vmstat.page_faults_major);
        rows.set(column(kHost, "oom_kills_total"), vmstat.oom_kills);
        rows.set(column(kHost, "compaction_stalls_total"), vmstat.compaction_stalls);
    }

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

    SourceFile stat_, meminfo_, vmstat_, loadavg_, pressure_cpu_, pressure_memory_, pressure_io_;
    int64_t ticks_per_second_ = sysconf(_SC_CLK_TCK);
};

}  // namespace

std::unique_ptr<Collector> make_host_collector(const CollectOptions& options) {
    return std::make_unique<HostCollector>(options.proc);
}

}  // namespace belay::observe::collect
