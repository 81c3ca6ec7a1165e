// A stream with what has come of it and is not yet used; all that goes over it is counted.
#pragma once

#include "core/time.h"
#include "http/input_buffer.h"
#include "http/metrics.h"
#include "http/server/io.h"
#include "http/task.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace belay::http {

class Wire {
  public:
    Wire(std::shared_ptr<Stream> stream, Meters& meters) : stream_(std::move(stream)), meters_(meters) {}

    Task<IoResult> handshake(core::Duration longest);
    // At most so many bytes into `input`.
    Task<IoResult> read(size_t most, core::Duration longest);
    Task<IoResult> write(std::string_view bytes, core::Duration longest);
    Task<IoResult> pause(core::Duration longest);
    // After the last response: says that nothing more comes and, where the client may still be sending, takes that for a moment,
    // since closing at once would reset the connection and take the response from a client that has not read it.
    Task<IoResult> say_goodbye(bool more_may_come);

    Stream& stream() { return *stream_; }
    const std::shared_ptr<Stream>& shared_stream() const { return stream_; }
    uint64_t sent() const { return sent_; }

    InputBuffer input;

  private:
    IoResult count(IoResult result);
    Task<IoResult> discard();

    std::shared_ptr<Stream> stream_;
    Meters& meters_;
    uint64_t sent_ = 0;
};

}  // namespace belay::http
