// Samples a node into a stream: what the recorder of a step and the agent of a node have in common. Runs the
// collectors at every interval, counts what was due and taken, tells faults from the kernel's log, says which
// GPUs there are, and writes at every flush.
//
//   NodeSampler sampler(options, TableWriter(segment, node, interval));
//   for (;;) {
//       BELAY_TRY(wake, sampler.work());             // monotonic
//       … wait until then, or for something else …
//   }
//   sampler.sample_last();
//   BELAY_CHECK(sampler.finish(clock.now()));
//
// Not thread-safe.
#pragma once

#include "core/error.h"
#include "core/time.h"
#include "gpu/choose.h"
#include "observe/collect/collector.h"
#include "observe/collect/kernel_log.h"
#include "observe/table_writer.h"
#include "stream/event.h"
#include "stream/segment.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace belay::observe {

// The kernel's id of this boot; empty where it does not tell.
std::string boot_id();

struct NodeSamplerOptions {
    std::string node;
    std::string source;  // of the stream: "agent", "recorder", "recorder-t3"
    core::Duration interval{};
    core::Duration flush{};
    bool samples_node = true;  // otherwise it writes what it is given, and nothing of its own
    // Of its gpu only the environment counts; on_event is the sampler's.
    collect::CollectOptions collect = {};
    // Where GPUs are read from; a library of NVML that is not named here is what BELAY_NVML_LIBRARY names.
    gpu::SourceChoice gpus = {};
    std::function<void(const gpu::Device& device)> on_device = nullptr;  // once of each, may be empty
};

class NodeSampler {
  public:
    NodeSampler(NodeSamplerOptions options, TableWriter writer, core::Clock& clock = core::system_clock());
    NodeSampler(const NodeSampler&) = delete;
    NodeSampler& operator=(const NodeSampler&) = delete;

    // Takes the sample and writes what is due now; answers when there will be something again. A disk that is
    // full is told once, and again when there is room; until then rows are kept, as many as
    // TableWriter::drop_excess() leaves. Errors: kSystem; what was written before is whole.
    core::Result<core::Duration> work();
    // A sample now, whether one is due or not: the end of a job counts too, also of one that was shorter
    // than an interval.
    void sample_last();
    core::Result<> finish(core::Time at);

    void add_event(const stream::Event& event);
    // Of a table that is not sampled: rows are added to what is written next.
    stream::Batch& rows(const schema::Table& table) { return writer_.rows(table); }
    const std::vector<gpu::Device>& devices() const { return devices_; }

  private:
    // While nothing could be written.
    struct Shortage {
        core::Duration since;  // monotonic
        core::Error why;
        size_t lost_rows = 0;
    };

    collect::CollectOptions collect_options();
    core::Result<> flush(core::Duration now);
    core::Result<> wait_for_room(core::Duration now, core::Error why);
    void tell_of_room(core::Duration now);
    int64_t due_at(core::Duration now) const;
    void sample(int64_t due);
    void add_device(const gpu::Device& device, std::string_view source);
    void count(size_t collector, core::Time now, int64_t due, bool taken);
    void report_failure(const schema::Table& table, const core::Error& error);

    NodeSamplerOptions options_;
    TableWriter writer_;
    core::Clock& clock_;
    std::vector<std::unique_ptr<collect::Collector>> collectors_;
    std::optional<collect::KernelLog> kernel_log_;
    std::vector<stream::Batch> batches_;  // by collector
    std::vector<int64_t> owed_;           // samples due of each collector that are not counted yet
    std::vector<gpu::Device> devices_;
    std::vector<const schema::Table*> reported_;
    core::Duration next_sample_;  // monotonic
    core::Duration next_flush_;
    std::optional<Shortage> shortage_;
};

}  // namespace belay::observe
