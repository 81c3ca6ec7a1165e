#include "agent/courier/http_listener.h"

#include "agent/courier/microhttpd_api.h"
#include "core/program.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace belay::agent {

struct HttpListener::State {
    const MicrohttpdApi* api = nullptr;
    MHD_Daemon* daemon = nullptr;
    Answer answer;
    HttpLimits limits;
};

namespace {

// What is remembered of a request between the calls about it: one more than the bytes of its body so far.
uintptr_t& seen_of(void** request) {
    return *reinterpret_cast<uintptr_t*>(request);
}

struct Exchange {
    const MicrohttpdApi& api;
    MHD_Connection* connection;

    std::string_view header(const char* name) const {
        const char* value = api.lookup_connection_value(connection, MHD_HEADER_KIND, name);
        return value == nullptr ? std::string_view() : std::string_view(value);
    }

    bool has_body() const {
        const std::string_view length = header(MHD_HTTP_HEADER_CONTENT_LENGTH);
        return (!length.empty() && length != "0") || !header(MHD_HTTP_HEADER_TRANSFER_ENCODING).empty();
    }

    MHD_Result send(const ScrapeAnswer& answer, bool closes) const {
        // The library copies it, and does not change it.
        MHD_Response* response = api.create_response_from_buffer(
            answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
        if (response == nullptr) return MHD_NO;
        auto add = [&](const char* name, const char* value) {
            (void)api.add_response_header(response, name, value);
        };
        add(MHD_HTTP_HEADER_CONTENT_TYPE, answer.content_type.c_str());
        add(MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
        add(MHD_HTTP_HEADER_VARY, MHD_HTTP_HEADER_ACCEPT);
        add("X-Content-Type-Options", "nosniff");
        if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED)
            add(MHD_HTTP_HEADER_ALLOW, std::string(kScrapeMethods).c_str());
        if (closes) add(MHD_HTTP_HEADER_CONNECTION, "close");
        const MHD_Result queued =
            api.queue_response(connection, static_cast<unsigned>(answer.status), response);
        api.destroy_response(response);
        return queued;
    }
};

}  // namespace

core::Result<HttpListener> HttpListener::start(core::Descriptor socket, Answer answer,
                                               const HttpLimits& limits) {
    BELAY_TRY(api, microhttpd_api());
    auto state = std::make_unique<State>();
    state->api = api;
    state->answer = std::move(answer);
    state->limits = limits;
    // Called when the head of a request is there, then for each part of its body, then at its end.
    auto on_request = [](void* user, MHD_Connection* connection, const char* url, const char* method,
                         const char* /*version*/, const char* /*data*/, size_t* size, void** request) {
        const auto& listener = *static_cast<const State*>(user);
        const Exchange exchange{*listener.api, connection};
        uintptr_t& seen = seen_of(request);
        if (seen == 0) {  // one that is answered here is not followed by another on its connection
            seen = 1;
            return MHD_YES;
        }
        if (*size > 0) {
            seen += *size;
            *size = 0;
            return seen > listener.limits.most_body_bytes ? MHD_NO : MHD_YES;
        }
        // No exception goes through a library in C.
        const bool has_body = exchange.has_body();
        std::optional<ScrapeAnswer> answer;
        if (core::exception_of([&] {
                answer = listener.answer({.method = method,
                                          .path = url,
                                          .accept = exchange.header(MHD_HTTP_HEADER_ACCEPT),
                                          .has_body = has_body});
            }))
            return MHD_NO;
        return exchange.send(*answer, has_body);
    };
    const int fd = socket.get();
    state->daemon = api->start_daemon(
        MHD_USE_AUTO_INTERNAL_THREAD, 0, nullptr, nullptr, on_request, state.get(), MHD_OPTION_LISTEN_SOCKET,
        static_cast<MHD_socket>(fd), MHD_OPTION_CONNECTION_LIMIT, limits.connections,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, limits.connections_of_one, MHD_OPTION_CONNECTION_TIMEOUT,
        limits.silent_seconds, MHD_OPTION_CONNECTION_MEMORY_LIMIT, limits.head_bytes, MHD_OPTION_END);
    if (state->daemon == nullptr) return core::system_error("libmicrohttpd does not start to listen");
    (void)socket.release();  // the library closes it
    return HttpListener(std::move(state));
}

HttpListener::HttpListener(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpListener::HttpListener(HttpListener&&) noexcept = default;
HttpListener::~HttpListener() {
    if (state_) state_->api->stop_daemon(state_->daemon);
}

}  // namespace belay::agent
