#include "server/login/next_page.h"

#include "http/target.h"

#include <algorithm>
#include <cstddef>

namespace belay::server {

std::string safe_next(std::string_view wanted) {
    constexpr size_t kLongestNext = 2048;
    // Browsers leave tabs and line feeds out and take "\" for "/" (https://url.spec.whatwg.org/#url-parsing).
    const auto is_plain = [](char c) { return c > ' ' && c < 0x7f && c != '\\'; };
    if (wanted.size() > kLongestNext || !std::ranges::all_of(wanted, is_plain)) return "/";
    const auto target = http::parse_target(wanted);
    if (!target || (!target->segments.empty() && target->segments.front() == "auth")) return "/";
    return std::string(wanted);
}

}  // namespace belay::server
