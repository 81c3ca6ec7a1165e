#include "record/import/gssr_plan.h"

#include "core/units.h"
#include "record/import/seconds.h"

#include <algorithm>

namespace belay::record {

using core::Duration;
using core::Time;

namespace {

// A recorder writes 40 rows at a time; the ends of nodes that lost none differ by less than this.
constexpr Duration kUsualEnds = std::chrono::seconds(5);

std::string step_place(const PlannedStep& step) {
    return fmt::format("step_{}", step.number);
}

double longest(const PlannedStep& step) {
    double length = 0;
    for (const PlannedFile& file : step.files)
        if (!file.survey.from_1970) length = std::max(length, file.survey.last);
    return length;
}

bool counts_from_1970(const PlannedStep& step) {
    return std::ranges::any_of(step.files, [](const PlannedFile& file) { return file.survey.from_1970; });
}

// Timestamp 0 of a step whose metadata has no date.
Time undated_origin(const std::vector<PlannedStep>& steps, size_t which) {
    if (which > 0) return steps[which - 1].end;
    for (const PlannedStep& later : steps)
        if (later.meta && later.meta->date) return *later.meta->date - duration_of(longest(steps[which]));
    return Time();
}

// The file whose onset the others are moved to: the one whose start is known, or else the first with an
// onset.
const PlannedFile* anchor_of(const PlannedStep& step) {
    for (const PlannedFile& file : step.files)
        if (file.survey.has_rows && !file.survey.from_1970 && file.survey.onset) return &file;
    return nullptr;
}

void align(PlannedStep& step, Time origin, std::vector<Defect>& defects) {
    const PlannedFile* anchor = anchor_of(step);
    Duration farthest{};
    size_t moved = 0;
    for (PlannedFile& file : step.files) {
        file.origin = file.survey.from_1970 ? Time() : origin;
        if (file.survey.from_1970 || !file.survey.onset || anchor == nullptr) continue;
        Duration move = duration_of(*anchor->survey.onset - *file.survey.onset);
        if (move == Duration()) continue;
        Duration distance = std::chrono::abs(move);
        if (distance > kFarthestMove) {
            defects.push_back(
                {.kind = "far_apart",
                 .node = node_of(file.file),
                 .place = step_place(step),
                 .text =
                     fmt::format("activity of {} begins {} {} that of {}: too far apart for a difference of "
                                 "clocks, so its times are left as if both recorders had begun together",
                                 node_of(file.file), core::to_text(distance),
                                 move < Duration() ? "after" : "before", node_of(anchor->file))});
            continue;
        }
        file.origin += move;
        farthest = std::max(farthest, distance);
        ++moved;
    }
    if (moved > 0)
        defects.push_back(
            {.kind = "moved",
             .is_warning = false,
             .place = step_place(step),
             .text = fmt::format("recorders count from their own start: {} of {} nodes were moved by "
                                 "up to {}, so that activity begins together; times of different "
                                 "nodes are uncertain by as much",
                                 moved, step.files.size(), core::to_text(farthest))});
}

// Start and end of a step and of its files, whose origins are known.
void bound(PlannedStep& step, Time origin, Duration spacing, std::vector<Defect>& defects) {
    std::optional<Time> start;
    std::optional<Time> end;
    for (PlannedFile& file : step.files) {
        if (!file.survey.has_rows) continue;
        file.start =
            file.origin + (file.survey.from_1970 ? duration_of(file.survey.first) - spacing : Duration());
        file.end = file.origin + duration_of(file.survey.last);
        start = start ? std::min(*start, file.start) : file.start;
        end = end ? std::max(*end, file.end) : file.end;
    }
    step.start = start.value_or(origin);
    step.end = end.value_or(step.start);
    for (PlannedFile& file : step.files) {
        if (!file.survey.has_rows) {
            file.start = step.start;
            file.end = step.end;
            continue;
        }
        Duration short_of = step.end - file.end;
        if (short_of <= std::max(kUsualEnds, 3 * spacing)) continue;
        defects.push_back(
            {.kind = "ends_early",
             .node = node_of(file.file),
             .place = fmt::format("step_{}/{}.csv", step.number, node_of(file.file)),
             .text = fmt::format("the rows end {} before those of other nodes: missing until then, "
                                 "since a recorder that is killed loses its last rows",
                                 core::format_duration(short_of))});
        file.end = step.end;
    }
}

}  // namespace

Duration spacing_of(const std::vector<PlannedStep>& steps) {
    std::map<int64_t, int64_t> spacings;
    for (const PlannedStep& step : steps)
        for (const PlannedFile& file : step.files)
            for (auto [spacing, count] : file.survey.spacings) spacings[spacing] += count;
    auto most = std::ranges::max_element(spacings, {}, [](const auto& entry) { return entry.second; });
    if (most == spacings.end() || most->first == 0) return std::chrono::seconds(1);
    return std::chrono::milliseconds(most->first);
}

// When the first file began of those whose times count from 1970.
Time first_from_1970(const PlannedStep& step, Duration spacing) {
    std::optional<double> first;
    for (const PlannedFile& file : step.files)
        if (file.survey.has_rows && file.survey.from_1970)
            first = first ? std::min(*first, file.survey.first) : file.survey.first;
    return first ? Time() + duration_of(*first) - spacing : Time();
}

void place_in_time(std::vector<PlannedStep>& steps, Duration spacing, std::vector<Defect>& defects) {
    for (size_t i = 0; i < steps.size(); ++i) {
        PlannedStep& step = steps[i];
        bool dated = step.meta && step.meta->date;
        Time origin = dated                    ? *step.meta->date
                      : counts_from_1970(step) ? first_from_1970(step, spacing)
                                               : undated_origin(steps, i);
        bool has_rows =
            std::ranges::any_of(step.files, [](const PlannedFile& file) { return file.survey.has_rows; });
        if (!dated && has_rows && !counts_from_1970(step))
            defects.push_back({.kind = "no_date",
                               .place = step_place(step),
                               .text = fmt::format("no date says when it began: its times count from {}",
                                                   core::format_time(origin))});
        align(step, origin, defects);
        bound(step, origin, spacing, defects);
    }
}

}  // namespace belay::record
