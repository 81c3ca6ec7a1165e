#include "http/head.h"

#include "core/text.h"

#include <algorithm>
#include <array>
#include <limits>

#include <fmt/format.h>

namespace belay::http {

namespace {

// Of which two values would leave open which of them counts.
constexpr std::array<std::string_view, 9> kOnlyOnce = {
    "authorization", "content-encoding", "content-length", "content-type",     "expect",
    "host",          "origin",           "range",          "transfer-encoding"};

Checked<> read_request_line(std::string_view line, Head& head) {
    const auto words = core::split(line, ' ');
    if (words.size() != 3 || !is_token(words[0]))
        return refuse(400, "the request line is not METHOD TARGET HTTP/1.1");
    const std::string_view target = words[1], version = words[2];
    if (version != "HTTP/1.1") {
        if (!version.starts_with("HTTP/")) return refuse(400, "the request line does not end with HTTP/1.1");
        return refuse(505, "only HTTP/1.1 is served");
    }
    const auto method = method_of(words[0]);
    if (!method) return refuse(501, "the method is not served", "GET, HEAD, POST, PUT, PATCH and DELETE are");
    if (target.size() > kLongestTarget)
        return refuse(414, fmt::format("the target is longer than {} bytes", kLongestTarget));
    if (!target.starts_with('/'))
        return refuse(400, "the target does not begin with /",
                      "this server is not a proxy: leave scheme and host away");
    head.method = *method;
    head.target = target;
    return {};
}

Checked<> read_field(std::string_view line, Head& head) {
    if (line.front() == ' ' || line.front() == '\t')
        return refuse(400, "a header field goes on in a second line");
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
        return refuse(400, "a header line is not NAME: VALUE");
    const std::string name = core::lower_case(line.substr(0, colon));
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    if (!is_field_value(value))
        return refuse(400, fmt::format("the field {} holds control characters", name));
    if (std::ranges::find(kOnlyOnce, name) != kOnlyOnce.end() && head.headers.find(name))
        return refuse(400, fmt::format("the field {} stands there twice", name));
    if (head.headers.size() == kMostFields)
        return refuse(431, fmt::format("more than {} header fields", kMostFields));
    head.headers.add(name, value);
    return {};
}

// Where the body ends is said by one field, in one way. (Beast takes "Transfer-Encoding: gzip" for a request without a body.)
Checked<> read_framing(Head& head) {
    const auto length = head.headers.find("content-length");
    const auto encoding = head.headers.find("transfer-encoding");
    if (length && encoding) return refuse(400, "both Content-Length and Transfer-Encoding");
    if (encoding) {
        if (core::lower_case(*encoding) != "chunked")
            return refuse(501, "only Transfer-Encoding: chunked is served");
        head.chunked = true;
    }
    if (length) {
        const auto bytes = core::parse_number<uint64_t>(*length);
        if (!bytes || *bytes > std::numeric_limits<int64_t>::max())
            return refuse(400, "Content-Length is not a number of bytes");
        head.content_length = *bytes;
    }
    return {};
}

Checked<> read_expectations(Head& head) {
    if (const auto expect = head.headers.find("expect")) {
        if (core::lower_case(*expect) != "100-continue")
            return refuse(417, "only Expect: 100-continue is served");
        head.expects_continue = true;
    }
    head.keep_alive = !head.headers.lists("connection", "close");
    return {};
}

}  // namespace

Checked<std::optional<size_t>> HeadScanner::scan(std::string_view bytes) {
    for (; at_ < bytes.size(); ++at_) {
        const auto byte = static_cast<unsigned char>(bytes[at_]);
        const bool after_return = at_ > 0 && bytes[at_ - 1] == '\r';
        if (after_return != (byte == '\n')) return refuse(400, "a line of the head does not end with CRLF");
        if ((byte < 0x20 && byte != '\t' && byte != '\r' && byte != '\n') || byte == 0x7f)
            return refuse(400, "the head holds control characters",
                          "is it HTTP? for TLS, use the address that begins with https");
        if (byte == '\n' && at_ >= 3 && bytes[at_ - 2] == '\n') return at_ + 1;
        // Lines before the request line are taken by some servers and refused by others.
        if (byte == '\n' && at_ == 1) return refuse(400, "the request begins with an empty line");
    }
    return std::nullopt;
}

Checked<Head> parse_head(std::string_view bytes) {
    HeadScanner scanner;
    const auto end = scanner.scan(bytes);
    if (!end) return std::unexpected(end.error());
    if (*end != bytes.size()) return refuse(400, "the head does not end with an empty line");
    bytes.remove_suffix(4);
    Head head;
    bool first = true;
    for (std::string_view line : core::split(bytes, '\n')) {
        if (line.ends_with('\r')) line.remove_suffix(1);
        const auto read = first ? read_request_line(line, head) : read_field(line, head);
        if (!read) return std::unexpected(read.error());
        first = false;
    }
    if (const auto framing = read_framing(head); !framing) return std::unexpected(framing.error());
    if (const auto expected = read_expectations(head); !expected) return std::unexpected(expected.error());
    if (!head.headers.find("host")) return refuse(400, "the field Host is missing");
    return head;
}

}  // namespace belay::http
