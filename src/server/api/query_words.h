// What the query of a URL says, as lists take it. Pure.
#pragma once

#include "core/time.h"
#include "http/request.h"
#include "server/state/page.h"

#include <optional>
#include <string>
#include <string_view>

namespace belay::server {

// Nothing where it is missing or empty. Errors of all: 400.
http::Checked<std::optional<std::string>> text_of(const http::Request& request, std::string_view name);
http::Checked<std::optional<core::Time>> time_of(const http::Request& request, std::string_view name);
// `limit` and `cursor`.
http::Checked<Page> page_of(const http::Request& request);

}  // namespace belay::server
