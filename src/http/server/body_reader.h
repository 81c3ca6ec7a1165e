// The body of one request, from the wire to its handler.
#pragma once

#include "http/body_decoder.h"
#include "http/pace.h"
#include "http/request.h"
#include "http/server/server.h"
#include "http/server/wire.h"

#include <cstdint>
#include <optional>
#include <string>

namespace belay::http {

class BodyReader : public BodySource {
  public:
    // `limit`: bytes of the body. The limits and the wire must outlive it.
    BodyReader(Wire& wire, const Head& head, uint64_t limit, const Limits& limits);

    Task<core::Result<std::string>> next() override;
    // Errors: as next().
    Task<core::Result<std::string>> read_all();
    // Errors: 413, before anything was read.
    Checked<> check_announced();

    // What the client is told, whatever the handler says: the body was too long, or framed wrongly.
    const std::optional<Refusal>& refusal() const { return refusal_; }
    // The connection ended, or was closed because it was too slow.
    bool is_broken() const { return broken_; }
    bool is_done() const { return decoder_.is_done(); }
    uint64_t received() const { return decoder_.received(); }

    // Whether what the handler left is so little that it is read for the sake of the next request. Not where the client waits for
    // leave to send it: it may send its next request at once, or not.
    bool can_be_drained() const;
    // False where the connection cannot be used further.
    Task<bool> drain();

  private:
    Task<bool> fill();
    core::Failure fail(const Refusal& refusal);

    Wire& wire_;
    const Limits& limits_;
    BodyDecoder decoder_;
    Pace pace_;
    bool asks_for_leave_;  // Expect: 100-continue, not yet answered
    bool broken_ = false;
    std::optional<Refusal> refusal_;
    std::optional<core::Error> failure_;
};

}  // namespace belay::http
