#include "record/import/record_builder.h"

#include "core/new_file.h"
#include "core/user.h"
#include "core/utf8.h"
#include "record/archive/archive.h"
#include "record/new_segment.h"
#include "schema/tables/allocation.h"
#include "schema/tables/coverage.h"
#include "schema/tables/event.h"
#include "schema/tables/gpu_device.h"
#include "stream/event.h"

#include <algorithm>
#include <cmath>
#include <fcntl.h>
#include <unistd.h>

namespace belay::record {

using core::bad_input;
using core::Result;
namespace fs = std::filesystem;

namespace {

// Rows of a block of the segment.
constexpr size_t kBlockRows = 16'384;

constexpr std::string_view kParts = "parts";  // of the table `gpu`, until they are put together

Result<fs::path> free_place(const fs::path& record) {
    std::error_code error;
    if (record.empty()) return bad_input("the record's directory is an empty name");
    if (core::to_valid_utf8(record.string()) != record.string())
        return bad_input("{}: not UTF-8, as the names of records must be", core::printable(record.string()));
    fs::path place = fs::absolute(record, error).lexically_normal();
    if (place.filename().empty()) place = place.parent_path();  // "r/"
    const auto not_seen = [&] { return core::errno_error(error, "cannot look at " + record.string()); };
    if (error) return not_seen();
    const fs::file_status there = fs::symlink_status(place, error);
    if (there.type() == fs::file_type::not_found) return place;
    if (error) return not_seen();
    const bool is_directory = fs::is_directory(place, error);  // a link may lead to one
    if (error && error != std::errc::no_such_file_or_directory) return not_seen();
    if (!is_directory)
        return bad_input("{} is not a directory", record.string())
            .hint("name a directory that does not exist yet");
    const bool is_empty = fs::is_empty(place, error);
    if (error) return not_seen();
    if (!is_empty)
        return bad_input("{} is not empty", record.string())
            .hint("name a directory that does not exist yet; an import never adds to a record");
    return place;
}

}  // namespace

std::string device_label(std::string_view node, int64_t gpu) {
    return fmt::format("{}:gpu{}", node, gpu);
}

std::vector<HeldSpan> merge_spans(std::vector<HeldSpan> spans) {
    std::ranges::sort(spans, {}, &HeldSpan::start);
    std::vector<HeldSpan> merged;
    for (HeldSpan& span : spans) {
        if (merged.empty() || span.start > merged.back().end) {
            merged.push_back(std::move(span));
            continue;
        }
        HeldSpan& last = merged.back();
        last.end = std::max(last.end, span.end);
        if (last.step != span.step) last.step.clear();
        last.received += span.received;
        last.spacing = std::max(last.spacing, span.spacing);
    }
    return merged;
}

int64_t samples_due(const HeldSpan& span, core::Duration interval) {
    const core::Duration spacing = span.spacing.count() > 0 ? span.spacing : interval;
    if (spacing.count() <= 0 || span.end <= span.start) return 0;
    return std::llround(core::to_seconds(span.end - span.start) / core::to_seconds(spacing));
}

Result<RecordBuilder::Workplace> RecordBuilder::Workplace::make(const fs::path& place) {
    BELAY_CHECK(core::make_directories(place.parent_path()));
    BELAY_TRY(parent,
              core::Directory::open(place.parent_path()));  // of the same file system, to be moved there
    const std::string place_name = place.filename();
    BELAY_TRY(there, parent.facts(place_name));
    if (there && (there->owner != geteuid() || there->type != core::FileType::kDirectory))
        return bad_input("{} is a {} of {}", place.string(), there->type_name, core::user_name(there->owner))
            .hint("name a directory that does not exist yet");
    BELAY_TRY(name, core::random_name(fmt::format(".{}.importing-", place_name)));
    BELAY_TRY(is_new, parent.make_directory(name));
    if (!is_new) return core::system_error("{} exists already", parent.path_of(name).string());
    auto record = parent.enter(name);
    if (!record) {
        unlinkat(parent.fd(), name.c_str(),
                 AT_REMOVEDIR);  // by remove_directory a descriptor would be needed
        return std::unexpected(std::move(record.error()));
    }
    return Workplace(std::move(parent), std::move(*record), std::move(name), place_name);
}

RecordBuilder::Workplace::Workplace(Workplace&& other) noexcept
    : parent_(std::move(other.parent_)),
      record_(std::move(other.record_)),
      name_(std::exchange(other.name_, {})),
      place_(std::move(other.place_)) {}

RecordBuilder::Workplace::~Workplace() {
    std::error_code ignored;
    if (!name_.empty()) fs::remove_all(parent_.path_of(name_), ignored);
}

Result<> RecordBuilder::Workplace::move_to_place() {
    BELAY_CHECK(record_.remove_directory(kParts));
    BELAY_CHECK(core::with_context(parent_.rename(name_, place_), "cannot move the record to its place"));
    name_.clear();
    return parent_.sync();
}

RecordBuilder::~RecordBuilder() = default;

Result<RecordBuilder> RecordBuilder::create(const ImportOptions& options, Manifest manifest) {
    BELAY_TRY(place, free_place(options.record));
    BELAY_TRY(workplace, Workplace::make(place));
    manifest.created = options.now;
    manifest.flush = manifest.interval;
    manifest.software["belay"] = options.version;
    const core::Directory& record = workplace.record();
    BELAY_CHECK(begin_record(record.path(), manifest));
    stream::Session session{.node = manifest.job.nodes.empty() ? "" : manifest.job.nodes.front(),
                            .periodic = false,
                            .start = manifest.job.start.value_or(options.now),
                            .interval = manifest.interval,
                            .flush = manifest.flush,
                            .version = options.version};
    BELAY_TRY(segment, new_segment(record, "import.seg", session));
    BELAY_CHECK(record.make_directory(kParts));
    BELAY_TRY(parts, record.enter(kParts));
    BELAY_TRY(table, LongTable::create(schema::kGpu, std::move(parts)));
    return RecordBuilder(std::move(workplace), std::move(manifest), std::move(segment), std::move(table),
                         options);
}

stream::Batch& RecordBuilder::rows(const schema::Table& table) {
    return batches_.try_emplace(&table, table).first->second;
}

Result<> RecordBuilder::write_samples() {
    BELAY_CHECK(table_.add(samples_));
    samples_.clear();
    return {};
}

Result<> RecordBuilder::write_rows() {
    for (const auto& [table, batch] : batches_)
        for (size_t first = 0; first < batch.rows(); first += kBlockRows)
            BELAY_CHECK(segment_->append(batch.slice(first, std::min(kBlockRows, batch.rows() - first))));
    BELAY_CHECK(segment_->finish(manifest_.job.end.value_or(now_)));
    segment_.reset();
    return {};
}

// The record was sealed without a sample.
Result<> RecordBuilder::replace_samples() {
    const core::Directory& record = workplace_.record();
    BELAY_CHECK(table_.replace(record, fmt::format("{}/{}.parquet", kTablesName, schema::kGpu.name)));
    BELAY_TRY(manifest, read_manifest(record));
    manifest.tables[std::string(schema::kGpu.name)] = {.rows = table_.rows()};
    return replace_manifest(record, manifest);
}

void RecordBuilder::add_allocation(const std::string& node, const std::string& device, const HeldSpan& span) {
    stream::Batch& allocation = rows(schema::kAllocation);
    allocation.add_row(span.start, node);
    allocation.set(column(schema::kAllocation, "job_id"), manifest_.job.id);
    if (!span.step.empty()) allocation.set(column(schema::kAllocation, "step_id"), span.step);
    if (!device.empty()) allocation.set(column(schema::kAllocation, "device"), device);
    allocation.set(column(schema::kAllocation, "t0"), span.start);
    allocation.set(column(schema::kAllocation, "t1"), span.end);
}

void RecordBuilder::add_coverage(const std::string& node, const HeldSpan& span) {
    int64_t due = samples_due(span, manifest_.interval);
    if (due == 0) return;
    stream::Batch& coverage = rows(schema::kCoverage);
    coverage.add_row(span.end, node);
    coverage.set(column(schema::kCoverage, "table_name"), schema::kGpu.name);
    coverage.set(column(schema::kCoverage, "start"), span.start);
    coverage.set(column(schema::kCoverage, "interval_seconds"), core::to_seconds(manifest_.interval));
    coverage.set(column(schema::kCoverage, "expected"), due);
    // One more than the clock says is the rounding of the span's ends.
    coverage.set(column(schema::kCoverage, "received"), std::min(due, span.received));
}

void RecordBuilder::add_held(const HeldNode& node, const std::string& source, bool has_samples) {
    for (const HeldSpan& span : node.spans) add_allocation(node.name, "", span);
    for (const auto& [gpu, spans] : node.gpus) {
        if (spans.empty()) continue;
        std::string device = device_label(node.name, gpu);
        for (const HeldSpan& span : spans) {
            add_allocation(node.name, device, span);
            if (has_samples) add_coverage(node.name, span);
        }
        stream::Batch& devices = rows(schema::kGpuDevice);
        devices.add_row(spans.front().start, node.name);
        devices.set(column(schema::kGpuDevice, "device"), device);
        devices.set(column(schema::kGpuDevice, "index"), gpu);
        if (!model_.empty()) devices.set(column(schema::kGpuDevice, "name"), model_);
        devices.set(column(schema::kGpuDevice, "weight"), 1.0);
        devices.set(column(schema::kGpuDevice, "source"), source);
    }
}

Result<> RecordBuilder::finish(const std::vector<Defect>& defects) {
    stream::Batch& events = rows(schema::kEvent);
    std::string first_node = manifest_.job.nodes.empty() ? "" : manifest_.job.nodes.front();
    for (const Defect& defect : defects) {
        stream::add_event(events, manifest_.job.start.value_or(now_),
                          defect.node.empty() ? first_node : defect.node,
                          {.kind = "import",
                           .severity = defect.is_warning ? "warning" : "info",
                           .source = "import",
                           .message = defect.sentence()});
    }
    BELAY_CHECK(write_samples());
    BELAY_CHECK(write_rows());
    BELAY_CHECK(seal(workplace_.record().path(), now_));
    BELAY_CHECK(replace_samples());
    return workplace_.move_to_place();
}

}  // namespace belay::record
