#include "http/response.h"

#include "core/log.h"
#include "core/utf8.h"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

namespace belay::http {

namespace {

struct StatusRow {
    int status;
    std::string_view reason;
};

// RFC 9110, section 15; 429 is RFC 6585, 507 is RFC 4918.
constexpr std::array kStatuses = {
    StatusRow{100, "Continue"},
    StatusRow{200, "OK"},
    StatusRow{201, "Created"},
    StatusRow{202, "Accepted"},
    StatusRow{204, "No Content"},
    StatusRow{206, "Partial Content"},
    StatusRow{301, "Moved Permanently"},
    StatusRow{302, "Found"},
    StatusRow{303, "See Other"},
    StatusRow{304, "Not Modified"},
    StatusRow{307, "Temporary Redirect"},
    StatusRow{308, "Permanent Redirect"},
    StatusRow{400, "Bad Request"},
    StatusRow{401, "Unauthorized"},
    StatusRow{403, "Forbidden"},
    StatusRow{404, "Not Found"},
    StatusRow{405, "Method Not Allowed"},
    StatusRow{406, "Not Acceptable"},
    StatusRow{408, "Request Timeout"},
    StatusRow{409, "Conflict"},
    StatusRow{410, "Gone"},
    StatusRow{412, "Precondition Failed"},
    StatusRow{413, "Content Too Large"},
    StatusRow{414, "URI Too Long"},
    StatusRow{415, "Unsupported Media Type"},
    StatusRow{416, "Range Not Satisfiable"},
    StatusRow{417, "Expectation Failed"},
    StatusRow{421, "Misdirected Request"},
    StatusRow{422, "Unprocessable Content"},
    StatusRow{429, "Too Many Requests"},
    StatusRow{431, "Request Header Fields Too Large"},
    StatusRow{500, "Internal Server Error"},
    StatusRow{501, "Not Implemented"},
    StatusRow{503, "Service Unavailable"},
    StatusRow{504, "Gateway Timeout"},
    StatusRow{505, "HTTP Version Not Supported"},
    StatusRow{507, "Insufficient Storage"},
};

struct CauseRow {
    core::Cause cause;
    int status;
};
constexpr std::array kCauses = {
    CauseRow{core::Cause::kNotFound, 404},    CauseRow{core::Cause::kDenied, 403},
    CauseRow{core::Cause::kNoSpace, 507},     CauseRow{core::Cause::kTimedOut, 504},
    CauseRow{core::Cause::kUnreachable, 503},
};

int status_of(const core::Error& error) {
    for (const CauseRow& row : kCauses)
        if (row.cause == error.cause()) return row.status;
    if (error.kind() == core::ErrorKind::kBadInput) return 400;
    return error.kind() == core::ErrorKind::kNegative ? 409 : 500;
}

Response typed(Response::Body body, std::string_view content_type, int status = 200) {
    Response response;
    response.status = status;
    response.headers.add("content-type", content_type);
    response.body = std::move(body);
    return response;
}

}  // namespace

Response::Response(std::unexpected<core::Error> error) : Response(response_to(error.error())) {}
Response::Response(std::unexpected<Refusal> refusal) : Response(response_to(refusal.error())) {}
Response::Response(core::Failure failure) : Response(response_to(std::move(failure).error())) {}

Response Response::json(std::string text, int status) {
    return typed(std::move(text), kJsonType, status);
}
Response Response::text(std::string text, int status) {
    return typed(std::move(text), kTextType, status);
}
Response Response::bytes(std::string bytes, std::string_view content_type) {
    return typed(std::move(bytes), content_type);
}
Response Response::empty(int status) {
    Response response;
    response.status = status;
    return response;
}
Response Response::file(FileBody file, std::string_view content_type) {
    return typed(std::move(file), content_type);
}
Response Response::chunked(Generator generator, std::string_view content_type) {
    return typed(std::move(generator), content_type);
}
Response Response::events(std::shared_ptr<EventQueue> queue) {
    Response response = typed(std::move(queue), "text/event-stream");
    response.headers.add("cache-control", "no-store");
    return response;
}

Response&& Response::with(std::string_view name, std::string_view value) && {
    headers.add(name, value);
    return std::move(*this);
}

Response response_to(const Refusal& refusal) {
    nlohmann::ordered_json error = {{"status", refusal.status},
                                    {"message", core::to_valid_utf8(refusal.message)}};
    error["hint"] = nullptr;
    if (!refusal.hint.empty()) error["hint"] = core::to_valid_utf8(refusal.hint);
    Response response =
        Response::json(nlohmann::ordered_json{{"error", std::move(error)}}.dump() + "\n", refusal.status);
    if (refusal.status == 503 || refusal.status == 429) response.headers.add("retry-after", "1");
    if (refusal.status == 401) response.headers.add("www-authenticate", "Bearer");
    if (!refusal.allow.empty()) response.headers.add("allow", refusal.allow);
    return response;
}

Response response_to(const core::Error& error) {
    const int status = status_of(error);
    if (status != 500) return response_to(Refusal{status, error.headline(), error.hint_text(), {}});
    core::log_error("{}", error.headline());
    return response_to(Refusal{status, "the server failed", "its log says why", {}});
}

std::string_view reason_of(int status) {
    const auto row = std::ranges::find(kStatuses, status, &StatusRow::status);
    return row == kStatuses.end() ? std::string_view() : row->reason;
}

}  // namespace belay::http
