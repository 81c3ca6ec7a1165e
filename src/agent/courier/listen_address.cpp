#include "agent/courier/listen_address.h"

#include "core/text.h"
#include "core/utf8.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>

namespace belay::agent {

using core::bad_input;
using core::Result;

namespace {

constexpr std::string_view kThisMachine = "127.0.0.1";
constexpr int kWaitingConnections = 64;

// An address as the calls about sockets take it.
struct SocketAddress {
    sockaddr_storage storage{};
    socklen_t length = 0;

    sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
    int family() const { return storage.ss_family; }
};

// Without length where the text is not an address.
SocketAddress socket_address(const std::string& host, uint16_t port) {
    SocketAddress address;
    if (host.find('\0') != std::string::npos) return address;  // the calls would read up to there
    sockaddr_in four{};
    sockaddr_in6 six{};
    if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        std::memcpy(&address.storage, &four, sizeof four);
        address.length = sizeof four;
    } else if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(port);
        std::memcpy(&address.storage, &six, sizeof six);
        address.length = sizeof six;
    }
    return address;
}

uint16_t port_of(int socket) {
    SocketAddress address;
    address.length = sizeof address.storage;
    if (getsockname(socket, address.get(), &address.length) != 0) return 0;
    sockaddr_in four{};
    sockaddr_in6 six{};
    std::memcpy(&four, &address.storage, sizeof four);
    std::memcpy(&six, &address.storage, sizeof six);
    return ntohs(address.family() == AF_INET6 ? six.sin6_port : four.sin_port);
}

}  // namespace

Result<ListenAddress> parse_listen_address(std::string_view text) {
    const std::string shown = core::printable(text);
    const size_t colon = text.rfind(':');
    const std::string_view port_text = colon == std::string_view::npos ? text : text.substr(colon + 1);
    std::string_view host = colon == std::string_view::npos ? "" : text.substr(0, colon);
    auto port = core::parse_number<uint16_t>(port_text);
    if (!port)
        return bad_input("\"{}\" does not end in a port", shown)
            .hint("write ADDRESS:PORT, as 127.0.0.1:9101");
    const bool in_brackets = host.size() >= 2 && host.front() == '[' && host.back() == ']';
    if (in_brackets) host = host.substr(1, host.size() - 2);
    if (host.empty() || host == "localhost") host = kThisMachine;
    ListenAddress address{.host = std::string(host), .port = *port};
    const SocketAddress found = socket_address(address.host, address.port);
    if (found.length == 0 || (found.family() == AF_INET6) != in_brackets)
        return bad_input("\"{}\" is not an address of a network interface", shown)
            .hint("write a numeric address: 127.0.0.1:9101, [::1]:9101, or 0.0.0.0:9101 for all interfaces");
    return address;
}

std::string to_text(const ListenAddress& address) {
    const bool is_six = address.host.find(':') != std::string::npos;
    return is_six ? fmt::format("[{}]:{}", address.host, address.port)
                  : fmt::format("{}:{}", address.host, address.port);
}

Result<ListenSocket> open_listen_socket(const ListenAddress& address) {
    const std::string what = "cannot listen at " + to_text(address);
    SocketAddress where = socket_address(address.host, address.port);
    core::Descriptor fd(socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd) return core::errno_error(errno, what);
    const int one = 1;  // one that was ended a moment ago left connections behind
    (void)setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd.get(), where.get(), where.length) != 0 || listen(fd.get(), kWaitingConnections) != 0)
        return core::errno_error(errno, what)
            .hint("is another agent running? --listen names where it listens");
    ListenAddress got = address;
    got.port = port_of(fd.get());
    return ListenSocket{std::move(fd), got};
}

}  // namespace belay::agent
