// The methods that are served. Others are answered with 501.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::http {

enum class Method : uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions };

// "GET"
std::string_view method_name(Method method);
// Methods are written in capitals (RFC 9110, section 9.1).
std::optional<Method> method_of(std::string_view name);
// Whether a request of it may change something, so that a page of another site must not send it.
bool changes_state(Method method);

}  // namespace belay::http
