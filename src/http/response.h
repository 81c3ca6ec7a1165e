// What a handler answers. Status and header fields are the handler's; the length, the connection, the date and the fields by which a
// browser is told to be careful are added when it is sent.
#pragma once

#include "core/error.h"
#include "core/file.h"
#include "core/time.h"
#include "http/events.h"
#include "http/headers.h"
#include "http/refusal.h"
#include "http/task.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace belay::http {

inline constexpr std::string_view kJsonType = "application/json; charset=utf-8";
inline constexpr std::string_view kTextType = "text/plain; charset=utf-8";

// `length` bytes of a regular file from `offset` on. They are read by workers. A file that has become shorter ends the connection.
struct FileBody {
    core::Descriptor descriptor;
    uint64_t length = 0;
    uint64_t offset = 0;
};

// The next piece of a body whose length is not known; empty at the end. An error cuts the connection, so that nobody takes
// for whole what is not.
using Generator = std::function<Task<core::Result<std::string>>()>;

class Response {
  public:
    using Body = std::variant<std::string, FileBody, Generator, std::shared_ptr<EventQueue>>;

    Response() = default;
    // So that BELAY_TRY and BELAY_CO_TRY can stand in a handler. See response_to() for the statuses.
    Response(std::unexpected<core::Error> error);  // NOLINT(google-explicit-constructor)
    Response(std::unexpected<Refusal> refusal);    // NOLINT(google-explicit-constructor)
    Response(core::Failure failure);               // NOLINT(google-explicit-constructor)

    static Response json(std::string text, int status = 200);
    static Response text(std::string text, int status = 200);
    static Response bytes(std::string bytes, std::string_view content_type);
    static Response empty(int status = 204);
    static Response file(FileBody file, std::string_view content_type);
    static Response chunked(Generator generator, std::string_view content_type);
    static Response events(std::shared_ptr<EventQueue> queue);

    // Adds a field; those of content_type and with() win over what is added by default.
    Response&& with(std::string_view name, std::string_view value) &&;
    std::optional<std::string_view> header(std::string_view lower_case_name) const {
        return headers.find(lower_case_name);
    }

    int status = 200;
    Headers headers;  // names in lower case
    Body body;
};

// {"error":{"status":404,"message":"…","hint":"…"}}, always valid UTF-8; `hint` is null without one. 503 and 429 get a Retry-After,
// 401 a WWW-Authenticate, 405 its Allow.
Response response_to(const Refusal& refusal);
// 404 for what was not found, 403 what is denied, 504 timed out, 503 unreachable, 507 no space; else 400 for bad input, 409 where the
// answer is no, and 500, whose message is for the log and not for the client.
Response response_to(const core::Error& error);

// "Not Found"; empty for a status that is not known.
std::string_view reason_of(int status);

}  // namespace belay::http
