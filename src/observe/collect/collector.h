// What is sampled on a node at every tick. Each collector adds the rows of one periodic table: host, network,
// filesystem, process, gpu or io.
//
//   auto collectors = make_collectors({.job = {.step_of = getpid()}, .on_event = sink});
//   std::vector<stream::Batch> rows = make_batches(collectors);      // rows[i] belongs to collectors[i]
//   every second:
//       collect_all(collectors, {now, node}, rows, on_error);
//
// Not thread-safe. What sampling costs is in docs/measured/recording-overhead.md.
#pragma once

#include "core/error.h"
#include "core/process.h"
#include "core/time.h"
#include "gpu/choose.h"
#include "observe/collect/step_daemons.h"
#include "observe/collect/tiers.h"
#include "stream/batch.h"
#include "stream/event.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <vector>

namespace belay::iotrace {
class IoTraceReader;
}

namespace belay::observe::collect {

// When and where the rows of one tick were taken.
struct Sample {
    core::Time time;
    std::string_view node;
};

class Collector {
  public:
    virtual ~Collector() = default;
    virtual const schema::Table& table() const = 0;
    // Adds this tick's rows. What the kernel does not tell is null. Errors (kSystem) mean that the source as
    // a whole could not be read; `rows` then has no rows of this tick.
    virtual core::Result<> collect(const Sample& sample, stream::Batch& rows) = 0;
    // Whether rows are due on this node: a node without GPUs owes none of their samples. While it is not
    // known yet it is false.
    virtual bool is_expected() const { return true; }
    // CPU time that processes helping this collector have spent since its start.
    virtual double helper_cpu_seconds() const { return 0; }
};

// Where the job's I/O is counted, and what is known of its file systems.
struct IoOptions {
    std::shared_ptr<iotrace::IoTraceReader> trace = nullptr;  // none: the job is not traced
    std::vector<Tier> tiers = {};
    // A process of the job, which may see mounts that this process does not; 0: none is known yet.
    std::function<pid_t()> task = [] { return 0; };
};

// Where GPUs are read from, and what is told of them.
struct GpuOptions {
    // Called in a child process (collect/gpu_probe.h).
    std::function<core::Result<std::unique_ptr<gpu::Source>>()> open = [] { return gpu::open_source({}); };
    // Somebody named the source: then that it does not open is told. It is told too where a driver is loaded.
    bool wanted = false;
    core::Environment environment = core::current_environment();  // of the job, which says what it holds
    // Told once of each GPU that the job holds; may be empty.
    std::function<void(const gpu::Device& device, std::string_view source)> on_device = nullptr;
    // Until a tick goes on without an answer; until a child that is silent or ended is replaced.
    core::Duration deadline = std::chrono::milliseconds(250);
    core::Duration retry = std::chrono::seconds(60);
};

// Told when something happened that belongs into the table `event`. Called from within collect().
using EventSink = std::function<void(const stream::Event&)>;

// Which processes of the node are the job's: all given roots, and all their descendants. A process that once
// was in the job stays in it when its parent ends.
struct JobSelection {
    std::vector<pid_t> roots;
    // Also the tasks of the Slurm step that this process is in: the children of its ancestor slurmstepd.
    // Ignored if it has no such ancestor.
    std::optional<pid_t> step_of;
    // Left out themselves, but their descendants count: the supervisor and the recorder.
    std::vector<pid_t> exclude;
    // Leave out likewise every process that runs this program's executable (the supervisors of the other
    // tasks).
    bool exclude_own_executable = true;
    // In the rows of all of them.
    std::optional<int64_t> job_id = {};
    std::optional<std::string> step_id = {};
    // Instead of the above: what is below any slurmstepd of this machine, each process with the job and step
    // of its own one. With a node, only steps whose tasks say that they run there.
    bool all_steps = false;
    std::optional<std::string> node = {};
    std::string cluster = {};  // and none of steps that name another one; empty: whatever they name
};

struct CollectOptions {
    JobSelection job;
    // Told of data_read, filesystem_hang, filesystem_back, filesystem_unread, gpu_unread,
    // gpu_counters_unread, gpu_lost, xid; may be empty.
    EventSink on_event;
    StepSink on_steps = nullptr;  // with JobSelection::all_steps; may be empty
    GpuOptions gpu = {};
    IoOptions io = {};
    std::filesystem::path proc = "/proc";
    std::filesystem::path sys = "/sys";
    // How long all file systems together may take to answer in a tick, and when one that did not is asked
    // again.
    core::Duration filesystem_deadline = std::chrono::milliseconds(250);
    core::Duration filesystem_retry = std::chrono::seconds(60);
    size_t mounts_limit = 64;
    // Ticks between looks at what seldom changes: carrier and speed of the network interfaces, the list of
    // mounts.
    int slow_every = 10;
    // Time until all processes of the node are looked at afresh.
    core::Duration process_refresh = std::chrono::seconds(60);
    // When the node booted, for the start times of processes. Fixed, so that a process keeps its start time
    // when the wall clock is adjusted. Default: the wall clock less the time since boot.
    std::optional<core::Time> boot_time;
    // Asks for the size of a file system, in a child process. Tests put one here that never answers.
    std::function<int(const char*, struct statvfs*)> statvfs = ::statvfs;
};

// One for each of host, network, filesystem, process, gpu and io, in that order.
std::vector<std::unique_ptr<Collector>> make_collectors(const CollectOptions& options);

// An empty batch per collector.
std::vector<stream::Batch> make_batches(std::span<const std::unique_ptr<Collector>> collectors);

// Told which table could not be sampled, and why.
using ErrorSink = std::function<void(const schema::Table& table, const core::Error& error)>;

// One tick: runs every collector, `rows[i]` for `collectors[i]`. A failure is told to `on_error` and hides no
// other collector. Puts the CPU time of the tick, helpers included, into the host row's collection_seconds.
void collect_all(std::span<const std::unique_ptr<Collector>> collectors, const Sample& sample,
                 std::span<stream::Batch> rows, const ErrorSink& on_error);

}  // namespace belay::observe::collect
