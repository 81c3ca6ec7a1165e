#include "http/body_decoder.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::http {

namespace {

constexpr int kMostDigits = 15;  // of a chunk's size: no sum overflows

int digit_of(char byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
    if (byte >= 'A' && byte <= 'F') return byte - 'A' + 10;
    return -1;
}

}  // namespace

Checked<> ChunkDecoder::take_digit(char byte) {
    const int digit = digit_of(byte);
    if (digit < 0 || ++digits_ > kMostDigits)
        return refuse(400, "a chunk does not begin with its size in hex digits and CRLF");
    left_ = left_ * 16 + static_cast<uint64_t>(digit);
    state_ = State::kSize;
    return {};
}

Checked<> ChunkDecoder::take_exactly(char byte, char expected, State next) {
    if (byte != expected)
        return refuse(400, "a chunk does not end with CRLF, or has trailers, which are not served");
    state_ = next;
    return {};
}

Checked<> ChunkDecoder::take_framing(char byte) {
    switch (state_) {
        case State::kFirstDigit:
            left_ = 0;
            digits_ = 0;
            return take_digit(byte);
        case State::kSize:
            if (byte != '\r') return take_digit(byte);
            state_ = State::kSizeEnd;
            return {};
        case State::kSizeEnd:
            return take_exactly(byte, '\n', left_ == 0 ? State::kLastReturn : State::kData);
        case State::kDataReturn:
            return take_exactly(byte, '\r', State::kDataEnd);
        case State::kDataEnd:
            return take_exactly(byte, '\n', State::kFirstDigit);
        case State::kLastReturn:
            return take_exactly(byte, '\r', State::kLastEnd);
        case State::kLastEnd:
            return take_exactly(byte, '\n', State::kDone);
        case State::kData:
        case State::kDone:
            break;
    }
    return {};
}

Checked<ChunkDecoder::Step> ChunkDecoder::take(std::string_view bytes) {
    size_t at = 0;
    while (at < bytes.size() && state_ != State::kDone) {
        if (state_ == State::kData) {
            const std::string_view data = bytes.substr(at, std::min<uint64_t>(left_, bytes.size() - at));
            left_ -= data.size();
            if (left_ == 0) state_ = State::kDataReturn;
            return Step{at + data.size(), data};
        }
        if (const auto taken = take_framing(bytes[at]); !taken) return std::unexpected(taken.error());
        ++at;
    }
    return Step{at, {}};
}

BodyDecoder::BodyDecoder(const Head& head, uint64_t limit)
    : chunked_(head.chunked), limit_(limit), left_(head.content_length.value_or(0)) {}

std::unexpected<Refusal> BodyDecoder::too_long() const {
    if (limit_ == 0) return refuse(413, "this address takes no body");
    return refuse(413, fmt::format("the body is longer than {} bytes", limit_));
}

Checked<> BodyDecoder::check_announced() const {
    if (!chunked_ && received_ + left_ > limit_) return too_long();
    return {};
}

Checked<ChunkDecoder::Step> BodyDecoder::take(std::string_view bytes) {
    if (const auto checked = check_announced(); !checked) return std::unexpected(checked.error());
    ChunkDecoder::Step step;
    if (chunked_) {
        const auto taken = chunks_.take(bytes);
        if (!taken) return taken;
        step = *taken;
        if (chunks_.announced() > limit_ || received_ + step.data.size() > limit_ - chunks_.announced())
            return too_long();
    } else {
        step.data = bytes.substr(0, std::min<uint64_t>(left_, bytes.size()));
        step.consumed = step.data.size();
        left_ -= step.consumed;
    }
    received_ += step.data.size();
    return step;
}

}  // namespace belay::http
