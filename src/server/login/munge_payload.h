// What a credential of munge must say to count as a request's: munge proves who made a text and says nothing about what it is
// for, so one that was made for another server, another request or another time must not be taken. Pure.
#pragma once

#include "core/error.h"
#include "core/time.h"

#include <chrono>
#include <string>
#include <string_view>

namespace belay::server {

// Between the clocks of a node and of belayd, and from when a credential is made until it comes.
inline constexpr core::Duration kMungeWindow = std::chrono::seconds(60);

struct MungeRequest {
    std::string host;    // its name in the URL, in lower case and without the port
    std::string method;  // "GET"
    std::string path;    // as it is sent, without the query
};

// "belayd/1 HOST METHOD PATH-SHA256 UNIXTIME", with the hash in hexadecimal digits: what a client encodes.
std::string munge_payload(const MungeRequest& request, core::Time now);
// Errors: kNegative, kDenied, with what is different, for a log.
core::Result<> check_munge_payload(std::string_view payload, const MungeRequest& request, core::Time now);

// Whether it is written as munge writes it: "MUNGE:", base64 with the padding and without bits that say nothing, ":". One
// credential has one such text, by which it is known again.
bool is_munge_text(std::string_view text);

}  // namespace belay::server
