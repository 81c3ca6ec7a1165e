// A training job as the simulation knows it: its shape, what its program does when nothing is wrong, and how
// that is changed. Seconds count from the start of the recording.
#pragma once

#include "gpu_model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace belay::second_generator {

inline constexpr double kNever = 1e18;
inline constexpr double kGib = 1024.0 * 1024 * 1024;

struct Window {
    double from = 0;
    double to = kNever;
    bool has(double t) const { return t >= from && t < to; }
};

// What takes time, and may take longer.
enum class Quantity : uint8_t {
    kCompute,        // a step on its rank
    kCopy,           // from the host to the GPU
    kExchange,       // between nodes
    kLocalExchange,  // within a node
    kReading,        // bytes of a batch
    kRequest,        // the wait for the first byte of a file
    kDecoding,       // CPU time of a batch
    kWriting,        // bytes of a checkpoint
};

// What can be seen of a change beside the time that it takes.
enum class Sign : uint8_t {
    kNone,
    kHeat,
    kPowerCap,
    kLowClock,
    kPowerBrake,
    kNarrowPcie,
    kBadNvlink,
    kBadLink,
    kReclaim,
};

// A quantity takes `factor` times as long for the ranks first..last.
struct Change {
    Quantity quantity = Quantity::kCompute;
    int first = 0;
    int last = 1 << 20;
    Window when = {};
    double factor = 1;
    double ramp = 0;  // seconds from no effect to the whole
    Sign sign = Sign::kNone;
    double at(double t) const;
};

enum class HaltKind : uint8_t { kStopped, kInStorage, kInLock, kMissedCall };

// A rank stands still; rank -1: all wait for each other.
struct Halt {
    int rank = 0;
    double at = 0;
    double seconds = kNever;
    HaltKind kind = HaltKind::kStopped;
};

// A rank ends before the others. They are ended after `others_wait`.
struct Death {
    int rank = 0;
    double at = 0;
    int code = 1;  // exit status; less than 0: the signal
    double others_wait = 30;
    int others_code = -15;
    bool for_lack_of_memory = false;
    std::vector<std::string> last_words = {};
};

// One batch in so many comes late.
struct LateBatches {
    int every = 0;  // steps; 0: none does
    double seconds = 0;
    double from = 0;
};

// Memory that grows. GPU and host alike.
struct Growth {
    int rank = -1;  // -1: every rank
    double from = 0;
    double bytes_per_second = 0;
    double most = kNever;
};

// How Slurm ended the job.
enum class End : uint8_t { kCompleted, kFailed, kTimeLimit, kCancelled, kOutOfMemory, kNodeFailed };

struct XidEvent {
    double at = 0;
    int node = 0;
    int gpu = 0;
    int code = 0;
    int times = 1;
};

enum class Storage : uint8_t { kLustre, kNfs, kLocal };

struct Shape {
    int nodes = 1;
    int tasks = 1;  // on each node
    int gpus = 0;   // likewise
    int node_cpus = 64;
    int cpus = 64;  // that the job may use on a node
    double memory = 256 * kGib;
    double seconds = 600;
    double interval = 1;
    bool in_slurm = true;
    bool has_pressure = true;  // the kernel tells PSI
    bool reads_kernel_log = false;
    int ranks() const { return nodes * tasks; }
};

// What the program does when nothing is wrong.
struct Work {
    double start_seconds = 20;
    double compile_seconds = 0;    // of the first step
    double compute = 0.5;          // seconds of a step
    double copy = 0.005;           // likewise, to the GPU
    double exchange = 0.04;        // likewise, not hidden behind computing
    double local_exchange = 0.01;  // likewise
    double exchanged_bytes = 1e9;  // by a rank and step
    bool over_sockets = false;     // else RDMA, which no table counts
    double jitter = 0.01;
    double lengthens_to = 1;  // step time at the end, of that at the start
    bool in_stages = false;   // lengthens by stages
    double short_step = 0;    // share of steps that are shorter (other buckets of lengths)
    // Loading: by rank and step.
    double batch_bytes = 1e7;
    double batch_files = 1;
    double cached_share = 0;  // of what is read, in the page cache
    double reading = 0.1;     // seconds of a batch, all workers of a rank together
    double request = 0.001;   // seconds for each file, of a worker
    double decoding = 0.05;   // CPU seconds of a batch
    int workers = 4;
    int prefetch = 8;  // batches
    Storage storage = Storage::kLustre;
    // Checkpoints and evaluations.
    double checkpoint_every = kNever;
    double checkpoint_bytes = 0;  // by who writes
    double checkpoint_seconds = 3;
    bool all_write = false;
    double evaluate_every = kNever;
    double evaluate_seconds = 0;
    double pause_every = kNever;  // of one rank: garbage collection, logging
    double pause_seconds = 0;
    bool has_coordinator = false;  // rank 0 only tells the others what to do
    // The host.
    int threads = 1;               // that compute, of a rank
    double compute_cpus = 1;       // that they keep busy
    bool spins = true;             // while it waits
    double host_bytes = 4 * kGib;  // of a rank
    double worker_bytes = 0.6 * kGib;
    double gpu_bytes = 40 * kGib;
    GpuUse gpu = {};
    std::string command = "python";
    std::string worker_command = "python";
};

struct Loss {
    double start = 8;
    double floor = 2;
    double exponent = 0.3;
    double noise = 0.01;
    double learns_until = kNever;  // seconds; from then on it stays
    bool never_learns = false;
    double nan_from = kNever;
    double grows_from = kNever;
    double growth = 0;  // by second
    double spike_at = kNever;
};

enum class Format : uint8_t { kMegatron, kTorchtitan, kHuggingFace, kNanogpt, kImagenet, kMllog, kSteps };

struct Report {
    bool exists = true;
    Format format = Format::kSteps;
    int every = 10;  // steps
    int steps_each_epoch = 500;
    bool all_ranks = false;
};

// Neighbours, clocks, gaps: what is seen beside the job.
struct Surroundings {
    double neighbour_cpus = 0;  // that another job uses on node 0
    Window neighbour_when = {};
    double neighbour_disk = 0;          // B/s
    double neighbour_network = 0;       // B/s
    std::vector<double> clock_offsets;  // seconds, by node
    double missing_share = 0;           // of samples, in gaps
    double sample_noise = 0.01;
    double old_ecc = 0;  // corrected errors of before the job
    int old_remapped = 0;
};

struct Job {
    int number = 0;
    uint64_t seed = 0;
    std::string kind = "sound";
    Shape shape;
    Work work;
    Loss loss;
    Report report;
    Surroundings around;
    const GpuModel* model = nullptr;
    std::vector<std::vector<int>> gpus_of;  // by local rank
    std::vector<std::string> confounders;

    // What is wrong.
    std::vector<Change> changes;
    std::vector<Halt> halts;
    std::vector<Death> deaths;
    LateBatches late;
    std::vector<Growth> host_growth, gpu_growth;
    std::vector<XidEvent> xids;
    End end = End::kCompleted;       // where the program is stopped at the end of `shape.seconds`
    double total_steps_factor = 1;   // of those that were done
    int bound_cpus = 0;              // of a rank; 0: all
    double spinner_cpus = 0;         // of a rank, by threads that only look
    double switches = 0;             // of a rank and second, for a lock
    double forks = 0;                // of a rank and second
    double zombies_each_minute = 0;  // of rank 0
    double system_share = 0.05;      // of the CPU time
    double slab_each_second = 0;
    double major_faults = 0;  // of a node and second
    double compactions = 0;
    double memory_pressure = 0;  // share of the time, full
    Window pressure_when = {};
    std::optional<Window> mount_hangs;
    std::optional<Window> mount_full;  // from when on nothing is free
    double mount_use = 0.4;
    std::vector<double> link_drops;  // when the link of node 0 goes down
    double link_errors = 0;          // by second
    int lost_node = -1;
    double lost_at = kNever;
    int lost_gpu = -1;  // of node `lost_gpu_node`
    int lost_gpu_node = 0;
    double lost_gpu_at = kNever;
    double corrected_each_minute = 0;  // ECC, of one GPU
    double uncorrected_at = kNever;
    bool remap_fails = false;
    int ecc_node = 0;
    int ecc_gpu = 0;

    int ranks() const { return shape.ranks(); }
    int node_of(int rank) const { return rank / shape.tasks; }
    int local_of(int rank) const { return rank % shape.tasks; }
    bool has_gpus() const { return shape.gpus > 0; }
    double factor(Quantity quantity, int rank, double t) const;
    // The strongest change with this sign that the rank feels; 1 where there is none.
    double sign(Sign which, int rank, double t) const;
    double schedule(double t) const;
    // Seconds of a step when nothing is wrong and nobody waits.
    double step_seconds() const;
};

}  // namespace belay::second_generator
