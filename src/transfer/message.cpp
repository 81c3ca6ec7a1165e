#include "transfer/message.h"

namespace belay::transfer {

namespace {

constexpr size_t kHeader = 4;

void put(std::string& out, uint64_t value, int bytes) {
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 0xFF);
}

}  // namespace

void put_u32(std::string& out, uint32_t value) {
    put(out, value, 4);
}

void put_u64(std::string& out, uint64_t value) {
    put(out, value, 8);
}

std::string encode(const Message& message) {
    std::string out;
    put_u32(out, static_cast<uint32_t>(message.body.size() + 1));
    out += static_cast<char>(message.type);
    return out += message.body;
}

core::Result<std::optional<Message>> MessageParser::next() {
    if (buffer_.size() < kHeader) return std::optional<Message>();
    size_t length = BodyReader(std::string_view(buffer_).substr(0, kHeader)).u32();
    if (length == 0 || length - 1 > max_body_) return core::system_error("a message of {} bytes", length);
    if (buffer_.size() < kHeader + length) return std::optional<Message>();
    Message message{static_cast<uint8_t>(buffer_[kHeader]), buffer_.substr(kHeader + 1, length - 1)};
    buffer_.erase(0, kHeader + length);
    return std::optional(std::move(message));
}

std::string_view BodyReader::bytes(size_t count) {
    if (count > rest_.size()) {
        ok_ = false;
        rest_ = {};
        return {};
    }
    std::string_view out = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return out;
}

uint64_t BodyReader::number(size_t count) {
    uint64_t value = 0;
    for (unsigned char byte : bytes(count)) value = value << 8 | byte;
    return value;
}

}  // namespace belay::transfer
