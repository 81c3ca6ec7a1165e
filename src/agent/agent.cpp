#include "agent/agent.h"

#include "agent/courier/courier_keeper.h"
#include "agent/step_shares.h"
#include "core/tell.h"
#include "core/utf8.h"
#include "core/work.h"
#include "observe/node_sampler.h"
#include "observe/record_run.h"
#include "record/place.h"
#include "schema/tables/allocation.h"
#include "schema/tables/gpu_device.h"
#include "stream/liveness.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
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

// While there is a courier, what it tells is heard at least so often.
constexpr core::Duration kHearsCourier = std::chrono::seconds(10);

class Agent {
  public:
    Agent(const AgentOptions& options, const stream::Session& session, stream::SpoolWriter stream,
          const stream::Trimmed& trimmed)
        : options_(options),
          stream_(session.stream()),
          shares_(session.node),
          trimmed_(trimmed),
          sampler_(sampler_options(session.node),
                   observe::TableWriter(std::move(stream), session.node, options.interval)),
          courier_(options.courier, [this] { return situation(); }) {}

    Result<> run(int signals) {
        const core::Duration begun = clock_.monotonic();
        const core::Duration end = options_.length ? begun + *options_.length : core::Duration::max();
        core::Duration wake = begun;
        do {
            BELAY_TRY(next, sampler_.work());
            tell_of_trimmed();
            pass_on(courier_.look());
            wake = std::min(next, end);
            if (options_.courier.is_wanted()) wake = std::min(wake, clock_.monotonic() + kHearsCourier);
        } while (!wait_for_signal(signals, wake - clock_.monotonic()) && clock_.monotonic() < end);
        pass_on(courier_.look());
        BELAY_CHECK(sampler_.finish(clock_.now()));
        for (const Note& note : courier_.finish()) tell(note);  // the stream is closed
        return {};
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
        options.on_device = [this](const gpu::Device& device) {
            shares_.add_device(device);
            const stream::Batch& rows = sampler_.rows(schema::kGpuDevice);
            if (!rows.empty()) devices_.append(rows, rows.rows() - 1, 1);
        };
        return options;
    }

    // For a courier that begins now.
    CourierStart situation() const {
        CourierStart start{.spool = options_.spool,
                           .version = BELAY_VERSION,
                           .from = {stream_, 0},
                           .interval = options_.interval,
                           .flush = options_.flush,
                           .now = {devices_, stream::Batch(schema::kAllocation)}};
        shares_.tell_open(clock_.now(), start.now.back());
        return start;
    }

    static void tell(const Note& note) {
        if (row_of(note.kind).is_told) core::tell("{}", core::printable(note.message));
    }

    // What the courier tells, to people and into the stream.
    void pass_on(const std::vector<Note>& notes) {
        for (const Note& note : notes) {
            tell(note);
            const NoteRow& row = row_of(note.kind);
            if (row.severity.empty()) continue;
            sampler_.add_event({.kind = "stream_lost",
                                .severity = row.severity,
                                .subject = note.subject.empty() ? std::nullopt : std::optional(note.subject),
                                .code = note.code,
                                .value = row.counts_loss ? note.value : std::optional(0.0),
                                .message = note.message});
        }
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
    stream::StreamId stream_;
    StepShares shares_;
    stream::Batch devices_{schema::kGpuDevice};  // rows of those that were found
    const stream::Trimmed& trimmed_;             // in all
    stream::Trimmed told_;
    observe::NodeSampler sampler_;
    CourierKeeper courier_;
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
    Agent agent(options, session, std::move(stream), trimmed);
    return agent.run(signals.get());
}

// The socket at which metrics are asked for; without one nobody can ask.
Result<core::Descriptor> start_to_listen(const std::optional<ListenAddress>& address) {
    if (!address) return core::Descriptor();
    BELAY_TRY(listening, open_listen_socket(*address));
    fmt::print("listening on {}\n", to_text(listening.address));
    std::fflush(stdout);
    return std::move(listening.socket);
}

}  // namespace

Result<> run_agent(const AgentOptions& asked) {
    BELAY_CHECK(observe::check_period("interval", asked.interval));
    BELAY_CHECK(observe::check_period("flush", asked.flush));
    BELAY_CHECK(gpu::check_choice(asked.gpus));
    BELAY_TRY(signals, block_signals());
    BELAY_TRY(listener, start_to_listen(asked.listen));
    AgentOptions options = asked;
    options.courier.listener = listener.get();
    core::WorkOptions process{.what = "", .name = "belay-agent", .streams = core::WorkStreams::kOurs};
    if (listener) process.keep.push_back(listener.get());
    BELAY_TRY(work, core::Work::start(std::move(process), [&]() -> Result<std::string> {
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
