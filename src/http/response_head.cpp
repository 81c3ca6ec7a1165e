#include "http/response_head.h"

#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/format.h>

namespace belay::http {

namespace {

constexpr std::array<std::string_view, 6> kOursToSay = {"connection", "content-length", "date",
                                                        "server",     "trailer",        "transfer-encoding"};

struct DefaultField {
    std::string_view name, value;
};
// https://owasp.org/www-project-secure-headers/: what is not a page gets no rights of a page. A page says its own policy.
constexpr std::array kDefaultFields = {
    DefaultField{"x-content-type-options", "nosniff"},
    DefaultField{"content-security-policy", "default-src 'none'; frame-ancestors 'none'"},
    DefaultField{"referrer-policy", "no-referrer"},
    DefaultField{"cross-origin-resource-policy", "same-origin"},
};

void append_field(std::string& out, std::string_view name, std::string_view value) {
    out += name;
    out += ": ";
    out += value;
    out += "\r\n";
}

void append_framing(std::string& out, const Response& response) {
    if (!may_have_body(response.status)) return;
    if (const auto* text = std::get_if<std::string>(&response.body))
        append_field(out, "content-length", std::to_string(text->size()));
    else if (const auto* file = std::get_if<FileBody>(&response.body))
        append_field(out, "content-length", std::to_string(file->length));
    else
        append_field(out, "transfer-encoding", "chunked");
}

}  // namespace

std::string http_date(core::Time time) {
    constexpr std::array<std::string_view, 7> kDays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                          "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    const auto days = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(days);
    const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time) - days);
    return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                       kDays[std::chrono::weekday(days).c_encoding()], static_cast<unsigned>(date.day()),
                       kMonths[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                       clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

bool may_have_body(int status) {
    return status >= 200 && status != 204 && status != 304;
}

core::Result<> check_response(const Response& response) {
    if (response.status < 200 || response.status > 599)
        return core::system_error("a handler answered with status {}", response.status);
    for (const Header& field : response.headers) {
        if (!is_token(field.name) || !is_field_value(field.value))
            return core::system_error("a handler answered with a header field that cannot be sent: {}",
                                      field.name);
        if (std::ranges::find(kOursToSay, field.name) != kOursToSay.end())
            return core::system_error("a handler set the header field {}, which is the server's", field.name);
    }
    return {};
}

std::string encode_head(const Response& response, const ResponseFacts& facts) {
    std::string out = fmt::format("HTTP/1.1 {} {}\r\n", response.status, reason_of(response.status));
    for (const Header& field : response.headers) append_field(out, field.name, field.value);
    for (const DefaultField& field : kDefaultFields)
        if (!response.headers.find(field.name)) append_field(out, field.name, field.value);
    if (facts.needed_identity && !response.headers.find("cache-control"))
        append_field(out, "cache-control", "no-store");
    append_field(out, "date", http_date(facts.now));
    append_framing(out, response);
    if (!facts.keep_alive) append_field(out, "connection", "close");
    return out + "\r\n";
}

std::string encode_chunk(std::string_view piece) {
    std::string out = fmt::format("{:x}\r\n", piece.size());
    out += piece;
    return out + "\r\n";
}

}  // namespace belay::http
