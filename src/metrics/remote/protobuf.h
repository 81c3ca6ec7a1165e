// What remote write needs of protobuf's wire format (protobuf.dev, "Encoding"): fields are added to the end of a
// message; values that are the default of proto3 are left out, as its own libraries do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::metrics::remote {

void add_integer(std::string& message, uint32_t field, int64_t value);
// As 64 bits, so that a NaN keeps all of its own.
void add_double_bits(std::string& message, uint32_t field, uint64_t bits);
void add_text(std::string& message, uint32_t field, std::string_view text);
// Also an empty one: an element of a list is there whatever is in it.
void add_message(std::string& message, uint32_t field, std::string_view inner);

// Bytes of a message within another, with its field and its length.
size_t message_size(uint32_t field, size_t inner_bytes);

}  // namespace belay::metrics::remote
