#include "http/server/body_reader.h"

#include <algorithm>
#include <utility>

namespace belay::http {

namespace {

constexpr size_t kPieceBytes = size_t{64} << 10;
constexpr uint64_t kMostDrained = kPieceBytes;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

core::Error ended(IoEnd end) {
    if (end == IoEnd::kTimedOut)
        return core::bad_input("the body came too slowly").because(core::Cause::kTimedOut).error();
    return core::bad_input("the connection ended before the body did").because(core::Cause::kEnded).error();
}

}  // namespace

BodyReader::BodyReader(Wire& wire, const Head& head, uint64_t limit, const Limits& limits)
    : wire_(wire),
      limits_(limits),
      decoder_(head, limit),
      pace_(limits.body_timeout, limits.least_bytes_per_second),
      asks_for_leave_(head.expects_continue) {}

core::Failure BodyReader::fail(const Refusal& refusal) {
    refusal_ = refusal;
    failure_ = core::bad_input("{}", refusal.message).error();
    return core::Failure(*failure_);
}

Checked<> BodyReader::check_announced() {
    auto checked = decoder_.check_announced();
    if (!checked) (void)fail(checked.error());
    return checked;
}

Task<bool> BodyReader::fill() {
    IoResult result;
    if (std::exchange(asks_for_leave_, false))
        result = co_await wire_.write(kContinue, limits_.write_timeout);
    if (result.ok()) {
        const core::Duration before = core::system_clock().monotonic();
        result = co_await wire_.read(kPieceBytes, pace_.allowed());
        pace_.add(core::system_clock().monotonic() - before, result.bytes);
    }
    if (result.ok()) co_return true;
    broken_ = true;
    failure_ = ended(result.end);
    co_return false;
}

Task<core::Result<std::string>> BodyReader::next() {
    while (!failure_ && !decoder_.is_done()) {
        if (wire_.input.empty()) {
            const bool filled = co_await fill();
            if (!filled) break;
        }
        const auto step = decoder_.take(wire_.input.view().substr(0, kPieceBytes));
        if (!step) co_return fail(step.error());
        std::string piece(step->data);
        wire_.input.consume(step->consumed);
        if (!piece.empty()) co_return std::move(piece);
    }
    if (failure_) co_return std::unexpected(*failure_);
    wire_.input.shrink();
    co_return std::string();
}

Task<core::Result<std::string>> BodyReader::read_all() {
    std::string body;
    for (;;) {
        auto piece = co_await next();
        if (!piece) co_return std::unexpected(std::move(piece.error()));
        if (piece->empty()) co_return std::move(body);
        body += *piece;
    }
}

bool BodyReader::can_be_drained() const {
    if (failure_ || asks_for_leave_) return is_done() && !failure_;
    return decoder_.left().value_or(kMostDrained + 1) <= kMostDrained || is_done();
}

Task<bool> BodyReader::drain() {
    for (;;) {
        const auto piece = co_await next();
        if (!piece) co_return false;
        if (piece->empty()) co_return true;
    }
}

}  // namespace belay::http
