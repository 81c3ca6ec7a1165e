// Which processes of the node belong to the job, followed at little cost: a look lists /proc and reads the
// stat files of the job's processes and of those not seen before, not of all.
//
//   JobProcesses job("/proc", {.step_of = getpid()}, 60s);
//   BELAY_CHECK(job.look(now));
//   for (const JobProcess& process : job.members()) ...
//
// With JobSelection::all_steps it follows every step of Slurm on the node, each with its own processes.
//
// A process is known by its id and start time. Not thread-safe.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "observe/collect/collector.h"
#include "observe/collect/ended_children.h"
#include "observe/collect/process_files.h"

#include <memory>
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
    std::optional<int64_t> job_id;
    std::optional<std::string> step_id;
    // CPU time of its children that ended which no look at them showed. Never falls; counts from the first
    // look for who was there by then.
    int64_t unseen_children_ticks = 0;
};

class JobProcesses {
  public:
    JobProcesses(const std::filesystem::path& proc, JobSelection selection, core::Duration refresh);

    // Looks at /proc. A process that ends meanwhile is no error. Errors: kSystem if /proc cannot be listed.
    core::Result<> look(core::Time now);

    // Those found by the last look, by ascending id, without those that are left out. Valid until the next
    // look.
    std::span<const JobProcess> members() const { return members_; }

    // With all_steps: those whose daemon the last look found, by ascending id of it. Valid likewise.
    std::span<const StepOnNode> steps() const { return steps_; }

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
        bool resolved = false;                  // in_job has been decided
        bool renamed = false;                   // is new, or runs another program than at the last look
        bool own_executable = false;            // runs the same program as we
        bool is_daemon = false;                 // is the slurmstepd of `step`
        std::shared_ptr<StepOnNode> step = {};  // it belongs to
        EndedChildren ended_children;
    };
    // A process of the job that is not there any more.
    struct Gone {
        pid_t parent = 0;
        int64_t ticks = 0;  // its own and its children's, as last seen
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
    bool is_root(Known& known);
    bool is_step_daemon(Known& known);
    void list_steps();
    void read_environment(StepOnNode& step);
    bool counts(const StepOnNode& step) const;
    bool may_become_daemon(const Known& known) const;
    void note_gone(const Known& known);
    Known* nearest_in_job(pid_t pid);
    void count_ended_children();
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
    std::vector<Gone> gone_;  // since the look before
    std::vector<JobProcess> members_;
    std::vector<StepOnNode> steps_;
};

}  // namespace belay::observe::collect
