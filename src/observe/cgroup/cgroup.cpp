#include "observe/cgroup/cgroup.h"

#include "core/text.h"
#include "observe/cgroup/member_job.h"
#include "schema/tables/cgroup.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace belay::observe::cgroup {

namespace {

using collect::Sample;
using schema::column;
using schema::kCgroup;
using stream::Batch;

struct Count {
    size_t place;
    std::optional<int64_t> Readings::* reading;
};
constexpr Count kCounts[] = {
    {column(kCgroup, "cpu_periods_total"), &Readings::cpu_periods},
    {column(kCgroup, "cpu_throttled_periods_total"), &Readings::cpu_throttled_periods},
    {column(kCgroup, "memory_bytes"), &Readings::memory_bytes},
    {column(kCgroup, "memory_peak_bytes"), &Readings::memory_peak_bytes},
    {column(kCgroup, "memory_anonymous_bytes"), &Readings::memory_anonymous_bytes},
    {column(kCgroup, "memory_file_bytes"), &Readings::memory_file_bytes},
    {column(kCgroup, "memory_shared_bytes"), &Readings::memory_shared_bytes},
    {column(kCgroup, "memory_limit_bytes"), &Readings::memory_limit_bytes},
    {column(kCgroup, "memory_high_events_total"), &Readings::memory_high_events},
    {column(kCgroup, "memory_max_events_total"), &Readings::memory_max_events},
    {column(kCgroup, "memory_oom_events_total"), &Readings::memory_oom_events},
    {column(kCgroup, "oom_kills_total"), &Readings::oom_kills},
    {column(kCgroup, "io_read_bytes_total"), &Readings::io_read_bytes},
    {column(kCgroup, "io_written_bytes_total"), &Readings::io_written_bytes},
    {column(kCgroup, "io_reads_total"), &Readings::io_reads},
    {column(kCgroup, "io_writes_total"), &Readings::io_writes},
    {column(kCgroup, "cpus"), &Readings::cpus},
};

struct Seconds {
    size_t place;
    std::optional<double> Readings::* reading;
};
constexpr Seconds kSeconds[] = {
    {column(kCgroup, "cpu_seconds_total"), &Readings::cpu_seconds},
    {column(kCgroup, "cpu_user_seconds_total"), &Readings::cpu_user_seconds},
    {column(kCgroup, "cpu_system_seconds_total"), &Readings::cpu_system_seconds},
    {column(kCgroup, "cpu_throttled_seconds_total"), &Readings::cpu_throttled_seconds},
    {column(kCgroup, "pressure_cpu_some_seconds_total"), &Readings::pressure_cpu_some},
    {column(kCgroup, "pressure_cpu_full_seconds_total"), &Readings::pressure_cpu_full},
    {column(kCgroup, "pressure_memory_some_seconds_total"), &Readings::pressure_memory_some},
    {column(kCgroup, "pressure_memory_full_seconds_total"), &Readings::pressure_memory_full},
    {column(kCgroup, "pressure_io_some_seconds_total"), &Readings::pressure_io_some},
    {column(kCgroup, "pressure_io_full_seconds_total"), &Readings::pressure_io_full},
};
// What is left is processes and cpuset.
static_assert(std::size(kCounts) + std::size(kSeconds) + 2 == std::size(schema::kCgroupQuantities));

struct LevelName {
    Level level;
    std::string_view name;
};
constexpr LevelName kRows[] = {{Level::kJob, "job"}, {Level::kStep, "step"}, {Level::kTask, "task"}};

void add_row(const Sample& sample, Version version, std::string_view level, std::optional<int64_t> job_id,
             const Cgroup& cgroup, Batch& rows) {
    rows.add_row(sample.time, sample.node);
    rows.set(column(kCgroup, "level"), level);
    rows.set(column(kCgroup, "job_id"), job_id);
    if (!cgroup.place.step.empty()) rows.set(column(kCgroup, "step_id"), cgroup.place.step);
    rows.set(column(kCgroup, "task"), cgroup.place.task);
    rows.set(column(kCgroup, "path"), cgroup.path);
    rows.set(column(kCgroup, "cgroup_id"), static_cast<uint64_t>(cgroup.id));
    rows.set(column(kCgroup, "cgroup_version"), static_cast<int>(version));
    rows.set(column(kCgroup, "start_time"), cgroup.start_time);
    for (const Count& count : kCounts) rows.set(count.place, cgroup.readings.*count.reading);
    for (const Seconds& seconds : kSeconds) rows.set(seconds.place, cgroup.readings.*seconds.reading);
    rows.set(column(kCgroup, "processes"), cgroup.processes);
    rows.set(column(kCgroup, "cpuset"), cgroup.readings.cpuset);
}

class CgroupCollector : public collect::Collector {
  public:
    explicit CgroupCollector(const CgroupOptions& options)
        : options_(options), live_(options.live), members_(options.proc) {}

    const schema::Table& table() const override { return kCgroup; }
    bool is_expected() const override { return is_expected_; }

    core::Result<> collect(const Sample& sample, Batch& rows) override {
        live_.look(sample.time);
        is_expected_ = false;
        unknown_jobs_ = 0;
        for (SlurmTree& tree : live_.trees())
            for (const auto& [path, top] : tree.tops) {
                is_expected_ = true;
                add_rows(sample, tree, *top, std::nullopt, rows);
            }
        tell_of_limit();
        tell_of_unknown_jobs();
        return {};
    }

  private:
    void add_rows(const Sample& sample, const SlurmTree& tree, Cgroup& cgroup, std::optional<int64_t> job_id,
                  Batch& rows);
    bool learn_job(const SlurmTree& tree, Cgroup& job);
    void tell_of_limit();
    void tell_of_unknown_jobs();
    void tell(std::string message) const {
        if (options_.on_event)
            options_.on_event({.kind = "collector_failed",
                               .severity = "warning",
                               .subject = std::string(kCgroup.name),
                               .message = std::move(message)});
    }

    CgroupOptions options_;
    LiveCgroups live_;
    MemberJob members_;
    bool is_expected_ = false;
    size_t unknown_jobs_ = 0;  // that hide it
    bool told_of_limit_ = false;
    bool told_of_unknown_jobs_ = false;
};

// Of the cgroup and of all beneath it.
void CgroupCollector::add_rows(const Sample& sample, const SlurmTree& tree, Cgroup& cgroup,
                               std::optional<int64_t> job_id, Batch& rows) {
    if (cgroup.place.level == Level::kJob) {
        if (!learn_job(tree, cgroup)) return;
        job_id = cgroup.place.job_id;
    }
    const auto row = std::ranges::find(kRows, cgroup.place.level, &LevelName::level);
    if (row != std::end(kRows)) add_row(sample, tree.hierarchies.version, row->name, job_id, cgroup, rows);
    for (const auto& [name, child] : cgroup.children) add_rows(sample, tree, *child, job_id, rows);
}

// False if it gets no rows: it is another job than was asked for, or has no step by which it would be known
// as one.
bool CgroupCollector::learn_job(const SlurmTree& tree, Cgroup& job) {
    // While it is young its processes come one by one; later nothing new is to be expected.
    const bool is_due = job.looks <= options_.live.slow_every || live_.was_slow();
    if (job.place.needs_member() && is_due && !job.children.empty()) {
        job.place.job_id = members_.ask(tree, job);
        if (!job.place.job_id && members_.was_denied()) ++unknown_jobs_;
    }
    if (options_.live.job_id) return job.place.job_id == options_.live.job_id;
    return job.place.job_id || !job.children.empty();
}

void CgroupCollector::tell_of_limit() {
    if (live_.left_out() == 0 || std::exchange(told_of_limit_, true)) return;
    tell(fmt::format("more than {} of Slurm on this node: {} not followed, nor what is beneath",
                     core::format_count(options_.live.cgroups_limit, "cgroup"),
                     core::format_count(live_.left_out(), "directory is", "directories are")));
}

void CgroupCollector::tell_of_unknown_jobs() {
    if (unknown_jobs_ == 0 || std::exchange(told_of_unknown_jobs_, true)) return;
    tell(fmt::format(
        "cgroups of {} have no job id: Slurm names them by its SLUID, and the environment of their "
        "processes may not be read; run as root, or set CgroupJobIdPaths=yes in cgroup.conf",
        core::format_count(unknown_jobs_, "job")));
}

}  // namespace

std::unique_ptr<collect::Collector> make_cgroup_collector(const CgroupOptions& options) {
    return std::make_unique<CgroupCollector>(options);
}

}  // namespace belay::observe::cgroup
