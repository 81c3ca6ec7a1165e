// For the tests of JobProcesses: a /proc of processes that a test starts and ends.
#pragma once

#include "observe/collect/job_processes.h"
#include "observe/collect/testing.h"

#include <algorithm>
#include <chrono>

namespace belay::observe::collect::testing {

using Pids = std::vector<int64_t>;

class FakeProcesses {
  public:
    FakeProcesses() {
        root_.write("programs/belay", "");
        root_.write("programs/other", "");
        root_.write("programs/slurmstepd", "");
        root_.write("proc/self/stat", "");
        link_program("self", "belay");
    }

    struct Process {
        int64_t parent = 1;
        std::string command = "python";
        int64_t start = 0;  // 0: its id
        std::string program = "other";
        std::optional<std::string> environment = {};
        std::string title = {};
        char state = 'S';
        int64_t own_ticks = 11;
        int64_t children_ticks = 0;  // of those it waited for
    };
    static Process step_daemon(std::string_view step, int64_t parent = 1) {
        return {.parent = parent,
                .command = "slurmstepd",
                .program = "slurmstepd",
                .environment = std::string("SLURM_CONF=/etc/slurm.conf\0", 27),
                .title = fmt::format("slurmstepd: [{}]", step)};
    }
    static std::string environment_of(std::string_view job, std::string_view node) {
        std::string text = fmt::format("HOME=/root|SLURM_JOB_ID={}|SLURMD_NODENAME={}|SECRET=1|", job, node);
        std::ranges::replace(text, '|', '\0');
        return text;
    }

    // A new process, or what a running one has become.
    void start(int64_t pid, const Process& process) const {
        std::string directory = fmt::format("proc/{}", pid);
        int64_t start = process.start != 0 ? process.start : pid;
        root_.write(
            directory + "/stat",
            fmt::format("{} ({}) {} {} 1 1 0 -1 0 0 0 0 0 {} 0 {} 0 20 0 1 0 {} 4096 1 0 1 1 1 0 0 0 0 0 "
                        "0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                        pid, process.command, process.state, process.parent, process.own_ticks,
                        process.children_ticks, start));
        root_.remove(directory + "/environ");
        if (process.environment) root_.write(directory + "/environ", *process.environment);
        root_.write(directory + "/cmdline", process.title);
        link_program(std::to_string(pid), process.program);
    }
    // Ended, and not yet waited for.
    void become_zombie(int64_t pid) const { root_.remove(fmt::format("proc/{}/exe", pid)); }
    // Still listed, but with nothing to read, also through descriptors that are open: so it looks when one
    // ends between listing and reading.
    void vanish(int64_t pid) const {
        std::string stat = fmt::format("proc/{}/stat", pid);
        root_.write(stat, "");
        root_.remove(stat);
    }
    void end(int64_t pid) const {
        vanish(pid);
        root_.remove(fmt::format("proc/{}", pid));
    }

    JobProcesses follow(JobSelection selection) const {
        return JobProcesses(root_.proc(), std::move(selection), std::chrono::seconds(60));
    }

  private:
    void link_program(const std::string& pid, const std::string& program) const {
        root_.remove(fmt::format("proc/{}/exe", pid));
        fs::create_symlink(root_.proc().parent_path() / "programs" / program, root_.proc() / pid / "exe");
    }

    FakeRoot root_;
};

inline Pids members(JobProcesses& job, int64_t second) {
    core::Result<> looked = job.look(at_second(second));
    EXPECT_TRUE(looked.has_value()) << looked.error().message();
    Pids pids;
    for (const JobProcess& process : job.members()) pids.push_back(process.stat.pid);
    return pids;
}

}  // namespace belay::observe::collect::testing
