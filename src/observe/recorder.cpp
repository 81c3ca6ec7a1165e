#include "observe/recorder.h"

#include "core/tell.h"
#include "core/text.h"
#include "observe/collect/collector.h"
#include "observe/collect/kernel_log.h"
#include "observe/progress_rows.h"
#include "observe/table_writer.h"
#include "progress/reader.h"
#include "record/new_segment.h"
#include "record/place.h"
#include "schema/tables/allocation.h"
#include "schema/tables/event.h"
#include "schema/tables/gpu_device.h"
#include "schema/tables/progress.h"

#include <algorithm>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace belay::observe {

using core::Result;
using schema::column;
using schema::kAllocation;
using schema::kEvent;
using schema::kGpuDevice;

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

class Recorder {
  public:
    Recorder(const RecorderOptions& options, const Placement& placement, LinkReceiver link,
             TableWriter writer, std::vector<progress::Pattern> patterns)
        : options_(options),
          placement_(placement),
          link_(std::move(link)),
          writer_(std::move(writer)),
          standard_output_(patterns, progress_sink()),
          standard_error_(patterns, progress_sink()) {
        if (placement.samples_node) collectors_ = collect::make_collectors(collect_options());
        if (placement.samples_node)
            kernel_log_.emplace(core::environment_variable("BELAY_KERNEL_LOG").value_or("/dev/kmsg"));
        batches_ = collect::make_batches(collectors_);
        owed_.resize(collectors_.size());
    }

    Result<> run() {
        if (placement_.samples_node) add_allocation(std::nullopt, std::nullopt);
        core::Duration next_sample = clock_.monotonic();
        core::Duration next_flush = next_sample + options_.flush;
        for (;;) {
            core::Duration now = clock_.monotonic();
            if (!collectors_.empty() && now >= next_sample) {
                // A recorder that was stopped or starved owes every sample that came due meanwhile but takes
                // one.
                int64_t due = (now - next_sample) / options_.interval + 1;
                sample(due);
                next_sample += due * options_.interval;
            }
            if (now >= next_flush) {
                BELAY_CHECK(writer_.flush(now));
                next_flush = std::max(next_flush + options_.flush, now);
            }
            core::Duration wake = collectors_.empty() ? next_flush : std::min(next_sample, next_flush);
            if (!wait_for_message(wake - clock_.monotonic())) break;
        }
        return finish();
    }

  private:
    collect::CollectOptions collect_options() {
        collect::CollectOptions options;
        options.job.roots = {options_.supervisor};
        options.job.step_of = options_.supervisor;
        options.job.exclude = {options_.supervisor, getpid()};
        options.on_event = [this](const stream::Event& event) { add_event(event); };
        gpu::SourceChoice choice = options_.gpus;
        if (choice.nvml_library.empty())
            choice.nvml_library = core::environment_variable("BELAY_NVML_LIBRARY").value_or("");
        choice.interval = options_.interval;
        options.gpu.wanted = choice.is_wanted();
        options.gpu.open = [choice] { return gpu::open_source(choice); };
        options.gpu.deadline = std::min(options.gpu.deadline, options_.interval / 4);
        options.gpu.on_device = [this](const gpu::Device& device, std::string_view source) {
            add_device(device, source);
        };
        return options;
    }

    progress::EventHandler progress_sink() {
        return [this](const progress::ProgressEvent& event) {
            add_progress_row(writer_.rows(schema::kProgress), event, clock_.now(), placement_.node,
                             placement_.task);
        };
    }

    void sample(int64_t due) {
        core::Time now = clock_.now();
        std::vector<const schema::Table*> failed;
        if (kernel_log_)
            kernel_log_->tell_new([this](const stream::Event& event) { add_event(event); },
                                  !devices_.empty());
        collect::collect_all(collectors_, {now, placement_.node}, batches_,
                             [&](const schema::Table& table, const core::Error& error) {
                                 failed.push_back(&table);
                                 report_failure(table, error);
                             });
        for (size_t i = 0; i < batches_.size(); ++i) {
            stream::Batch& batch = batches_[i];
            bool taken = std::ranges::find(failed, &batch.table()) == failed.end();
            count(i, now, due, taken);
            writer_.rows(batch.table()).append(batch);
            batch.clear();
        }
    }

    // What came due before it was known that it is expected counts as soon as that is known.
    void count(size_t i, core::Time now, int64_t due, bool taken) {
        owed_[i] += due;
        if (collectors_[i]->is_expected())
            writer_.count(batches_[i].table(), now, std::exchange(owed_[i], 0), taken ? 1 : 0);
    }

    void report_unread_lines(std::string_view stream, const progress::ProgressReader::Counts& counts) {
        if (counts.cut + counts.refused + counts.malformed == 0) return;
        add_event({.kind = "progress_unread",
                   .severity = "warning",
                   .task = placement_.task,
                   .subject = std::string(stream),
                   .value = static_cast<double>(counts.cut + counts.refused + counts.malformed),
                   .message = fmt::format(
                       "{}: {} lines were cut, {} came too fast, {} were malformed MLLOG; {} were read",
                       stream, counts.cut, counts.refused, counts.malformed, counts.lines)});
    }

    // Once per table: a source that is not there stays away, and the coverage tells how long.
    void report_failure(const schema::Table& table, const core::Error& error) {
        if (std::ranges::find(reported_, &table) != reported_.end()) return;
        reported_.push_back(&table);
        add_event({.kind = "collector_failed",
                   .severity = "warning",
                   .subject = std::string(table.name),
                   .code = stream::error_number(error),
                   .message = fmt::format("table {}: {}", table.name, core::in_one_line(error))});
    }

    // False when the supervisor is gone.
    bool wait_for_message(core::Duration timeout) {
        pollfd waiting{.fd = link_.fd(), .events = POLLIN, .revents = 0};
        timespec limit{.tv_sec = std::max<int64_t>(timeout.count(), 0) / 1'000'000'000,
                       .tv_nsec = std::max<int64_t>(timeout.count(), 0) % 1'000'000'000};
        if (ppoll(&waiting, 1, &limit, nullptr) <= 0) return true;
        return link_.receive([this](LinkMessage kind, std::string_view payload) { handle(kind, payload); });
    }

    void handle(LinkMessage kind, std::string_view payload) {
        switch (kind) {
            case LinkMessage::kStandardOutput:
                standard_output_.feed(payload);
                break;
            case LinkMessage::kStandardError:
                standard_error_.feed(payload);
                break;
            case LinkMessage::kStarted:
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

    void add_event(const stream::Event& event) {
        stream::add_event(writer_.rows(kEvent), clock_.now(), placement_.node, event);
    }

    void add_system(const std::optional<std::string>& system) {
        add_event({.kind = "task_system",
                   .severity = "info",
                   .task = placement_.task,
                   .subject = system,
                   .message = system.value_or("nothing known of the system")});
    }

    void add_device(const gpu::Device& device, std::string_view source) {
        stream::Batch& rows = writer_.rows(kGpuDevice);
        rows.add_row(clock_.now(), placement_.node);
        rows.set(column(kGpuDevice, "device"), device.uuid);
        rows.set(column(kGpuDevice, "index"), device.index);
        if (!device.name.empty()) rows.set(column(kGpuDevice, "name"), device.name);
        if (!device.mig_profile.empty()) rows.set(column(kGpuDevice, "mig_profile"), device.mig_profile);
        rows.set(column(kGpuDevice, "weight"), device.weight);
        if (!device.driver.empty()) rows.set(column(kGpuDevice, "driver"), device.driver);
        rows.set(column(kGpuDevice, "source"), source);
        devices_.push_back(device.uuid);
        add_allocation(device.uuid, std::nullopt);
    }

    // Of the node, or of a device of it.
    void add_allocation(const std::optional<std::string>& device, std::optional<core::Time> end) {
        stream::Batch& rows = writer_.rows(kAllocation);
        rows.add_row(clock_.now(), placement_.node);
        rows.set(column(kAllocation, "job_id"), placement_.job.id);
        rows.set(column(kAllocation, "step_id"), placement_.step);
        rows.set(column(kAllocation, "restart"), placement_.job.restart);
        rows.set(column(kAllocation, "device"), device);
        rows.set(column(kAllocation, "first_task"), placement_.first_task);
        rows.set(column(kAllocation, "tasks"), placement_.tasks_on_node);
        rows.set(column(kAllocation, "cpus"), placement_.cpus);
        rows.set(column(kAllocation, "t0"), options_.allocation_start);
        rows.set(column(kAllocation, "t1"), end);
    }

    Result<> finish() {
        standard_output_.finish();
        standard_error_.finish();
        report_unread_lines("standard output", standard_output_.counts());
        report_unread_lines("standard error", standard_error_.counts());
        if (!collectors_.empty())
            sample(1);  // the end of the job counts too, also of one that was shorter than a tick
        const core::Time end = clock_.now();
        if (placement_.samples_node) add_allocation(std::nullopt, end);
        for (const std::string& device : devices_) add_allocation(device, end);
        return writer_.finish(end);
    }

    const RecorderOptions& options_;
    const Placement& placement_;
    LinkReceiver link_;
    TableWriter writer_;
    core::Clock& clock_ = core::system_clock();
    progress::ProgressReader standard_output_;
    progress::ProgressReader standard_error_;
    std::vector<std::unique_ptr<collect::Collector>> collectors_;
    std::optional<collect::KernelLog> kernel_log_;
    std::vector<stream::Batch> batches_;
    std::vector<int64_t> owed_;  // samples due of each collector that are not counted yet
    std::vector<std::string> devices_;
    std::vector<const schema::Table*> reported_;
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
                            .version = BELAY_VERSION};
    BELAY_TRY(patterns, progress::compile_patterns(options.progress_patterns));
    BELAY_TRY(segment, new_segment(options.record, file_name(placement, now), session));
    Recorder recorder(options, placement, std::move(link),
                      TableWriter(std::move(segment), placement.node, options.interval), std::move(patterns));
    return recorder.run();
}

}  // namespace belay::observe
