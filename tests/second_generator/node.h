// A node as the kernel and NVML would show it: turns what its ranks did into counters and states.
#pragma once

#include "columns.h"
#include "core/time.h"
#include "job.h"
#include "timeline.h"

#include <map>
#include <string>
#include <vector>

namespace belay::second_generator {

// A process of a rank, and its counters.
struct Process {
    int rank = 0;
    int worker = -1;  // of the data loader; -1: the rank itself
    int64_t pid = 0;
    int64_t parent = 0;
    double started = 0;
    double user = 0, system = 0, unseen = 0, delay = 0;
    double major_faults = 0;
    double read = 0, written = 0, read_characters = 0, written_characters = 0;
    double resident = 0, anonymous = 0;
    // Of the last interval.
    double cpu = 0;      // CPUs
    double waiting = 0;  // share of the time in which it waited for storage
};

struct Gpu {
    int number = 0;
    std::string uuid;
    double celsius = 32;
    double energy = 0;
    double power_violation = 0, thermal_violation = 0;
    double corrected = 0, uncorrected = 0;
    double replays = 0, nvlink_errors = 0;
    bool is_lost = false;
};

// What a node's own counters add up to in an interval; host, network and disks are made from it.
struct Load {
    double job_user = 0, job_system = 0;  // CPU seconds
    double wanted = 0;                    // CPUs that the job's threads would use
    double contention = 1;                // of CPUs wanted to CPUs that there are
    double runnable = 0, blocked = 0;     // threads, now
    double io_some = 0, io_full = 0;      // share of the time
    double read = 0, written = 0, exchanged = 0;
    double files = 0;
    double resident = 0, anonymous = 0;
    double switches = 0, forks = 0, major_faults = 0;
};

class Node {
  public:
    Node(const Job& job, const Timeline& timeline, int number, core::Time start);

    const std::string& name() const { return name_; }
    const std::vector<Gpu>& gpus() const { return gpus_; }
    const std::vector<Process>& processes() const { return processes_; }
    core::Time time(double seconds) const;
    // Adds to every table the rows of the time `from`..`to`; with `take` false it only counts on.
    void sample(double from, double to, bool take);
    void clear();

    Columns host, network, filesystem, process, gpu;

  private:
    uint64_t place(uint64_t what) const;
    double noise(uint64_t what) const;
    void begin_processes();
    void use_cpus(double from, double to);
    void run(Process& process, const Second& did, double t, double span);
    void remember_memory(Process& process, const Second& did, double t, double span);
    void add_processes(double t, double span);
    void add_zombies(double t);
    void add_host(double t, double span);
    void count_memory(double t, double span);
    void add_network(double t, double span);
    void add_filesystem(double t, double span);
    void add_disk(double t, double span);
    void add_mounts(double t);
    void add_gpus(double from, double to);
    void add_gpu(Gpu& gpu, double from, double to);

    const Job& job_;
    const Timeline& timeline_;
    int number_;
    core::Time start_;
    std::string name_;
    std::vector<Process> processes_;
    std::vector<Gpu> gpus_;
    Load load_;
    uint64_t tick_ = 0;
    bool take_ = true;
    std::map<std::string, double, std::less<>> total_;  // counters of the node by column
    double page_cache_ = 0, slab_ = 0, dirty_ = 0, load_1m_ = 0.1;
};

}  // namespace belay::second_generator
