#include "observe/node_sampler.h"

#include "core/file.h"
#include "core/process.h"
#include "core/tell.h"
#include "core/text.h"
#include "schema/tables/event.h"
#include "schema/tables/gpu_device.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace belay::observe {

using core::Result;
using schema::column;
using schema::kGpuDevice;

namespace {

// Of a stream, "recorder" of "recorder-t3".
std::string_view teller(std::string_view source) {
    return source.substr(0, source.find('-'));
}

}  // namespace

std::string boot_id() {
    auto text = core::read_file("/proc/sys/kernel/random/boot_id", 256);
    return text ? std::string(core::trim(*text)) : "";
}

NodeSampler::NodeSampler(NodeSamplerOptions options, TableWriter writer, core::Clock& clock)
    : options_(std::move(options)),
      writer_(std::move(writer)),
      clock_(clock),
      next_sample_(clock.monotonic()),
      next_flush_(next_sample_ + options_.flush) {
    if (options_.samples_node) {
        collectors_ = collect::make_collectors(collect_options());
        kernel_log_.emplace(core::environment_variable("BELAY_KERNEL_LOG").value_or("/dev/kmsg"));
    }
    batches_ = collect::make_batches(collectors_);
    owed_.resize(collectors_.size());
}

collect::CollectOptions NodeSampler::collect_options() {
    collect::CollectOptions options = options_.collect;
    options.on_event = [this](const stream::Event& event) {
        if (!kernel_log_ || !kernel_log_->says_more_than(event)) add_event(event);
    };
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

Result<core::Duration> NodeSampler::work() {
    const core::Duration now = clock_.monotonic();
    if (!collectors_.empty() && now >= next_sample_) {
        const int64_t due = due_at(now);
        sample(due);
        next_sample_ += due * options_.interval;
    }
    if (now >= next_flush_) {
        next_flush_ = std::max(next_flush_ + options_.flush, now);
        BELAY_CHECK(flush(now));
    }
    return collectors_.empty() ? next_flush_ : std::min(next_sample_, next_flush_);
}

Result<> NodeSampler::flush(core::Duration now) {
    auto written = writer_.flush(now);
    if (!written && written.error().cause() == core::Cause::kNoSpace)
        return wait_for_room(now, std::move(written.error()));
    if (written && shortage_) tell_of_room(now);
    return written;
}

Result<> NodeSampler::wait_for_room(core::Duration now, core::Error why) {
    if (!shortage_) {
        core::tell_error("nothing can be written", why, "samples are kept until there is room");
        shortage_.emplace(now, std::move(why));
    }
    shortage_->lost_rows += writer_.drop_excess();
    return {};
}

void NodeSampler::tell_of_room(core::Duration now) {
    const std::string what = fmt::format("nothing could be written for {:.0f} s, and {} rows were lost",
                                         core::to_seconds(now - shortage_->since), shortage_->lost_rows);
    core::tell("there is room again: {}", what);
    add_event({.kind = "spool_full",
               .severity = shortage_->lost_rows > 0 ? "warning" : "info",
               .code = stream::error_number(shortage_->why),
               .value = static_cast<double>(shortage_->lost_rows),
               .message = fmt::format("{}: {}", what, core::in_one_line(shortage_->why))});
    shortage_.reset();
}

void NodeSampler::sample_last() {
    sample(std::max<int64_t>(1, due_at(clock_.monotonic())));
}

// One that was stopped or starved owes every sample that came due meanwhile but takes one.
int64_t NodeSampler::due_at(core::Duration now) const {
    return now < next_sample_ ? 0 : (now - next_sample_) / options_.interval + 1;
}

void NodeSampler::sample(int64_t due) {
    const core::Time now = clock_.now();
    std::vector<const schema::Table*> failed;
    if (kernel_log_)
        kernel_log_->tell_new([this](const stream::Event& event) { add_event(event); }, !devices_.empty());
    collect::collect_all(collectors_, {now, options_.node}, batches_,
                         [&](const schema::Table& table, const core::Error& error) {
                             failed.push_back(&table);
                             report_failure(table, error);
                         });
    for (size_t i = 0; i < batches_.size(); ++i) {
        stream::Batch& batch = batches_[i];
        const bool taken = std::ranges::find(failed, &batch.table()) == failed.end();
        count(i, now, due, taken);
        writer_.rows(batch.table()).append(batch);
        batch.clear();
    }
}

// What came due before it was known that it is expected counts as soon as that is known.
void NodeSampler::count(size_t collector, core::Time now, int64_t due, bool taken) {
    owed_[collector] += due;
    if (collectors_[collector]->is_expected())
        writer_.count(batches_[collector].table(), now, std::exchange(owed_[collector], 0), taken);
}

Result<> NodeSampler::finish(core::Time at) {
    return writer_.finish(at);
}

void NodeSampler::add_event(const stream::Event& event) {
    stream::Event told = event;
    if (told.source == stream::kRecorderSource) told.source = teller(options_.source);
    stream::add_event(writer_.rows(schema::kEvent), clock_.now(), options_.node, told);
}

// Once per table: a source that is not there stays away, and the coverage tells how long.
void NodeSampler::report_failure(const schema::Table& table, const core::Error& error) {
    if (std::ranges::find(reported_, &table) != reported_.end()) return;
    reported_.push_back(&table);
    add_event({.kind = "collector_failed",
               .severity = "warning",
               .subject = std::string(table.name),
               .code = stream::error_number(error),
               .message = fmt::format("table {}: {}", table.name, core::in_one_line(error))});
}

void NodeSampler::add_device(const gpu::Device& device, std::string_view source) {
    stream::Batch& rows = writer_.rows(kGpuDevice);
    rows.add_row(clock_.now(), options_.node);
    rows.set(column(kGpuDevice, "device"), device.uuid);
    rows.set(column(kGpuDevice, "index"), device.index);
    if (!device.name.empty()) rows.set(column(kGpuDevice, "name"), device.name);
    if (!device.mig_profile.empty()) rows.set(column(kGpuDevice, "mig_profile"), device.mig_profile);
    rows.set(column(kGpuDevice, "weight"), device.weight);
    if (!device.driver.empty()) rows.set(column(kGpuDevice, "driver"), device.driver);
    rows.set(column(kGpuDevice, "source"), source);
    devices_.push_back(device);
    if (options_.on_device) options_.on_device(device);
}

}  // namespace belay::observe
