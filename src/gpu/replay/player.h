// Which row of a trace holds now.
#pragma once

#include "gpu/trace.h"

#include <chrono>
#include <optional>
#include <span>
#include <vector>

namespace belay::gpu::replay {

// Plays in real time times `speed`, or stands where it was put. After its end the last rows hold; before a
// device's first row there is none.
class Player {
  public:
    explicit Player(Trace trace, double speed = 1);
    Player(const Player&) = delete;
    Player& operator=(const Player&) = delete;

    const Trace& trace() const { return trace_; }
    double now() const;
    // Stops the clock at this time.
    void stand_at(double seconds) { standing_ = seconds; }

    // Null before the first row.
    const Reading* at(size_t device, double seconds) const;
    // The mean of a field over ]from, to]: of the rows that end there, weighted with their time; of the row
    // that covers it where it is too short to hold one. kMissing if there is none, or one of them lacks it.
    double mean(size_t device, size_t field, double from, double to) const;
    // XIDs not taken yet.
    std::optional<TraceXid> take_xid();

  private:
    struct Timed {
        double seconds;
        double length;
        const Reading* reading;
    };

    Trace trace_;
    std::vector<std::vector<Timed>> rows_;  // by device
    double speed_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::optional<double> standing_;
    size_t next_xid_ = 0;
};

}  // namespace belay::gpu::replay
