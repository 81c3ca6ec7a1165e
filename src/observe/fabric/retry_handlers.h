// Counters of the retry handlers of Slingshot adapters: /run/cxi/cxiN, a FUSE file system that the daemon
// cxi_rh serves. One that hangs lets its readers wait, so the files are read in a child process, and nothing
// here waits for it: what is asked for at one tick is there at a later one.
//
//   RetryHandlers handlers({.run = "/run", .on_event = sink});
//   now and then:  handlers.ask(devices);
//   every tick:    handlers.take();
//   for a row:     handlers.set("cxi0", rows);
//
// A child that has not answered until the next ask() is killed, and another one asks the other handlers; the
// silent one is asked again after `retry`, and last. A child that is stuck in the kernel outlives SIGKILL,
// and its handler is not asked while it is. Not thread-safe.
#pragma once

#include "core/deadline.h"
#include "core/process.h"
#include "observe/collect/collector.h"
#include "schema/tables/fabric.h"
#include "stream/batch.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace belay::observe::fabric {

struct RetryCounter {
    size_t column;
    std::string_view file;
};
// As stats_init() of cxi_rh names them.
inline constexpr RetryCounter kRetryCounters[] = {
    {schema::column(schema::kFabric, "retry_request_timeouts_total"), "spt_timeouts"},
    {schema::column(schema::kFabric, "retry_nacks_total"), "nacks"},
    {schema::column(schema::kFabric, "retry_resource_busy_nacks_total"), "nack_resource_busy"},
    {schema::column(schema::kFabric, "retry_sequence_nacks_total"), "nack_sequence_error"},
    {schema::column(schema::kFabric, "retry_source_timeouts_total"), "sct_timeouts"},
    {schema::column(schema::kFabric, "retry_target_timeouts_total"), "tct_timeouts"},
    {schema::column(schema::kFabric, "retry_cancelled_connections_total"), "connections_cancelled"},
    {schema::column(schema::kFabric, "retry_cancelled_ordered_packets_total"), "pkts_cancelled_o"},
    {schema::column(schema::kFabric, "retry_cancelled_unordered_packets_total"), "pkts_cancelled_u"},
    {schema::column(schema::kFabric, "retry_parked_nodes"), "parked_nids"},
};
static_assert(std::size(kRetryCounters) == std::size(schema::kFabricRetryQuantities));

class RetryHandlers {
  public:
    struct Options {
        std::filesystem::path run = "/run";
        collect::EventSink on_event = nullptr;  // told once of each handler that does not answer
        core::Duration retry = std::chrono::seconds(60);
    };

    explicit RetryHandlers(Options options) : options_(std::move(options)) {}
    ~RetryHandlers();
    RetryHandlers(const RetryHandlers&) = delete;
    RetryHandlers& operator=(const RetryHandlers&) = delete;

    // At most 256; those that have not answered the last time have no counters from now on. `wait`: how long
    // it may wait for the answers. Errors: kSystem where no child can be started.
    core::Result<> ask(std::span<const std::string> devices, core::Duration wait = {});
    void take();
    // Sets the counters of a device in the last row, as far as its handler told them.
    void set(std::string_view device, stream::Batch& rows) const;

    double cpu_seconds() const;                                  // of the children
    pid_t child() const { return child_ ? child_->pid() : -1; }  // -1 if none runs now

  private:
    struct Handler {
        std::string device;
        bool owes_answer = false;
        bool is_told = false;                              // that it is silent
        core::Deadline pause = core::Deadline::after({});  // not asked before it is over
        std::array<std::optional<int64_t>, std::size(kRetryCounters)> values = {};
    };

    // A child that was killed, and at which handler.
    struct Killed {
        core::Process process;
        std::string device;
    };

    void know(std::span<const std::string> devices);
    void note_silence();
    std::vector<uint8_t> whom_to_ask() const;
    core::Result<> start();
    void serve(int socket) const;
    void wait_for_answers(core::Duration wait);
    void note_end();
    void end_child(std::string_view device = {});
    void reap();

    Options options_;
    std::vector<Handler> handlers_;   // in the order in which they are asked
    std::vector<std::string> paths_;  // that the child knows: all of the first handler, then of the second …
    std::optional<core::Process> child_;
    core::Descriptor socket_;
    std::vector<Killed> killed_;  // not reaped yet
    double cpu_seconds_ = 0;
    double ended_cpu_seconds_ = 0;
};

}  // namespace belay::observe::fabric
