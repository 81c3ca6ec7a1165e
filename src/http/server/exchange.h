// One request and its response.
#pragma once

#include "http/head.h"
#include "http/server/body_reader.h"
#include "http/server/response_writer.h"
#include "http/server/service.h"
#include "http/server/wire.h"

#include <optional>

namespace belay::http {

class Exchange {
  public:
    Exchange(Service& service, Wire& wire);

    // Answers what was read. False: the connection ends.
    Task<bool> run(Checked<Head> head);

  private:
    // What is decided before anything of a body is read.
    Checked<Match> admit();
    Task<Response> dispatch();
    // Whatever a handler does, a response that can be sent.
    Task<Response> answer();
    Task<bool> respond(Response response);
    bool may_go_on() const;
    void account(int status, bool whole) const;

    Service& service_;
    Wire& wire_;
    const core::Time begun_;
    const core::Duration begun_monotonic_;
    const uint64_t sent_before_;
    std::optional<Head> head_;  // none where it could not be understood
    std::optional<Match> match_;
    Request request_;
    std::optional<BodyReader> body_;
};

}  // namespace belay::http
