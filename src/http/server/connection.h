// One connection: request after request until one side ends it.
#pragma once

#include "http/head.h"
#include "http/server/service.h"
#include "http/server/wire.h"

#include <functional>
#include <memory>
#include <optional>

namespace belay::http {

class Connection {
  public:
    Connection(Service& service, std::shared_ptr<Stream> stream);

    // All of these are called where the stream's scheduler runs. `on_end` is called there too, once; the connection must live
    // until then.
    void start(std::function<void()> on_end);
    // The server stops: no further request. What is in hand goes on; events end.
    void finish();
    void cut();

    const std::string& peer() const { return wire_.shared_stream()->peer(); }
    std::shared_ptr<Scheduler> scheduler() const { return wire_.shared_stream()->scheduler(); }

  private:
    Task<bool> serve();
    // Nothing where the connection ends without a further request.
    Task<Checked<std::optional<Head>>> read_head();
    Checked<std::optional<Head>> head_that_has_come(HeadScanner& scanner);

    Service& service_;
    Wire wire_;
    bool waits_for_request_ = false;
    bool first_ = true;
    std::optional<Task<bool>> task_;
};

}  // namespace belay::http
