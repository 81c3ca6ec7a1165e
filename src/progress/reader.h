// Reads the output of a training program as it comes and hands on what it tells about progress.
//
//   BELAY_TRY(patterns, compile_patterns(expressions));
//   ProgressReader reader(patterns, [](const ProgressEvent& event) { ... });
//   reader.feed(bytes);   // as often as bytes arrive
//   reader.finish();      // at the end of the stream
//
// One reader for each stream (standard output, standard error). Not thread-safe.
#pragma once

#include "core/time.h"
#include "progress/lines.h"
#include "progress/pattern.h"
#include "progress/program_clock.h"
#include "progress/progress_event.h"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace belay::progress {

using EventHandler = std::function<void(const ProgressEvent& event)>;

struct ReaderOptions {
    int64_t lines_per_second = kDefaultLinesPerSecond;  // what comes beyond is not looked at
    core::Clock* clock = &core::system_clock();
};

class ProgressReader {
  public:
    ProgressReader(std::vector<Pattern> patterns, EventHandler handler, ReaderOptions options = {});

    // A line is an MLLOG event, or else what the first pattern that matches makes of it. The handler is
    // called from here. Events do not depend on how the stream is cut into pieces (but for the rate limit,
    // which goes by the clock). An event whose stated time lies before those that were stated already has
    // none.
    void feed(std::string_view bytes);
    // Takes a last line without end.
    void finish();

    struct Counts {
        int64_t lines = 0;        // looked at
        int64_t events = 0;       // handed on
        int64_t cut = 0;          // lines longer than kLongestLine
        int64_t refused = 0;      // lines beyond lines_per_second
        int64_t malformed = 0;    // lines with the MLLOG token that are not MLLOG events
        int64_t clock_jumps = 0;  // times that the program printed went back
        core::Duration longest_clock_jump{};
    };
    Counts counts() const;

  private:
    void read_line(std::string_view line);
    bool read_mllog(std::string_view line);
    void match_patterns(std::string_view line);
    void hand_on(ProgressEvent event);

    std::vector<Pattern> patterns_;
    EventHandler handler_;
    core::Clock* clock_;
    core::Duration now_{};
    LineSplitter splitter_;
    RateLimit limit_;
    ProgramClock program_clock_;
    Counts counts_;
};

}  // namespace belay::progress
