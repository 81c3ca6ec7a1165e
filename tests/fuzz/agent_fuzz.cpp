// What the agent is told by others: what belayd answers, as anybody may send it in belayd's place; an address to listen at; what
// the courier's process tells.
#include "agent/courier/block_post.h"
#include "agent/courier/listen_address.h"
#include "agent/courier/note.h"
#include "core/time.h"
#include "many_parsers.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

using namespace belay;

namespace {

// Nothing but an acknowledgement of what was sent counts as one, and what is said of it is one line.
void acknowledgement(std::string_view text) {
    const stream::Cursor sent{
        .stream = {.cluster = "c", .node = "n1", .boot = "b", .source = "agent", .began = {}},
        .next_block = 7};
    const agent::ShipAnswer answer =
        agent::judge_upload({.status = 200, .body = std::string(text)}, sent, "h", {});
    const bool is_stored = answer.verdict == agent::ShipAnswer::Verdict::kStored;
    require(is_stored ? answer.next_block >= 7 : answer.verdict == agent::ShipAnswer::Verdict::kLater);
    require(answer.why.find('\n') == std::string::npos);
}

// The first byte makes the status, the rest of the line is Retry-After, then comes the body.
void refusal(std::string_view text) {
    metrics::remote::PostAnswer answer{.status =
                                           text.empty() ? 0 : 400 + static_cast<unsigned char>(text.front())};
    const size_t end = std::min(text.find('\n'), text.size());
    if (!text.empty()) answer.retry_after = text.substr(1, end == 0 ? 0 : end - 1);
    answer.body = text.substr(end);
    const agent::ShipAnswer meant = agent::judge_upload(answer, {}, "h", core::Time());
    require(meant.verdict != agent::ShipAnswer::Verdict::kStored && meant.after >= core::Duration() &&
            meant.after <= std::chrono::minutes(10));
    require(meant.why.find('\n') == std::string::npos);
}

void address(std::string_view text) {
    auto read = agent::parse_listen_address(text);
    if (read) require(agent::parse_listen_address(agent::to_text(*read)) == read);
}

void note(std::string_view text) {
    auto read = agent::decode_note(text);
    if (!read) return;
    const std::string again = agent::encode_note(*read);
    require(again.size() <= agent::kMostNoteBytes && agent::decode_note(again).has_value());
}

constexpr void (*kParsers[])(std::string_view) = {acknowledgement, refusal, address, note};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}
