// How an error travels between processes and between nodes: whole, with kind, cause, message, hint and place.
// The one codec for it; text that people see is made at the end of the journey.
//
//   parent ◄── encode_result(result) ── child          decode_result() gives the child's value or its error
//
// Layout, little-endian: "BE1", kind u8, cause u8, errno i32, message, hint, place u8; with a place: file,
// line i32, column i32, line text. A text is its length in bytes (u32) and the bytes. What is too long is
// cut; a line is then left out.
#pragma once

#include "core/error.h"

#include <string>
#include <string_view>

namespace belay::core {

inline constexpr size_t kLongestEncodedText = size_t{32}
                                              << 10;  // bytes; of a message, a hint, a file name, a line

std::string encode_error(const Error& error);
// Errors: kSystem where the bytes are not an encoded error; they may come from anywhere.
Result<Error> decode_error(std::string_view bytes);

// The same in hexadecimal digits, for JSON and other texts.
std::string error_to_hex(const Error& error);
Result<Error> error_from_hex(std::string_view digits);

// A value, or the error in its place.
std::string encode_result(const Result<std::string>& result);
std::string encode_result(const Result<>& result);
// Errors: the one that was encoded; kSystem where the bytes are neither.
Result<std::string> decode_result(std::string_view bytes);

}  // namespace belay::core
