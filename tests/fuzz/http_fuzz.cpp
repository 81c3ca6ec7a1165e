// What anybody may send to a server of HTTP: heads, targets, chunks, names of hosts. However the bytes are cut, the same comes
// out; what is accepted holds nothing that could be read in another way; what is refused has a status.
#include "http/body_decoder.h"
#include "http/events.h"
#include "http/gate.h"
#include "http/head.h"
#include "http/response_head.h"
#include "http/router.h"
#include "http/target.h"
#include "many_parsers.h"

#include <string>
#include <string_view>
#include <utility>

using namespace belay;
using namespace belay::http;

namespace {

void check(const Refusal& refusal) {
    require(refusal.status >= 400 && refusal.status < 600 && !refusal.message.empty() &&
            !reason_of(refusal.status).empty());
    require(check_response(response_to(refusal)).has_value());
}

void read_target(std::string_view text) {
    const auto target = parse_target(text);
    if (!target) return check(target.error());
    require(target->segments.size() <= kMostSegments &&
            target->query.parameters().size() <= kMostQueryParameters);
    for (const std::string& segment : target->segments) {
        require(!segment.empty() && segment != "." && segment != "..");
        require(segment.find_first_of(std::string_view("/\\\0\r\n", 5)) == std::string::npos);
    }
    for (const QueryParameter& parameter : target->query.parameters()) {
        require(!parameter.name.empty());
        (void)target->query.number(parameter.name);
    }
}

void read_head(std::string_view text) {
    HeadScanner whole, cut;
    const auto end = whole.scan(text);
    Checked<std::optional<size_t>> end_of_cut = std::nullopt;
    for (size_t have = 1; have <= text.size() && end_of_cut && !*end_of_cut; ++have)
        end_of_cut = cut.scan(text.substr(0, have));
    require(end == end_of_cut);
    const auto head = parse_head(text);
    if (!head) return check(head.error());
    require(end && *end == text.size());
    require(head->target.starts_with('/') && !(head->chunked && head->content_length));
    require(head->headers.all("host").size() == 1 && head->headers.size() <= kMostFields);
    for (const Header& field : head->headers) require(is_token(field.name) && is_field_value(field.value));
    (void)check_origin(head->method, head->headers, true, {});
    read_target(head->target);
}

std::pair<std::string, int> body_of(const Head& head, std::string_view stream, size_t piece) {
    BodyDecoder decoder(head, 4096);
    std::string body;
    while (!stream.empty() && !decoder.is_done()) {
        const auto step = decoder.take(stream.substr(0, piece));
        if (!step) {
            check(step.error());
            return {body, step.error().status};
        }
        require(step->consumed > 0 && step->consumed <= stream.size());
        body += step->data;
        require(body.size() == decoder.received() && body.size() <= 4096);
        stream.remove_prefix(step->consumed);
    }
    return {body, decoder.is_done() ? 200 : 0};
}

void read_chunks(std::string_view stream) {
    Head head;
    head.chunked = true;
    const auto whole = body_of(head, stream, stream.size() + 1);
    const auto bytes = body_of(head, stream, 1);
    // A size that is too long and then wrong is refused for the first that is seen.
    require(whole.first == bytes.first && (whole.second >= 400) == (bytes.second >= 400));
}

void read_host(std::string_view text) {
    if (const auto name = host_name_of(text))
        require(!name->empty() && name->find_first_of("/@[] ") == std::string::npos);
    if (const auto pattern = parse_pattern(text)) require(pattern->size() <= text.size());
}

// Line by line, an event says what was put into it.
void write_event(std::string_view data) {
    const auto event = encode_event({.data = std::string(data), .event = "e"});
    require(event && event->starts_with("event: e\n") && event->ends_with("\n\n"));
    std::string_view rest = std::string_view(*event).substr(9);
    rest.remove_suffix(1);
    while (!rest.empty()) {
        require(rest.starts_with("data: "));
        rest.remove_prefix(rest.find('\n') + 1);
    }
    (void)encode_event({.data = "", .event = std::string(data), .id = std::string(data)});
}

constexpr void (*kParsers[])(std::string_view) = {read_head, read_target, read_chunks, read_host,
                                                  write_event};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}
