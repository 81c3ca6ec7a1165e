// Which processes of the node belong to the job, followed at little cost: a look lists /proc and reads the
// stat files of the job's processes and of those not seen before, not of all.
//
//   JobProcesses job("/proc", {.step_of = getpid()}, 60s);
//   BELAY_CHECK(job.look(now));
//   for (const JobProcess& process : job.members()) ...
//
// A process is known by its id and start time. Not thread-safe.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "observe/collect/collector.h"
#include "observe/collect/process_files.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace belay::observe::collect {

// A process of the job as the last look found it.
struct JobProcess {
    procfs::PidStat stat;
    std::optional<int64_t> task;  // SLURM_PROCID of its environment, else its parent's task
};

class JobProcesses {
  public:
    JobProcesses(const std::filesystem::path& proc, JobSelection selection, core::Duration refresh);

    // Looks at /proc. A process that ends meanwhile is no error. Errors: kSystem if /proc cannot be listed.
    core::Result<> look(core::Time now);

    // Those found by the last look, by ascending id, without those that are left out. Valid until the next
    // look.
    std::span<const JobProcess> members() const { return members_; }

    // To read more about a member.
    ProcessFiles& files() { return files_; }

  private:
    // What is remembered of a process of the node, the job's or not.
    struct Known {
        procfs::PidStat stat;  // but for the command, which is
        std::string command;   // this
        std::optional<int64_t> task;
        int64_t last_look = 0;
        bool in_job = false;
        bool resolved = false;        // in_job has been decided
        bool renamed = false;         // is new, or runs another program than at the last look
        bool own_executable = false;  // runs the same program as we
    };
    // A process that was named by its id. A later one with the same id is another.
    struct Named {
        pid_t pid = 0;
        std::optional<int64_t> start_ticks;  // once it has been seen

        bool is(const procfs::PidStat& stat);
    };

    void find_step();
    void look_at(pid_t pid, bool afresh);
    void note(const procfs::PidStat& stat);
    void resolve(pid_t pid);
    void identify(Known& known, bool afresh);
    bool runs_own_executable(const Known& known);
    bool is_left_out(const Known& known);

    ProcessFiles files_;
    JobSelection selection_;
    core::Duration refresh_;
    std::vector<Named> roots_, excluded_;
    std::optional<ProcessFiles::FileIdentity> own_executable_;
    std::optional<core::Time> refreshed_;
    int64_t looks_ = 0;
    std::vector<pid_t> pids_;
    std::unordered_map<pid_t, Known> known_;
    std::vector<JobProcess> members_;
};

}  // namespace belay::observe::collect
