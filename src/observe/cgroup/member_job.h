// Which job a directory of Slurm is of, where its name does not tell: what its member processes say.
#pragma once

#include "observe/cgroup/live_cgroups.h"
#include "observe/collect/process_files.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace belay::observe::cgroup {

// The ids in a file cgroup.procs, at most `most`; without those of another namespace, which are 0.
std::vector<pid_t> parse_processes(std::string_view text, size_t most);

class MemberJob {
  public:
    explicit MemberJob(const std::filesystem::path& proc) : files_(proc) {}

    // The job's number: as the title of a step's slurmstepd says it, which no job can change, or else
    // SLURM_JOB_ID in the environment of a task. Nothing while nobody tells it.
    std::optional<int64_t> ask(const SlurmTree& tree, const Cgroup& job);
    // Whether the last one that was asked had tasks whose environment may not be read.
    bool was_denied() const { return was_denied_; }

  private:
    std::optional<int64_t> ask_daemon(const SlurmTree& tree, const Cgroup& step) const;
    std::optional<int64_t> ask_tasks(const SlurmTree& tree, const Cgroup& cgroup, int& tries);

    collect::ProcessFiles files_;
    std::vector<pid_t> listed_;
    bool is_open_ = false;
    bool was_denied_ = false;
};

}  // namespace belay::observe::cgroup
