// Keeps a courier at work, from the process that samples: starts it, starts it again when it ends, takes what it tells.
// Nothing here waits but finish().
#pragma once

#include "agent/courier/courier.h"
#include "agent/courier/courier_link.h"
#include "agent/courier/note.h"
#include "core/time.h"
#include "core/work.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace belay::agent {

class CourierKeeper {
  public:
    // What holds now; place and restarts are filled in here.
    using Situation = std::function<CourierStart()>;
    // What the process does.
    using Body = std::function<core::Result<>(const CourierOptions&, const CourierStart&, CourierEnd&)>;

    // The options and the clock must live longer. Where no courier is wanted, nothing is ever started.
    CourierKeeper(
        const CourierOptions& options, Situation situation, core::Clock& clock = core::system_clock(),
        Body body = [](const CourierOptions& options, const CourierStart& start, CourierEnd& link) {
            return run_courier(options, start, link);
        });

    // Starts a courier where there is none and it is time for one. Answers with what was told.
    std::vector<Note> look();
    // The stream has ended: the courier sends what is left, and ends, or is ended.
    std::vector<Note> finish();

    uint64_t restarts() const { return starts_ > 0 ? starts_ - 1 : 0; }

  private:
    core::Result<> start();
    void take_notes(std::vector<Note>& notes);
    Note end_of(const core::Error& error);

    const CourierOptions& options_;
    Situation situation_;
    core::Clock& clock_;
    Body body_;
    std::optional<SamplerEnd> link_;
    std::optional<core::Work> work_;
    std::optional<uint64_t> read_to_;  // where the last courier was
    uint64_t starts_ = 0;
    int failures_ = 0;          // one soon after the other
    core::Duration started_{};  // monotonic, like the next
    core::Duration next_start_{};
};

}  // namespace belay::agent
