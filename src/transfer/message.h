// Messages between nodes: a byte that says what follows, and a body.
//
//   message := length:u32 (big endian, of what follows)  type:u8  body
#pragma once

#include "core/error.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::transfer {

struct Message {
    uint8_t type = 0;
    std::string body = {};
    bool operator==(const Message&) const = default;
};

// What a peer may send before it has proved who it is, and afterwards.
inline constexpr size_t kMaxStrangerBody = 4096;
inline constexpr size_t kMaxBody = size_t{4} << 20;

std::string encode(const Message& message);

// Cuts a stream into messages. It holds at most one incomplete message of the limit's size.
class MessageParser {
  public:
    explicit MessageParser(size_t max_body = kMaxStrangerBody) : max_body_(max_body) {}
    void set_limit(size_t max_body) { max_body_ = max_body; }
    void feed(std::string_view bytes) { buffer_ += bytes; }
    // The next complete message, or nothing yet. Errors: kSystem for a length that is 0 or over the limit;
    // the stream is then useless.
    core::Result<std::optional<Message>> next();

  private:
    size_t max_body_;
    std::string buffer_;
};

// Numbers in bodies, big endian.
void put_u32(std::string& out, uint32_t value);
void put_u64(std::string& out, uint64_t value);

// Reads a body from the front; after a read past the end ok() is false and values are 0.
class BodyReader {
  public:
    explicit BodyReader(std::string_view body) : rest_(body) {}
    uint32_t u32() { return static_cast<uint32_t>(number(4)); }
    uint64_t u64() { return number(8); }
    std::string_view bytes(size_t count);
    std::string_view rest() const { return rest_; }
    bool ok() const { return ok_; }
    bool complete() const { return ok_ && rest_.empty(); }

  private:
    uint64_t number(size_t bytes);
    std::string_view rest_;
    bool ok_ = true;
};

}  // namespace belay::transfer
