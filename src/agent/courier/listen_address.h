// Where the agent can be scraped: "127.0.0.1:9101", "[::1]:9101", or ":9101" for this machine alone.
#pragma once

#include "core/error.h"
#include "core/file.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::agent {

struct ListenAddress {
    std::string host;   // a numeric address, IPv4 or IPv6
    uint16_t port = 0;  // 0: any that is free
    bool operator==(const ListenAddress&) const = default;
};

// No name is looked up but "localhost". Errors: kBadInput.
core::Result<ListenAddress> parse_listen_address(std::string_view text);
// As it is written: "[::1]:9101".
std::string to_text(const ListenAddress& address);

struct ListenSocket {
    core::Descriptor socket;
    ListenAddress address;  // with the port that it got
};
// Errors: kSystem, where the address is in use or not of this machine.
core::Result<ListenSocket> open_listen_socket(const ListenAddress& address);

}  // namespace belay::agent
