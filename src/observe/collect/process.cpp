#include "observe/collect/process.h"

#include "core/utf8.h"
#include "observe/collect/job_processes.h"
#include "observe/collect/keyed_columns.h"
#include "observe/collect/open_data.h"
#include "observe/collect/units.h"
#include "procfs/scan.h"
#include "procfs/schedstat.h"
#include "procfs/statm.h"
#include "schema/tables/process.h"

#include <algorithm>
#include <ctime>
#include <unistd.h>

namespace belay::observe::collect {

namespace {

using schema::column;
using schema::kProcess;
using stream::Batch;

constexpr std::string_view kIo = "io";  // the one file of a process whose lines have keys
static_assert(keys_are_of_whole_numbers(schema::kProcessQuantities));
static_assert(std::ranges::all_of(schema::kProcessQuantities, [](const schema::Quantity& quantity) {
    return quantity.sampling.key.empty() || quantity.sampling.file == kIo;
}));

core::Time boot_time_by_clocks() {
    timespec wall{}, since_boot{};
    clock_gettime(CLOCK_REALTIME, &wall);
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    int64_t nanoseconds =
        (wall.tv_sec - since_boot.tv_sec) * kNanoseconds + wall.tv_nsec - since_boot.tv_nsec;
    return core::time_from_nanoseconds(nanoseconds);
}

class ProcessCollector : public Collector {
  public:
    explicit ProcessCollector(const CollectOptions& options)
        : processes_(options.proc, options.job, options.process_refresh),
          open_data_(options.proc, options.job.all_steps ? EventSink() : options.on_event),
          slow_every_(options.slow_every),
          on_steps_(options.job.all_steps ? options.on_steps : nullptr),
          boot_time_(options.boot_time ? *options.boot_time : boot_time_by_clocks()) {}

    const schema::Table& table() const override { return kProcess; }

    core::Result<> collect(const Sample& sample, Batch& rows) override {
        BELAY_CHECK(processes_.look(sample.time));
        for (const JobProcess& process : processes_.members()) {
            rows.add_row(sample.time, sample.node);
            set_identity(process, rows);
            set_use(process.stat, rows);
            rows.set(column(kProcess, "cpu_children_unseen_seconds_total"),
                     seconds_of(process.unseen_children_ticks, ticks_per_second_));
        }
        if (on_steps_) tell_of_steps(sample.time);
        if (ticks_++ % slow_every_ == 0) open_data_.look(processes_.members());
        return {};
    }

  private:
    void tell_of_steps(core::Time now) {
        std::vector<StepOnNode> steps(processes_.steps().begin(), processes_.steps().end());
        for (StepOnNode& step : steps) step.started = start_time(step.start_ticks);
        on_steps_(now, steps);
    }

    void set_identity(const JobProcess& process, Batch& rows) {
        const procfs::PidStat& stat = process.stat;
        rows.set(column(kProcess, "pid"), stat.pid);
        rows.set(column(kProcess, "parent_pid"), stat.parent_pid);
        rows.set(column(kProcess, "start_time"), start_time(stat.start_ticks));
        rows.set(column(kProcess, "job_id"), process.job_id);
        rows.set(column(kProcess, "step_id"), process.step_id);
        rows.set(column(kProcess, "task"), process.task);
        rows.set(column(kProcess, "command"), core::to_valid_utf8(stat.command));
        rows.set(column(kProcess, "state"), std::string_view(&stat.state, 1));
        rows.set(column(kProcess, "threads"), stat.threads);
        rows.set(column(kProcess, "processor"), stat.processor);
    }

    void set_use(const procfs::PidStat& stat, Batch& rows) {
        pid_t pid = static_cast<pid_t>(stat.pid);
        rows.set(column(kProcess, "cpu_user_seconds_total"), seconds_of(stat.user_ticks, ticks_per_second_));
        rows.set(column(kProcess, "cpu_system_seconds_total"),
                 seconds_of(stat.system_ticks, ticks_per_second_));
        rows.set(column(kProcess, "resident_bytes"), procfs::scaled(stat.resident_pages, page_bytes_));
        std::optional<int64_t> anonymous =
            procfs::parse_anonymous_pages(processes_.files().read(pid, PidFile::kStatm, true));
        rows.set(column(kProcess, "anonymous_bytes"), procfs::scaled(anonymous, page_bytes_));
        rows.set(column(kProcess, "virtual_bytes"), stat.virtual_bytes);
        rows.set(column(kProcess, "page_faults_major_total"), stat.page_faults_major);
        std::optional<int64_t> run_delay =
            procfs::parse_run_delay(processes_.files().read(pid, PidFile::kSchedstat, true));
        rows.set(column(kProcess, "run_delay_seconds_total"), seconds_of(run_delay, kNanoseconds));
        in_io_.set(processes_.files().read(pid, PidFile::kIo, true), rows);
    }

    // In whole and broken seconds, so that no product can leave 64 bits for a start within 292 years of boot;
    // nothing beyond.
    std::optional<core::Time> start_time(int64_t ticks) const {
        std::optional<int64_t> seconds = procfs::scaled(ticks / ticks_per_second_, kNanoseconds);
        int64_t rest = ticks % ticks_per_second_ * kNanoseconds / ticks_per_second_;
        std::optional<int64_t> since_epoch = sum(sum(seconds, rest), core::to_nanoseconds(boot_time_));
        if (!since_epoch) return std::nullopt;
        return core::time_from_nanoseconds(*since_epoch);
    }

    JobProcesses processes_;
    OpenData open_data_;
    int slow_every_;
    int64_t ticks_ = 0;
    StepSink on_steps_;
    core::Time boot_time_;
    int64_t ticks_per_second_ = sysconf(_SC_CLK_TCK);
    int64_t page_bytes_ = sysconf(_SC_PAGESIZE);
    KeyedColumns in_io_{schema::kProcessQuantities, schema::kFirstProcessQuantity, kIo, KeyedBytes::kPlain};
};

}  // namespace

std::unique_ptr<Collector> make_process_collector(const CollectOptions& options) {
    return std::make_unique<ProcessCollector>(options);
}

}  // namespace belay::observe::collect
