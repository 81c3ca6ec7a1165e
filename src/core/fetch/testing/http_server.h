// An HTTP server for tests, on a free port of 127.0.0.1: its answers are a function, and it can break off,
// stall and close as real ones do.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace belay::core::fetch::testing {

struct ServedRequest {
    std::string method;
    std::string target;                          // "/v2/?a=b"
    std::map<std::string, std::string> headers;  // names in lower case
    std::string header(const std::string& lower_case_name) const {
        auto found = headers.find(lower_case_name);
        return found == headers.end() ? "" : found->second;
    }
};

struct ServedResponse {
    int status = 200;
    std::vector<std::pair<std::string, std::string>> headers = {};
    std::string body = {};
    // Bytes of the body after which the connection is closed; nothing: all of it is sent.
    int64_t close_after = -1;
    bool no_answer = false;  // closes without a byte
};

class HttpServer {
  public:
    // Called from several threads, one request of a connection after the other.
    using Handler = std::function<ServedResponse(const ServedRequest&)>;
    explicit HttpServer(Handler handler);
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;
    ~HttpServer();

    uint16_t port() const;
    std::string authority() const { return "127.0.0.1:" + std::to_string(port()); }
    std::string url(const std::string& target) const { return "http://" + authority() + target; }
    // All requests so far.
    std::vector<ServedRequest> requests() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace belay::core::fetch::testing
