// Uploads of pieces to belayd: POST /api/v1/blocks, with the token of a file.
//
//   BlockPost post({.server = "https://belayd", .token_file = "/etc/belay/agent.token"}, http_post({}), system_clock());
//   ShipAnswer answer = post.send(piece);
//
// The token is read for each upload, since it may be renewed. Not thread-safe.
#pragma once

#include "agent/courier/shipper.h"
#include "core/time.h"
#include "metrics/remote/transport.h"
#include "stream/cursor.h"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace belay::agent {

struct BlockPostOptions {
    std::string server;  // http or https, with or without a path
    std::filesystem::path token_file;
    std::string user_agent = "belay-agent";
};

// Where pieces are sent: the server's address with the path of the API.
std::string upload_url(std::string_view server);

// What an answer means for the piece behind which `sent` stands. `host` is for messages. What is neither belayd's
// acknowledgement nor its refusal is tried again: a proxy, or a belayd that is starting, must not lose blocks.
ShipAnswer judge_upload(const metrics::remote::PostAnswer& answer, const stream::Cursor& sent,
                        std::string_view host, core::Time now);

class BlockPost {
  public:
    BlockPost(BlockPostOptions options, metrics::remote::Transport transport, core::Clock& clock);

    ShipAnswer send(const stream::Piece& piece);
    // Whether what kept the last upload from being taken was the token, and the file holds another one now.
    bool has_other_token() const;
    const std::string& host() const { return host_; }

  private:
    BlockPostOptions options_;
    metrics::remote::Transport transport_;
    core::Clock& clock_;
    std::string host_;
    // What the file held, or "" where it could not be read, when belayd did not take the token.
    std::optional<std::string> refused_;
};

}  // namespace belay::agent
