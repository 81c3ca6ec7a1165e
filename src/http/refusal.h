// Why a request is answered with an error: what the client gets to read. (core::Error has the exit status of a command; an
// answer has a status of HTTP.)
#pragma once

#include <expected>
#include <string>

namespace belay::http {

struct Refusal {
    int status = 400;
    std::string message;
    std::string hint = {};
    std::string allow = {};  // of 405: the methods that are possible
    bool operator==(const Refusal&) const = default;
};

template <typename T = void>
using Checked = std::expected<T, Refusal>;

inline std::unexpected<Refusal> refuse(int status, std::string message, std::string hint = {}) {
    return std::unexpected(Refusal{status, std::move(message), std::move(hint), {}});
}

}  // namespace belay::http
