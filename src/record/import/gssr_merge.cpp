#include "record/import/gssr_merge.h"

#include "record/import/seconds.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace belay::record {

using core::Duration;
using core::Time;

namespace {

constexpr size_t kSome = 4096;
// A recorder that is late by less than a second may skip one; what is longer than this is a gap.
constexpr Duration kLongestSkip = std::chrono::seconds(2);

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
            sources_.push_back({.step = &step, .file = &file, .latest = file.start, .before = file.start});
        }
    }
    node_.spans = merge_spans(std::move(spans));
}

core::Result<bool> GssrMerge::add_some(stream::Batch& rows) {
    std::optional<Time> last;  // rows of one time stay together
    for (size_t taken = 0; !next_.empty() && (taken < kSome || next_.top().first == last);) {
        auto [time, which] = next_.top();
        last = time;
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
        BELAY_CHECK(advance(which));
    }
    return !next_.empty();
}

core::Result<> GssrMerge::advance(size_t which) {
    Source& source = sources_[which];
    BELAY_TRY(row, source.rows->next());
    bytes_ += source.rows->bytes() - source.bytes;
    source.bytes = source.rows->bytes();
    if (!row) {
        close(source);
        return {};
    }
    source.row = *row;
    next_.emplace(time_of(*source.file, *row), which);
    return {};
}

void GssrMerge::close(Source& source) {
    std::ranges::move(source.rows->defects(), std::back_inserter(defects_));
    const auto tell = [&](std::string_view kind, bool is_warning, int64_t count,
                          fmt::format_string<std::string> text, std::string_view what = "row") {
        if (count > 0)
            defects_.push_back(
                {.kind = kind,
                 .is_warning = is_warning,
                 .node = node_.name,
                 .place = place_of(*source.step, *source.file),
                 .text = fmt::format(text, fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"))});
    };
    tell("told_twice", false, source.told_before,
         "left out {}: their times were recorded already (steps overlap)");
    tell("repeated_rows", false, source.repeated, "{} with the time of an earlier row of the file: left out");
    tell("out_of_order", true, source.out_of_order,
         "{} of a time before that of an earlier row of the file, left out: sort its lines by time to import "
         "all of them");
    tell("skipped_seconds", false, source.skips,
         "{} in which a second or two has no row of any GPU, because gssr-record sleeps before it reads: the "
         "next "
         "rows cover that time too, and their energy is spread over it",
         "place");
    source.rows.reset();
}

Duration GssrMerge::length_of(const Source& source, Time time) const {
    const Duration length = time - source.before;
    const bool is_known = time == source.latest && length > Duration() && length <= spacing_ + kLongestSkip;
    return is_known ? length : spacing_;
}

// A score takes a sample for half a spacing more than one, and not for longer.
bool GssrMerge::is_skip(Duration length) const {
    return 2 * length >= 3 * spacing_;
}

void GssrMerge::take(Source& source, Time time, stream::Batch& rows) {
    if (time > source.latest) {
        source.before = std::exchange(source.latest, time);
        if (is_skip(length_of(source, time))) ++source.skips;
    }
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
        ++(gpu.last_of != &source ? source.told_before
           : time == *gpu.last    ? source.repeated
                                  : source.out_of_order);
        return;
    }
    gpu.last_of = &source;
    const Duration length = length_of(source, time);
    check_energy(row, length);
    // Another step may have told of the beginning.
    const Time begin = gpu.last ? std::max(time - length, *gpu.last) : time - length;
    const double millijoules = row[GssrField::kEnergy].average;
    const double before = std::isnan(gpu.millijoules) ? 0 : gpu.millijoules;
    auto add = [&](Time at) {
        const double share = core::to_seconds(at - begin) / core::to_seconds(length);
        // What was used in windows that were not recorded is in no total.
        if (!std::isnan(millijoules)) gpu.millijoules = before + millijoules * share;
        count(gpu, spans, at);
        add_gpu_row(rows, at, node_.name, gpu.device, row,
                    std::isnan(millijoules) ? kMissing : gpu.millijoules / 1000);
    };
    if (is_skip(length))
        for (auto back = length / spacing_; back >= 1; --back)
            if (const Time at = time - back * spacing_; at > begin) add(at);
    add(time);
}

void GssrMerge::count(Gpu& gpu, std::vector<HeldSpan>& spans, Time time) {
    gpu.last = time;
    while (gpu.span + 1 < spans.size() && time > spans[gpu.span].end) ++gpu.span;
    ++spans[gpu.span].received;
}

void GssrMerge::check_energy(const GssrRow& row, Duration length) {
    const double millijoules = row[GssrField::kEnergy].average;
    const double watts = row[GssrField::kPower].average;
    if (std::isnan(millijoules) || std::isnan(watts)) return;
    energy_.counted_joules += millijoules / 1000;
    energy_.power_joules += watts * core::to_seconds(length);
}

}  // namespace belay::record
