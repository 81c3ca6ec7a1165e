// The body of a request, taken out of the bytes that follow its head.
#pragma once

#include "http/head.h"
#include "http/refusal.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace belay::http {

// Chunks (RFC 9112, section 7.1) without extensions and trailers, which nobody here reads: both are refused.
class ChunkDecoder {
  public:
    struct Step {
        size_t consumed = 0;         // of the bytes given
        std::string_view data = {};  // of the body; points into them
    };
    // Takes from the bytes until some of the body came out, the body ended, or nothing is left. Errors: 400.
    Checked<Step> take(std::string_view bytes);
    bool is_done() const { return state_ == State::kDone; }
    // Of the chunk that was begun: what is still to come.
    uint64_t announced() const { return left_; }

  private:
    enum class State {
        kFirstDigit,
        kSize,
        kSizeEnd,
        kData,
        kDataReturn,
        kDataEnd,
        kLastReturn,
        kLastEnd,
        kDone
    };
    Checked<> take_framing(char byte);
    Checked<> take_digit(char byte);
    Checked<> take_exactly(char byte, char expected, State next);

    State state_ = State::kFirstDigit;
    uint64_t left_ = 0;
    int digits_ = 0;
};

// Either framing, with a limit.
class BodyDecoder {
  public:
    // `limit`: bytes of the body.
    BodyDecoder(const Head& head, uint64_t limit);
    // Errors: 413 for a body that is announced to be longer. Known before a byte of it has come.
    Checked<> check_announced() const;
    // As ChunkDecoder::take. Errors: 400, 413.
    Checked<ChunkDecoder::Step> take(std::string_view bytes);
    bool is_done() const { return chunked_ ? chunks_.is_done() : left_ == 0; }
    uint64_t received() const { return received_; }
    // What is still to come; nothing where nobody has said so.
    std::optional<uint64_t> left() const { return chunked_ ? std::nullopt : std::optional(left_); }

  private:
    std::unexpected<Refusal> too_long() const;

    bool chunked_;
    uint64_t limit_;
    uint64_t left_;
    uint64_t received_ = 0;
    ChunkDecoder chunks_;
};

}  // namespace belay::http
