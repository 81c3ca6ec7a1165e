// The head of a request: request line and fields, up to the empty line. It is read strictly, and once: two readers that
// take one text for two requests are how requests are smuggled (RFC 9112, section 11.2). README.md lists what is refused.
#pragma once

#include "http/headers.h"
#include "http/method.h"
#include "http/refusal.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::http {

inline constexpr size_t kMostFields = 100;
inline constexpr size_t kLongestTarget = 8192;

struct Head {
    Method method = Method::kGet;
    std::string target;  // as it was sent, beginning with "/"
    Headers headers;
    std::optional<uint64_t> content_length;  // none without the field
    bool chunked = false;
    bool expects_continue = false;
    bool keep_alive = true;
};

// Looks for the end of a head in bytes that come piece by piece.
class HeadScanner {
  public:
    // The position behind the empty line; nothing while that has not come. `bytes` are those of the call before and what
    // came since. Errors: 400 for a line that does not end with CRLF, and for control characters, so that somebody who
    // speaks another protocol is not waited for.
    Checked<std::optional<size_t>> scan(std::string_view bytes);

  private:
    size_t at_ = 0;
};

// `bytes` end with the empty line. Errors: 400, 414, 417, 431, 501 and 505.
Checked<Head> parse_head(std::string_view bytes);

}  // namespace belay::http
