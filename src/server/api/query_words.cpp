#include "server/api/query_words.h"

#include "core/utf8.h"

#include <fmt/format.h>

namespace belay::server {

using http::Checked;
using http::Request;

namespace {

constexpr size_t kDefaultPage = 100;

}  // namespace

Checked<std::optional<std::string>> text_of(const Request& request, std::string_view name) {
    BELAY_TRY(value, request.target.query.one(name));
    if (!value || value->empty()) return std::optional<std::string>();
    return std::optional<std::string>(*value);
}

Checked<std::optional<core::Time>> time_of(const Request& request, std::string_view name) {
    BELAY_TRY(text, text_of(request, name));
    if (!text) return std::optional<core::Time>();
    const auto time = core::parse_time(*text);
    if (!time)
        return http::refuse(400, fmt::format("{}: \"{}\" is not a time", name, core::printable(*text)),
                            "write it as 2026-03-01T12:00:00Z");
    return std::optional<core::Time>(*time);
}

Checked<Page> page_of(const Request& request) {
    BELAY_TRY(limit, request.target.query.number("limit"));
    BELAY_TRY(cursor, text_of(request, "cursor"));
    if (limit && (*limit == 0 || *limit > kLargestPage))
        return http::refuse(400, fmt::format("limit: {} is not from 1 to {}", *limit, kLargestPage));
    return Page{.size = static_cast<size_t>(limit.value_or(kDefaultPage)), .cursor = cursor.value_or("")};
}

}  // namespace belay::server
