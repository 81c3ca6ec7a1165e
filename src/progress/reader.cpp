#include "progress/reader.h"

#include "progress/mllog.h"
#include "progress/mllog_rows.h"
#include "progress/plain_line.h"

namespace belay::progress {

ProgressReader::ProgressReader(std::vector<Pattern> patterns, EventHandler handler, ReaderOptions options)
    : patterns_(std::move(patterns)),
      handler_(std::move(handler)),
      clock_(options.clock),
      limit_(options.lines_per_second) {}

void ProgressReader::feed(std::string_view bytes) {
    now_ = clock_->monotonic();
    splitter_.feed(bytes, [this](std::string_view line) { read_line(line); });
}

void ProgressReader::finish() {
    now_ = clock_->monotonic();
    splitter_.finish([this](std::string_view line) { read_line(line); });
}

ProgressReader::Counts ProgressReader::counts() const {
    Counts counts = counts_;
    counts.cut = splitter_.lines_cut();
    counts.refused = limit_.refused();
    counts.clock_jumps = program_clock_.jumps();
    counts.longest_clock_jump = program_clock_.longest_jump();
    return counts;
}

void ProgressReader::read_line(std::string_view line) {
    if (line.empty() || !limit_.admit(now_)) return;
    ++counts_.lines;
    if (read_mllog(line)) return;
    program_clock_.read(line, clock_->now());
    if (!patterns_.empty()) match_patterns(line);
}

// True if the line is an MLLOG event.
bool ProgressReader::read_mllog(std::string_view line) {
    core::Result<std::optional<MllogEvent>> logged = parse_mllog_line(line);
    if (!logged) ++counts_.malformed;
    if (!logged || !*logged) return false;
    std::optional<ProgressEvent> event = progress_of(**logged);
    if (event) hand_on(*event);
    return event.has_value();
}

// Launchers' labels are no part of what the program printed. But "12: loss 0.5" may be the program's own, so
// what matches only with the label is taken too, provided that it says more than the label.
void ProgressReader::match_patterns(std::string_view line) {
    std::string plain = without_escapes(line);
    size_t label = label_length(plain);
    for (const Pattern& pattern : patterns_) {
        std::optional<ProgressEvent> event = pattern.match(std::string_view(plain).substr(label));
        if (!event && label > 0) event = pattern.match(plain, label);
        if (event) return hand_on(*event);
    }
}

void ProgressReader::hand_on(ProgressEvent event) {
    ++counts_.events;
    if (event.time && !program_clock_.believe(*event.time)) event.time.reset();
    handler_(event);
}

}  // namespace belay::progress
