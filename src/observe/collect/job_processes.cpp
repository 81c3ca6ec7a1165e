#include "observe/collect/job_processes.h"

#include "observe/collect/helper_process.h"
#include "observe/collect/units.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace belay::observe::collect {

namespace {

constexpr std::string_view kTaskVariable = "SLURM_PROCID";
constexpr std::string_view kNodeDaemon = "slurmd";  // what a slurmstepd is called before it is one
constexpr int kDeepestAncestry = 1000;
constexpr int kEnvironmentsToTry = 8;  // of a step, at a look

// Of those that were waited for.
int64_t children_ticks(const procfs::PidStat& stat) {
    return sum(stat.children_user_ticks, stat.children_system_ticks).value_or(0);
}

}  // namespace

JobProcesses::JobProcesses(const std::filesystem::path& proc, JobSelection selection, core::Duration refresh)
    : files_(proc), selection_(std::move(selection)), refresh_(refresh) {
    for (pid_t pid : selection_.roots) roots_.push_back({pid, {}});
    for (pid_t pid : selection_.exclude) excluded_.push_back({pid, {}});
}

core::Result<> JobProcesses::look(core::Time now) {
    BELAY_CHECK(files_.list(pids_));
    if (++looks_ == 1) {
        if (selection_.exclude_own_executable) own_executable_ = files_.executable("self");
        find_step();
    }
    bool afresh = !refreshed_ || now - *refreshed_ >= refresh_ || now < *refreshed_;
    if (afresh) refreshed_ = now;
    gone_.clear();
    for (pid_t pid : pids_) look_at(pid, afresh);
    for (pid_t pid : pids_) resolve(pid);
    count_ended_children();
    // Only now: a parent that has just ended still says that its children are in the job.
    std::erase_if(known_, [this](const auto& entry) {
        bool gone = entry.second.last_look != looks_;
        if (gone) files_.forget(entry.first);
        return gone;
    });

    if (selection_.all_steps) list_steps();
    members_.clear();
    for (pid_t pid : pids_) {
        auto found = known_.find(pid);
        if (found == known_.end() || !found->second.in_job) continue;
        Known& known = found->second;
        if (known.step && !counts(*known.step)) continue;
        identify(known, afresh);
        if (is_left_out(known)) continue;
        const auto& step = known.step;
        members_.push_back({.stat = known.stat,
                            .task = known.task,
                            .job_id = step ? step->name.job_id : selection_.job_id,
                            .step_id = step ? step_column(step->name) : selection_.step_id,
                            .unseen_children_ticks = known.ended_children.unseen()});
        members_.back().stat.command = known.command;
    }
    return {};
}

bool JobProcesses::counts(const StepOnNode& step) const {
    if (!selection_.cluster.empty() && step.is_of_other_cluster(selection_.cluster)) return false;
    return !selection_.node || step.is_of(*selection_.node);
}

void JobProcesses::list_steps() {
    steps_.clear();
    for (pid_t pid : pids_) {
        auto found = known_.find(pid);
        if (found == known_.end() || !found->second.is_daemon) continue;
        if (found->second.stat.state == 'Z') continue;  // it has ended, whoever should take note of that
        StepOnNode& step = *found->second.step;
        if (!step.environment) read_environment(step);
        if (counts(step)) steps_.push_back(step);
    }
}

// That of the first process which has what Slurm gives to tasks of this step: before it runs its program, a
// task has the daemon's own environment, and a program may clear it.
void JobProcesses::read_environment(StepOnNode& step) {
    int tries = 0;
    const std::string job = std::to_string(step.name.job_id);
    for (pid_t pid : pids_) {
        auto found = known_.find(pid);
        if (found == known_.end() || found->second.step.get() != &step || found->second.is_daemon) continue;
        if (++tries > kEnvironmentsToTry) return;
        auto environment = files_.environment(pid, kStepVariables, kLongestStepVariable);
        if (!environment && (files_.failure() == EACCES || files_.failure() == EPERM)) step.is_hidden = true;
        if (!environment) continue;
        const auto said = environment->find("SLURM_JOB_ID");
        if (said == environment->end() || said->second != job) continue;
        step.environment = std::move(*environment);
        return;
    }
}

// The tasks of a step are the children of its slurmstepd, which is taken as a root that is left out itself.
void JobProcesses::find_step() {
    pid_t pid = selection_.step_of.value_or(0);
    for (int i = 0; i < kDeepestAncestry && pid > 0; ++i) {
        std::optional<procfs::PidStat> stat = files_.stat(pid, false);
        if (!stat) return;
        if (stat->command == kStepDaemon) {
            roots_.push_back({pid, stat->start_ticks});
            excluded_.push_back({pid, stat->start_ticks});
            return;
        }
        pid = static_cast<pid_t>(stat->parent_pid);
    }
}

// Of processes known to be none of the job's nothing is read until the next refresh.
void JobProcesses::look_at(pid_t pid, bool afresh) {
    auto found = known_.find(pid);
    bool in_job = found != known_.end() && found->second.in_job;
    if (found != known_.end() && !in_job && !afresh && !may_become_daemon(found->second)) {
        found->second.last_look = looks_;
        return;
    }
    if (std::optional<procfs::PidStat> stat = files_.stat(pid, in_job)) {
        note(*stat);
    } else if (files_.failure() == EACCES || files_.failure() == EPERM) {
        known_[pid].last_look = looks_;  // hidden from us, so not ours
    } else if (found != known_.end() && files_.failure() != ENOENT && files_.failure() != ESRCH) {
        found->second.last_look = looks_;  // could not look: it may be there still
    }
}

void JobProcesses::note(const procfs::PidStat& stat) {
    Known& known = known_[static_cast<pid_t>(stat.pid)];
    bool same = known.last_look != 0 && known.stat.start_ticks == stat.start_ticks;
    if (!same) {
        note_gone(known);
        known = {};
        known.ended_children = EndedChildren(looks_ == 1 ? children_ticks(stat) : 0);
    }
    if (!known.in_job) known.resolved = false;
    known.renamed = !same || known.command != stat.command;
    known.command = stat.command;
    known.stat = stat;
    known.last_look = looks_;
}

void JobProcesses::note_gone(const Known& known) {
    if (!known.in_job) return;
    const procfs::PidStat& stat = known.stat;
    const int64_t own = sum(stat.user_ticks, stat.system_ticks).value_or(0);
    gone_.push_back({static_cast<pid_t>(stat.parent_pid), sum(own, children_ticks(stat)).value_or(0)});
}

// Itself, or the nearest ancestor that is still there; null if that is not of the job.
JobProcesses::Known* JobProcesses::nearest_in_job(pid_t pid) {
    for (int i = 0; i < kDeepestAncestry; ++i) {
        auto found = known_.find(pid);
        if (found == known_.end() || !found->second.in_job) return nullptr;
        if (found->second.last_look == looks_) return &found->second;
        pid = static_cast<pid_t>(found->second.stat.parent_pid);
    }
    return nullptr;
}

// The time of a process goes to the parent that waits for it, and with the parent's to whose child that was.
void JobProcesses::count_ended_children() {
    for (const auto& [pid, known] : known_)
        if (known.last_look != looks_) note_gone(known);
    for (const Gone& gone : gone_)
        if (Known* heir = nearest_in_job(gone.parent)) heir->ended_children.add_seen(gone.ticks);
    for (auto& [pid, known] : known_)
        if (known.in_job) known.ended_children.look(children_ticks(known.stat));
}

// One that is about to run slurmstepd, or has not given itself its title yet, is looked at every time.
bool JobProcesses::may_become_daemon(const Known& known) const {
    return selection_.all_steps && (known.command == kNodeDaemon || known.command == kStepDaemon);
}

// Only of root or of the user who looks: others could call a program of theirs so. A task that does not run
// its program yet is named as its parent.
bool JobProcesses::is_step_daemon(Known& known) {
    if (!selection_.all_steps || known.command != kStepDaemon) return false;
    const auto pid = static_cast<pid_t>(known.stat.pid);
    const auto owner = files_.owner(pid);
    if (!owner || (*owner != 0 && *owner != geteuid()) || !files_.may_run(pid, kStepDaemon)) return false;
    const std::string title = files_.title(pid);
    auto name = parse_step_title(title);
    if (!name) return false;
    const auto parent_pid = static_cast<pid_t>(known.stat.parent_pid);
    const auto parent = known_.find(parent_pid);
    if (parent != known_.end() && parent->second.command == kStepDaemon &&
        parse_step_title(files_.title(parent_pid)) == name)
        return false;
    known.is_daemon = true;
    known.step = std::make_shared<StepOnNode>(
        StepOnNode{.name = std::move(*name), .daemon = pid, .start_ticks = known.stat.start_ticks});
    return true;
}

bool JobProcesses::is_root(Known& known) {
    return is_step_daemon(known) ||
           std::ranges::any_of(roots_, [&](Named& root) { return root.is(known.stat); });
}

// In the job is a root, and whose parent is in the job; and who once was, whoever its parent is now.
void JobProcesses::resolve(pid_t pid) {
    std::vector<Known*> undecided;
    std::shared_ptr<StepOnNode> step;
    bool in_job = false;
    for (auto found = known_.find(pid); found != known_.end();) {
        Known& known = found->second;
        if (known.resolved) {
            in_job = known.in_job;
            step = known.step;
            break;
        }
        known.resolved = true;
        undecided.push_back(&known);
        in_job = is_root(known);
        if (in_job) step = known.step;
        if (in_job) break;
        found = known_.find(static_cast<pid_t>(known.stat.parent_pid));
    }
    for (Known* known : undecided) {
        known->in_job = in_job;
        known->step = step;
    }
}

// Executable and task are those of the program that runs: they are read again when it changes. A program of
// ours is looked at every time, for it may be a supervisor's child that is about to become the job's program.
void JobProcesses::identify(Known& known, bool afresh) {
    pid_t pid = static_cast<pid_t>(known.stat.pid);
    const bool was_ours = known.own_executable;
    if (own_executable_ && (known.renamed || was_ours || afresh))
        known.own_executable = runs_own_executable(known);
    // Its name was read before its executable, and may still have been ours.
    if (own_executable_ && !known.own_executable && (known.renamed || was_ours))
        if (auto now = files_.stat(pid, true); now && now->start_ticks == known.stat.start_ticks)
            known.command = now->command;
    if (!known.renamed && (known.task || !afresh)) return;
    known.task = files_.environment_number(pid, kTaskVariable);
    auto parent = known_.find(static_cast<pid_t>(known.stat.parent_pid));
    if (!known.task && parent != known_.end()) known.task = parent->second.task;
}

// A process that has ended has no executable any more, reaped or not: it is what it was. One that has ended
// before it was seen ran what its parent runs if it has the parent's name still, or that of a helper.
bool JobProcesses::runs_own_executable(const Known& known) {
    if (auto executable = files_.executable(static_cast<pid_t>(known.stat.pid)))
        return executable == own_executable_;
    if (!known.renamed) return known.own_executable;
    auto parent = known_.find(static_cast<pid_t>(known.stat.parent_pid));
    return parent != known_.end() && parent->second.own_executable &&
           (known.command == parent->second.command || known.command.starts_with(kHelperName));
}

bool JobProcesses::is_left_out(const Known& known) {
    return known.own_executable || known.is_daemon ||
           std::ranges::any_of(excluded_, [&](Named& named) { return named.is(known.stat); });
}

bool JobProcesses::Named::is(const procfs::PidStat& stat) {
    if (stat.pid != pid) return false;
    if (!start_ticks) start_ticks = stat.start_ticks;
    return start_ticks == stat.start_ticks;
}

}  // namespace belay::observe::collect
