// Reads a node's GPUs in a child process: a driver that hangs or crashes takes no more than that with it, and
// sampling of the host goes on.
//
//   GpuProbe probe({.open = [] { return gpu::open_nvml(); }, .environment = ...});
//   every second:  auto samples = probe.sample(now);   // none while the source opens
//
// An answer that comes after the deadline is returned by a later call. A child that ended, or was silent for
// the time of a retry, is replaced after that time; one stuck in the kernel outlives SIGKILL, and then no
// other is started. Not thread-safe; start it before any thread.
#pragma once

#include "core/deadline.h"
#include "core/file.h"
#include "core/process.h"
#include "gpu/source.h"

#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace belay::observe::collect {

struct GpuReading {
    size_t device;  // index into GpuProbe::devices()
    gpu::Reading reading;
};

// Whether it has the name "index:N" instead of a UUID, which the driver could not tell.
bool is_nameless(const gpu::Device& device);

struct GpuXid {
    size_t device;
    int64_t code;
};

struct GpuProbeSample {
    core::Time time;
    std::vector<GpuReading> readings;  // lost devices stand in the first one after that, then no more
    std::vector<GpuXid> xids;
};

class GpuProbe {
  public:
    struct Options {
        std::function<core::Result<std::unique_ptr<gpu::Source>>()> open;  // called in the child
        core::Environment environment;  // of the job, which says what it holds (gpu/held.h)
        core::Duration deadline = std::chrono::milliseconds(250);  // until a tick goes on without an answer
        core::Duration retry = std::chrono::seconds(60);
    };
    enum class State {
        kOpening,
        kOpen,
        kAbsent,  // the source does not open, or the job holds no GPU; why() says which
    };

    explicit GpuProbe(Options options) : options_(std::move(options)) {}
    ~GpuProbe();
    GpuProbe(const GpuProbe&) = delete;
    GpuProbe& operator=(const GpuProbe&) = delete;

    // Errors: kSystem while the source is open and does not answer (kTimedOut), or its child has ended
    // (kEnded) or does not open it again (the source's own).
    core::Result<std::vector<GpuProbeSample>> sample(core::Time now);

    State state() const { return state_; }
    const core::Error& why() const { return why_; }
    core::Duration opening_for() const;
    const std::string& source_name() const { return source_name_; }  // "nvml"
    // gpu::Source::stands_in_because().
    const std::optional<core::Error>& stands_in_because() const { return stands_in_because_; }
    // That the job holds; see is_nameless.
    const std::vector<gpu::Device>& devices() const { return devices_; }
    // CPU time that the children have spent.
    double cpu_seconds() const { return ended_cpu_seconds_ + cpu_seconds_; }
    pid_t child() const { return child_ ? child_->pid() : -1; }  // -1 if none runs now

  private:
    core::Result<> start();
    void serve(int socket);
    void answer_requests(int socket);
    // Takes messages until there is nothing to wait for, or the deadline.
    void receive(const core::Deadline& deadline, core::Time now, std::vector<GpuProbeSample>& samples);
    void take(std::string_view message, bool in_time, core::Time now, std::vector<GpuProbeSample>& samples);
    void refuse(core::Error why);
    bool is_waiting() const { return child_ && (!child_is_open_ || answer_by_.has_value()); }
    void end_child(core::Duration pause);
    void reap();
    core::Error silence() const;

    Options options_;
    State state_ = State::kOpening;
    core::Error why_{core::ErrorKind::kSystem, "the GPUs have not been looked for yet"};
    std::vector<gpu::Device> devices_;
    std::string source_name_;
    std::optional<core::Error> stands_in_because_;
    std::optional<core::Process> child_;
    bool child_is_open_ = false;  // it has told its devices
    core::Descriptor socket_;
    std::vector<core::Process> killed_;                 // not reaped yet
    std::optional<core::Duration> opening_since_;       // monotonic
    core::Deadline open_by_;                            // when a child that has not opened is given up
    std::optional<core::Deadline> answer_by_;           // the same of one that owes an answer
    core::Deadline pause_ = core::Deadline::after({});  // no child before it is over
    double cpu_seconds_ = 0;
    double ended_cpu_seconds_ = 0;
};

}  // namespace belay::observe::collect
