// A response onto the wire, at the pace of its reader.
#pragma once

#include "http/pace.h"
#include "http/response.h"
#include "http/server/service.h"
#include "http/server/wire.h"

#include <memory>
#include <string>
#include <string_view>

namespace belay::http {

class ResponseWriter {
  public:
    ResponseWriter(Wire& wire, Service& service);

    // `head` as encode_head makes it; without its body where the request was HEAD. False where the response did not come to its end:
    // the connection must be cut then. Throws what a generator throws.
    Task<bool> send(std::string head, Response& response, bool head_only);

  private:
    Task<bool> write(std::string_view bytes);
    Task<bool> send_text(std::string head, const std::string& text);
    Task<bool> send_file(std::string head, const FileBody& file);
    Task<bool> send_chunks(std::string head, const Generator& generator);
    Task<bool> send_events(std::string head, EventQueue& queue);

    Wire& wire_;
    Service& service_;
    Pace pace_;
};

}  // namespace belay::http
