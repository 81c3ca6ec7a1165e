// How far a counter went from one reading to the next: the one rule of that, on which rates and increases
// (spans.h) and the energy of GPUs (score/) stand, and its twin for SQL.
//
// The rule. Between two readings a counter went as far as they differ, however much time lies between and
// whatever was not read in it: of an increase a gap loses nothing. Where it went back, it began anew in
// between, and how far it went in that step is not known; it goes on from there. A counter that wrapped went
// back, too: ours are of 64 bits, or of seconds and joules, and do not wrap, and of others nobody can tell
// which of the two it was. One that may go back a little without a new beginning (iowait) did not go on in
// that step. From a reading alone, or where one is missing, nothing is known.
#pragma once

#include "schema/schema.h"

#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

namespace belay::record {

// NaN where it is not known.
inline double increase(double before, double now, schema::Sampled kind = schema::Sampled::kCounter) {
    if (now < before)
        return kind == schema::Sampled::kUnsteadyCounter ? 0 : std::numeric_limits<double>::quiet_NaN();
    return now - before;
}

// A counter that is read again and again; a missing reading is passed over.
class Counter {
  public:
    Counter() = default;
    explicit Counter(double reading) : last_(reading) {}  // 0 for one whose beginning is known

    // Since the last reading that was there; NaN where it is not known.
    double step(double reading, schema::Sampled kind = schema::Sampled::kCounter) {
        if (std::isnan(reading)) return reading;
        return increase(std::exchange(last_, reading), reading, kind);
    }

  private:
    double last_ = std::numeric_limits<double>::quiet_NaN();
};

// The same in SQL, for rules that filter a table of which few rows are read: increase(counter, thing, moment)
// of each row, where `thing` tells one counter from another: (node, device).
inline constexpr std::string_view kIncreaseMacro = R"(
    CREATE MACRO increase(counter, thing, moment) AS
        CASE WHEN counter >= lag(counter IGNORE NULLS) OVER (PARTITION BY thing ORDER BY moment)
             THEN counter - lag(counter IGNORE NULLS) OVER (PARTITION BY thing ORDER BY moment) END)";

}  // namespace belay::record
