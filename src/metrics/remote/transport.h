// A POST as the sender asks for it: a value, so that tests need no network.
#pragma once

#include "core/error.h"

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace belay::metrics::remote {

struct PostRequest {
    std::string url;
    std::vector<std::pair<std::string, std::string>> headers;
    std::string authorization;  // value of the header; empty: none
    std::string_view body;
};

// A status is an answer, not an error: errors are what kept an answer from coming.
struct PostAnswer {
    int status = 0;
    std::string retry_after = {};  // value of the header; empty: none
    std::string body = {};         // its beginning
};

using Transport = std::function<core::Result<PostAnswer>(const PostRequest&)>;

}  // namespace belay::metrics::remote
