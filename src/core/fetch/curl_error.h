// What libcurl's codes mean here.
#pragma once

#include "core/error.h"

#include <curl/curl.h>
#include <string_view>

namespace belay::core::fetch {

// Whether the same request may succeed later.
bool worth_another_try(CURLcode code);
// Why it gave up, for programs. `errno_value` is of the connection, 0 where that was made.
Cause cause_of(CURLcode code, int errno_value);
// What to do about it, where that does not depend on whom the request was for; "" if that is not known.
std::string_view hint_of(CURLcode code);

}  // namespace belay::core::fetch
