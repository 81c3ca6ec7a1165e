#include "record/import/gssr_merge.h"

#include "record/import/seconds.h"

#include <algorithm>
#include <cmath>

namespace belay::record {

using core::Duration;
using core::Time;

namespace {

constexpr size_t kSome = 4096;

Time time_of(const PlannedFile& file, const GssrRow& row) {
    return file.origin + duration_of(row.timestamp);
}

std::string place_of(const PlannedStep& step, const PlannedFile& file) {
    return fmt::format("step_{}/{}", step.number, file.file.path.filename().string());
}

}  // namespace

GssrMerge::GssrMerge(const std::vector<PlannedStep>& steps, int64_t rank, Duration spacing,
                     std::span<const int64_t> gpus)
    : spacing_(spacing), wanted_(gpus.begin(), gpus.end()) {
    std::vector<HeldSpan> spans;
    for (const PlannedStep& step : steps) {
        for (const PlannedFile& file : step.files) {
            if (file.file.rank != rank) continue;
            node_.name = node_of(file.file);
            spans.push_back({.start = file.start, .end = file.end, .step = step.name()});
            next_.emplace(file.start, sources_.size());
            sources_.push_back({.step = &step, .file = &file});
        }
    }
    node_.spans = merge_spans(std::move(spans));
}

bool GssrMerge::add_some(Batch& rows) {
    for (size_t taken = 0; taken < kSome && !next_.empty();) {
        auto [time, which] = next_.top();
        next_.pop();
        Source& source = sources_[which];
        if (source.rows) {
            take(source, time, rows);
            ++taken;
        } else {
            // A job may have had hundreds of steps, one after the other: a file is opened when its time
            // comes.
            source.rows.emplace(source.file->file, place_of(*source.step, *source.file));
        }
        advance(which);
    }
    return !next_.empty();
}

void GssrMerge::advance(size_t which) {
    Source& source = sources_[which];
    std::optional<GssrRow> row = source.rows->next();
    bytes_ += source.rows->bytes() - source.bytes;
    source.bytes = source.rows->bytes();
    if (!row) return close(source);
    source.row = *row;
    next_.emplace(time_of(*source.file, *row), which);
}

void GssrMerge::close(Source& source) {
    std::ranges::move(source.rows->defects(), std::back_inserter(defects_));
    if (source.told_before > 0)
        defects_.push_back(
            {.is_warning = false,
             .node = node_.name,
             .place = place_of(*source.step, *source.file),
             .text = fmt::format("{} rows are of times that were recorded already, as steps that "
                                 "overlap do: left out",
                                 source.told_before)});
    source.rows.reset();
}

void GssrMerge::take(Source& source, Time time, Batch& rows) {
    const GssrRow& row = source.row;
    if (!wanted_.empty() && std::ranges::find(wanted_, row.gpu) == wanted_.end()) return;
    auto [found, is_new] = gpus_.try_emplace(row.gpu);
    Gpu& gpu = found->second;
    std::vector<HeldSpan>& spans = node_.gpus[row.gpu];
    if (is_new) {
        gpu.device = device_label(node_.name, row.gpu);
        spans = node_.spans;
    }
    if (gpu.last && time <= *gpu.last) {
        ++source.told_before;
        return;
    }
    double joules = energy_total(gpu, row, time);
    gpu.last = time;
    while (gpu.span + 1 < spans.size() && time > spans[gpu.span].end) ++gpu.span;
    ++spans[gpu.span].received;
    add_gpu_row(rows, time, node_.name, gpu.device, row, joules);
}

// What was used in windows that were not recorded is in no total.
double GssrMerge::energy_total(Gpu& gpu, const GssrRow& row, Time time) {
    double millijoules = row[GssrField::kEnergy].average;
    if (std::isnan(millijoules)) return kMissing;
    gpu.millijoules = std::isnan(gpu.millijoules) ? millijoules : gpu.millijoules + millijoules;
    Duration length = gpu.last && time - *gpu.last < 2 * spacing_ ? time - *gpu.last : spacing_;
    if (double watts = row[GssrField::kPower].average; !std::isnan(watts)) {
        energy_.counted_joules += millijoules / 1000;
        energy_.power_joules += watts * core::to_seconds(length);
    }
    return gpu.millijoules / 1000;
}

}  // namespace belay::record
