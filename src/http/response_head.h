// The head of a response as it is sent.
#pragma once

#include "core/time.h"
#include "http/response.h"

#include <string>

namespace belay::http {

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, section 5.6.7).
std::string http_date(core::Time time);

struct ResponseFacts {
    bool keep_alive = true;
    bool needed_identity = false;  // nobody else may get the answer out of a cache
    core::Time now = {};
};

// Whether a handler's fields can be sent: names and values are well-formed, and none says what is the server's to say.
// Errors: kSystem, since it is the handler's mistake.
core::Result<> check_response(const Response& response);

// Status line and fields with the empty line. With a body of known length comes Content-Length, with any other
// Transfer-Encoding; where the status has no body (204, 304), neither.
std::string encode_head(const Response& response, const ResponseFacts& facts);

// Whether a response of this status ever has a body.
bool may_have_body(int status);

// "5\r\nhello\r\n"; the last chunk is kLastChunk, an empty one would be that too.
std::string encode_chunk(std::string_view piece);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace belay::http
