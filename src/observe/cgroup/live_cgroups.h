// The cgroups of Slurm that are there now, each with its readings.
//
//   LiveCgroups live({.root = "/sys/fs/cgroup"});
//   every second: live.look(now);
//                 for (const SlurmTree& tree : live.trees()) ...
//
// A look costs a stat of each directory and a read of each file that is due. A directory is listed when its
// number of links says that another one came into it, when one that it had is gone, and now and then in any
// case: the kernel counts the directories of a cgroup exactly (fs/kernfs/inode.c), file systems of tests may
// not.
//
// Not thread-safe.
#pragma once

#include "core/time.h"
#include "observe/cgroup/cgroup_files.h"

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace belay::observe::cgroup {

struct LiveOptions {
    std::filesystem::path root = "/sys/fs/cgroup";
    std::optional<std::string> node = {};    // of several slurmd on a machine only this one's
    std::optional<int64_t> job_id = {};      // and of its jobs only this one
    int slow_every = 10;                     // looks between those at what seldom changes
    size_t cgroups_limit = 4096;             // followed at most, of those with directories in them too
    std::optional<size_t> files_limit = {};  // open at most; default: a quarter of what this process may open
};

struct Cgroup {
    Cgroup(Version version, std::string path_below, SlurmPath slurm_path, std::vector<Part> in_hierarchies,
           Room& room);

    std::string path;         // in its hierarchies
    SlurmPath place;          // with the job's number once a member process has told it
    std::vector<Part> parts;  // by hierarchy
    ino_t id = 0;             // the inode in the first of them
    std::optional<core::Time> start_time;
    // By name. Those that it had and that are gone are not among them.
    std::map<std::string, std::unique_ptr<Cgroup>, std::less<>> children;
    Readings readings;
    // In it and beneath it, without slurmstepd of version 2; nothing where one of them does not tell.
    std::optional<int64_t> processes;
    int64_t looks = 0;

  private:
    friend class LiveCgroups;
    CgroupFiles files_;
    bool was_listed_ = false;
    size_t left_out_ = 0;  // directories in it for which there was no room
};

struct SlurmTree {
    Hierarchies hierarchies;
    std::map<std::string, std::unique_ptr<Cgroup>, std::less<>> tops;  // by path
};

class LiveCgroups {
  public:
    explicit LiveCgroups(LiveOptions options);
    LiveCgroups(const LiveCgroups&) = delete;
    LiveCgroups& operator=(const LiveCgroups&) = delete;

    // Finds what is new, lets go of what is gone, reads the rest. What vanishes meanwhile is gone.
    void look(core::Time now);

    std::span<SlurmTree> trees() { return trees_; }
    // Directories in those that are followed which were left out for lack of room.
    size_t left_out() const { return left_out_; }
    // Whether the last look was one at what seldom changes too.
    bool was_slow() const { return is_slow_; }

  private:
    void find_tops();
    bool visit(const SlurmTree& tree, Cgroup& cgroup);
    bool refresh_parts(const SlurmTree& tree, Cgroup& cgroup, bool& has_other_directories);
    void list(const SlurmTree& tree, Cgroup& cgroup);
    static void count_processes(Cgroup& cgroup);
    std::unique_ptr<Cgroup> make(const SlurmTree& tree, const std::string& path, const SlurmPath& place);
    bool is_wanted(const SlurmPath& place) const;

    LiveOptions options_;
    Room room_;  // before those that take theirs of it
    TextReader reader_;
    std::vector<SlurmTree> trees_;
    int64_t looks_ = 0;
    bool is_slow_ = false;
    core::Time now_;
    size_t left_out_ = 0;
};

}  // namespace belay::observe::cgroup
