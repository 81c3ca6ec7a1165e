#include "observe/recorder.h"

#include "core/tell.h"
#include "core/text.h"
#include "core/units.h"
#include "iotrace/reader.h"
#include "observe/allocation_rows.h"
#include "observe/node_sampler.h"
#include "observe/output_tail_rows.h"
#include "observe/progress_rows.h"
#include "progress/known_patterns.h"
#include "progress/reader.h"
#include "record/new_segment.h"
#include "record/place.h"
#include "schema/tables/allocation.h"
#include "schema/tables/output_tail.h"
#include "schema/tables/progress.h"

#include <algorithm>
#include <memory>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace belay::observe {

using core::Result;

namespace {

// Node names come from Slurm or the kernel, but a file name must not depend on that.
std::string file_name(const Placement& placement, core::Time now) {
    std::string node = placement.node;
    std::ranges::replace_if(node, [](char c) { return c == '/' || c == '\0'; }, '_');
    std::string task = placement.task ? fmt::format("-t{}", *placement.task) : "";
    return fmt::format("{}{}-{:x}-{}.seg", node, task, core::to_nanoseconds(now), getpid());
}

// The one line of os-release(5) that says most of what a container was made for.
std::optional<std::string> describe_system(std::string_view os_release) {
    for (std::string_view key : {"VARIANT_ID=", "PRETTY_NAME=", "ID="})
        for (std::string_view line : core::split(os_release, '\n'))
            if (line.starts_with(key)) return std::string(line);
    return std::nullopt;
}

Result<stream::SegmentWriter> new_segment(const std::filesystem::path& path, std::string_view name,
                                          const stream::Session& session) {
    BELAY_TRY(joined, record::join_record(path));
    return record::new_segment(joined, name, session);
}

std::string source_of(const Placement& placement) {
    return placement.task ? fmt::format("recorder-t{}", *placement.task) : "recorder";
}

std::shared_ptr<iotrace::IoTraceReader> open_io_trace(const std::filesystem::path& path) {
    if (path.empty()) return nullptr;
    auto trace = iotrace::IoTraceReader::open(path);
    if (trace) return std::make_shared<iotrace::IoTraceReader>(std::move(*trace));
    core::tell_error("I/O is not recorded", trace.error(), core::kJobGoesOn);
    return nullptr;
}

class Recorder {
  public:
    Recorder(const RecorderOptions& options, const Placement& placement, LinkReceiver link,
             TableWriter writer, std::vector<progress::Pattern> patterns, std::vector<collect::Tier> tiers)
        : options_(options),
          placement_(placement),
          link_(std::move(link)),
          sampler_(sampler_options(std::move(tiers)), std::move(writer)),
          standard_output_(patterns, progress_sink()),
          standard_error_(patterns, progress_sink()) {}

    Result<> run() {
        if (placement_.samples_node) add_allocation(std::nullopt, std::nullopt);
        for (;;) {
            BELAY_TRY(wake, sampler_.work());
            if (!wait_for_message(wake - clock_.monotonic())) break;
        }
        return finish();
    }

  private:
    NodeSamplerOptions sampler_options(std::vector<collect::Tier> tiers) {
        NodeSamplerOptions options{.node = placement_.node,
                                   .source = source_of(placement_),
                                   .interval = options_.interval,
                                   .flush = options_.flush,
                                   .samples_node = placement_.samples_node,
                                   .gpus = options_.gpus};
        options.collect.job = {.roots = {options_.supervisor},
                               .step_of = options_.supervisor,
                               .exclude = {options_.supervisor, getpid()},
                               .job_id = placement_.job.id,
                               .step_id = placement_.step};
        if (placement_.samples_node)
            options.collect.io = {.trace = open_io_trace(options_.io_trace),
                                  .tiers = std::move(tiers),
                                  .task = [this] { return task_; }};
        options.on_device = [this](const gpu::Device& device) { add_allocation(device.uuid, std::nullopt); };
        return options;
    }

    progress::EventHandler progress_sink() {
        return [this](const progress::ProgressEvent& event) {
            add_progress_row(sampler_.rows(schema::kProgress), event, clock_.now(), placement_.node,
                             placement_.task);
        };
    }

    void report_unread_lines(std::string_view stream, const progress::ProgressReader::Counts& counts) {
        if (counts.cut + counts.refused + counts.malformed == 0) return;
        add_event({.kind = "progress_unread",
                   .severity = "warning",
                   .task = placement_.task,
                   .subject = std::string(stream),
                   .code = counts.refused,
                   .value = static_cast<double>(counts.cut + counts.refused + counts.malformed),
                   .message = fmt::format(
                       "{}: {} lines were cut, {} came too fast, {} were malformed MLLOG; {} were read",
                       stream, counts.cut, counts.refused, counts.malformed, counts.lines)});
    }

    void report_clock(std::string_view stream, const progress::ProgressReader::Counts& counts) {
        if (counts.clock_jumps == 0) return;
        add_event({.kind = "program_clock_back",
                   .severity = "info",
                   .task = placement_.task,
                   .subject = std::string(stream),
                   .value = core::to_seconds(counts.longest_clock_jump),
                   .message = fmt::format(
                       "{}: the times that the program printed went back {} times, at most by {}", stream,
                       counts.clock_jumps, core::format_duration(counts.longest_clock_jump))});
    }

    // False when the supervisor is gone.
    bool wait_for_message(core::Duration timeout) {
        pollfd waiting{.fd = link_.fd(), .events = POLLIN, .revents = 0};
        timespec limit{.tv_sec = std::max<int64_t>(timeout.count(), 0) / 1'000'000'000,
                       .tv_nsec = std::max<int64_t>(timeout.count(), 0) % 1'000'000'000};
        if (ppoll(&waiting, 1, &limit, nullptr) <= 0) return true;  // a failure too is over by the next tick
        return link_.receive([this](LinkMessage kind, std::string_view payload) { handle(kind, payload); });
    }

    void handle(LinkMessage kind, std::string_view payload) {
        switch (kind) {
            case LinkMessage::kStandardOutput:
                standard_output_.feed(payload);
                output_tail_.feed(payload);
                break;
            case LinkMessage::kStandardError:
                standard_error_.feed(payload);
                error_tail_.feed(payload);
                break;
            case LinkMessage::kStarted:
                task_ = core::parse_number<pid_t>(payload).value_or(0);
                add_event(
                    {.kind = "task_start",
                     .severity = "info",
                     .task = placement_.task,
                     .subject = options_.command_name,
                     .code = core::parse_number<int64_t>(payload),
                     .message = fmt::format("{} started as process {}", options_.command_name, payload)});
                break;
            case LinkMessage::kSystem:
                add_system(describe_system(payload));
                break;
            case LinkMessage::kEnded: {
                core::ExitStatus status = decode_exit(payload).value_or(core::ExitStatus{.code = -1});
                has_ended_ = true;
                if (!status.success()) add_output_tails();
                add_event(
                    {.kind = "task_end",
                     .severity = status.success() ? "info" : "critical",
                     .task = placement_.task,
                     .subject = options_.command_name,
                     .code = status.signal != 0 ? -status.signal : status.code,
                     .message = fmt::format("{} ended with {}", options_.command_name, status.describe())});
                break;
            }
            case LinkMessage::kDropped:
                add_event({.kind = "output_dropped",
                           .severity = "warning",
                           .task = placement_.task,
                           .value = core::parse_number<double>(payload),
                           .message = fmt::format(
                               "{} bytes of output came too fast to be searched for progress", payload)});
                break;
        }
    }

    void add_event(const stream::Event& event) { sampler_.add_event(event); }

    void add_output_tails() {
        const core::Time now = clock_.now();
        stream::Batch& rows = sampler_.rows(schema::kOutputTail);
        add_output_tail(rows, output_tail_, kStandardOutput, now, placement_);
        add_output_tail(rows, error_tail_, kStandardError, now, placement_);
    }

    void add_system(const std::optional<std::string>& system) {
        add_event({.kind = "task_system",
                   .severity = "info",
                   .task = placement_.task,
                   .subject = system,
                   .message = system.value_or("nothing known of the system")});
    }

    // Of the node, or of a device of it.
    void add_allocation(const std::optional<std::string>& device, std::optional<core::Time> end) {
        const StepShare share{.job_id = placement_.job.id,
                              .step_id = placement_.step,
                              .restart = placement_.job.restart,
                              .first_task = placement_.first_task,
                              .tasks = placement_.tasks_on_node,
                              .cpus = placement_.cpus,
                              .from = options_.allocation_start};
        observe::add_allocation(sampler_.rows(schema::kAllocation), clock_.now(), placement_.node, share,
                                device, end);
    }

    Result<> finish() {
        // The supervisor was killed, and the task with it.
        if (!has_ended_) add_output_tails();
        standard_output_.finish();
        standard_error_.finish();
        report_unread_lines(kStandardOutput, standard_output_.counts());
        report_unread_lines(kStandardError, standard_error_.counts());
        report_clock(kStandardOutput, standard_output_.counts());
        report_clock(kStandardError, standard_error_.counts());
        if (placement_.samples_node) sampler_.sample_last();
        const core::Time end = clock_.now();
        if (placement_.samples_node) add_allocation(std::nullopt, end);
        for (const gpu::Device& device : sampler_.devices()) add_allocation(device.uuid, end);
        return sampler_.finish(end);
    }

    const RecorderOptions& options_;
    const Placement& placement_;
    LinkReceiver link_;
    core::Clock& clock_ = core::system_clock();
    pid_t task_ = 0;  // once it has started
    NodeSampler sampler_;
    progress::ProgressReader standard_output_;
    progress::ProgressReader standard_error_;
    progress::OutputTail output_tail_;
    progress::OutputTail error_tail_;
    bool has_ended_ = false;  // the task, as the supervisor told
};

}  // namespace

Result<> run_recorder(const RecorderOptions& options, const Placement& placement, LinkReceiver link) {
    prctl(PR_SET_NAME, "belay-recorder");
    core::Time now = core::system_clock().now();
    stream::Session session{.node = placement.node,
                            .task = placement.task,
                            .periodic = placement.samples_node,
                            .start = now,
                            .interval = options.interval,
                            .flush = options.flush,
                            .version = BELAY_VERSION,
                            .cluster = placement.job.cluster,
                            .boot = boot_id(),
                            .source = source_of(placement),
                            .began = now};
    BELAY_TRY(tiers, collect::parse_tiers(options.tiers));
    BELAY_TRY(patterns, progress::patterns_for(options.progress_patterns));
    BELAY_TRY(segment, new_segment(options.record, file_name(placement, now), session));
    Recorder recorder(options, placement, std::move(link),
                      TableWriter(std::move(segment), placement.node, options.interval), std::move(patterns),
                      std::move(tiers));
    return recorder.run();
}

}  // namespace belay::observe
