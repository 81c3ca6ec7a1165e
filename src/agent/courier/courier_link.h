// The socket pair between the courier and the process that samples: notes go one way, the end the other.
//
//   BELAY_TRY(link, CourierLink::create());
//   courier: CourierEnd end(std::move(link.courier));  end.add(note);  … if (!end.wait(1s)) return;
//   sampler: SamplerEnd end(std::move(link.sampler));  for (Note& note : end.take()) …;  end.say_end();
//
// Neither side ever waits for the other: what does not fit into the socket waits in the courier.
#pragma once

#include "agent/courier/note.h"
#include "core/error.h"
#include "core/file.h"
#include "core/time.h"

#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace belay::agent {

struct CourierLink {
    core::Descriptor sampler, courier;
    // Errors: kSystem.
    static core::Result<CourierLink> create();
};

class CourierEnd {
  public:
    explicit CourierEnd(core::Descriptor socket) : socket_(std::move(socket)) {}

    // From any thread. Beyond a thousand the oldest go; of kReadTo only the last one counts.
    void add(Note note);
    // Sends what waits, as much as there is room for. From one thread.
    void flush();
    // Flushes, and waits that long. False where the other side has ended, or said that this is the end.
    bool wait(core::Duration time);

  private:
    std::optional<Note> next() const;
    void drop(const Note& sent);

    core::Descriptor socket_;
    mutable std::mutex mutex_;
    std::deque<Note> notes_;
    std::optional<Note> read_to_;
};

class SamplerEnd {
  public:
    explicit SamplerEnd(core::Descriptor socket) : socket_(std::move(socket)) {}

    // What has come so far; what is not a note is left out.
    std::vector<Note> take();
    // No more is read of the stream: the courier sends what it has, and ends.
    void say_end();

  private:
    core::Descriptor socket_;
};

}  // namespace belay::agent
