// A certificate for 127.0.0.1 and localhost, made for a test.
#pragma once

#include "http/server/self_signed.h"

#include <array>
#include <chrono>
#include <string>

namespace belay::http::testing {

using Certificate = SelfSigned;

inline Certificate make_certificate(const std::string& common_name) {
    const std::array<std::string, 2> hosts = {"localhost", "127.0.0.1"};
    return make_self_signed(common_name, hosts, core::system_clock().now(), std::chrono::hours(1)).value();
}

}  // namespace belay::http::testing
