#include "agent/agent.h"

#include "agent/step_shares.h"
#include "core/work.h"
#include "observe/node_sampler.h"
#include "observe/record_run.h"
#include "record/place.h"
#include "schema/tables/allocation.h"
#include "stream/liveness.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <utility>

namespace belay::agent {

using core::Result;

namespace {

// Signals that end it, as a descriptor.
Result<core::Descriptor> block_signals() {
    sigset_t signals;
    sigemptyset(&signals);
    for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    core::Descriptor fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd) return core::errno_error(errno, "cannot wait for signals");
    return fd;
}

bool wait_for_signal(int fd, core::Duration timeout) {
    pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
    const int64_t nanoseconds = std::max<int64_t>(timeout.count(), 0);
    const timespec limit{.tv_sec = nanoseconds / 1'000'000'000, .tv_nsec = nanoseconds % 1'000'000'000};
    return ppoll(&waiting, 1, &limit, nullptr) > 0;
}

class Agent {
  public:
    Agent(const AgentOptions& options, const std::string& node, stream::SpoolWriter stream,
          const stream::Trimmed& trimmed)
        : options_(options),
          shares_(node),
          trimmed_(trimmed),
          sampler_(sampler_options(node), observe::TableWriter(std::move(stream), node, options.interval)) {}

    Result<> run(int signals) {
        const core::Duration begun = clock_.monotonic();
        const core::Duration end = options_.length ? begun + *options_.length : core::Duration::max();
        core::Duration wake = begun;
        do {
            BELAY_TRY(next, sampler_.work());
            tell_of_trimmed();
            wake = std::min(next, end);
        } while (!wait_for_signal(signals, wake - clock_.monotonic()) && clock_.monotonic() < end);
        return sampler_.finish(clock_.now());
    }

  private:
    observe::NodeSamplerOptions sampler_options(const std::string& node) {
        observe::NodeSamplerOptions options{.node = node,
                                            .source = "agent",
                                            .interval = options_.interval,
                                            .flush = options_.flush,
                                            .gpus = options_.gpus};
        options.collect.job.all_steps = true;
        options.collect.job.node = options_.node;
        options.collect.job.cluster = options_.cluster;
        options.collect.on_steps = [this](core::Time now, auto steps) {
            shares_.look(now, steps, sampler_.rows(schema::kAllocation));
        };
        options.collect.gpu.environment = {};  // all GPUs of the node, whatever this process may use
        options.on_device = [this](const gpu::Device& device) { shares_.add_device(device); };
        return options;
    }

    void tell_of_trimmed() {
        if (trimmed_.bytes == told_.bytes) return;
        const uint64_t bytes = trimmed_.bytes - told_.bytes;
        sampler_.add_event({.kind = "spool_trimmed",
                            .severity = "warning",
                            .value = static_cast<double>(bytes),
                            .message = fmt::format("{} of the oldest files of the spool went, {} bytes",
                                                   trimmed_.files - told_.files, bytes)});
        told_ = trimmed_;
    }

    const AgentOptions& options_;
    core::Clock& clock_ = core::system_clock();
    StepShares shares_;
    const stream::Trimmed& trimmed_;  // in all
    stream::Trimmed told_;
    observe::NodeSampler sampler_;
};

// The owner of a job record would find files in it that do not belong to it.
Result<> check_spool(const std::filesystem::path& spool) {
    BELAY_TRY(manifest, core::type_of_file(record::manifest_path(spool)));
    if (manifest == std::filesystem::file_type::not_found) return {};
    return core::bad_input("{} is a job record, not a spool", spool.string())
        .hint("name a directory that does not exist yet");
}

Result<> sample_until_told(const AgentOptions& options) {
    BELAY_TRY(signals, block_signals());
    BELAY_CHECK(check_spool(options.spool));
    prctl(PR_SET_NAME, "belay-agent");
    const std::string node = options.node.value_or(stream::this_node());
    const core::Time now = core::system_clock().now();
    const stream::Session session{.node = node,
                                  .start = now,
                                  .interval = options.interval,
                                  .flush = options.flush,
                                  .version = BELAY_VERSION,
                                  .cluster = options.cluster,
                                  .boot = observe::boot_id(),
                                  .source = "agent",
                                  .began = now};
    stream::Trimmed trimmed;
    auto on_trimmed = [&](const stream::Trimmed& more) {
        trimmed.files += more.files;
        trimmed.bytes += more.bytes;
    };
    BELAY_TRY(stream, stream::SpoolWriter::open(options.spool, session, options.limits, on_trimmed));
    Agent agent(options, node, std::move(stream), trimmed);
    return agent.run(signals.get());
}

}  // namespace

Result<> run_agent(const AgentOptions& options) {
    BELAY_CHECK(observe::check_period("interval", options.interval));
    BELAY_CHECK(observe::check_period("flush", options.flush));
    BELAY_CHECK(gpu::check_choice(options.gpus));
    BELAY_TRY(signals, block_signals());
    BELAY_TRY(work,
              core::Work::start({.what = "", .name = "belay-agent", .streams = core::WorkStreams::kOurs},
                                [&]() -> Result<std::string> {
                                    BELAY_CHECK(sample_until_told(options));
                                    return std::string();
                                }));
    auto ended = work.finish_unless_stalled(options.wait, signals);
    if (ended || work.was_ended_by_passed_signal())
        return {};  // a signal at the very beginning is an end, too
    if (ended.error().cause() != core::Cause::kTimedOut) return std::unexpected(std::move(ended.error()));
    return std::unexpected(
        std::move(ended.error())
            .hint("its file server does not answer; --wait says how long the agent waits. Keep "
                  "--spool on a disk of this node, and let the agent be restarted when it "
                  "ends (systemd: Restart=on-failure)"));
}

}  // namespace belay::agent
