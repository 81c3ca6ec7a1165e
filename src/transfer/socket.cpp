#include "transfer/socket.h"

#include "core/name_service.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace belay::transfer {

namespace {

using core::Descriptor;
using core::errno_error;
using core::Result;
using core::system_error;

constexpr std::string_view kMappedPrefix = "::ffff:";

void use_at_once(int socket) {  // small messages are not held back
    int yes = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

Result<short> wait_for(int socket, short events, Deadline deadline) {
    for (;;) {
        pollfd entry{socket, events, 0};
        int ready = poll(&entry, 1, deadline.poll_milliseconds());
        if (ready > 0) return entry.revents;
        if (ready == 0) return short{0};
        if (errno != EINTR) return errno_error(errno, "cannot wait for a connection");
    }
}

Result<Descriptor> connect_address(const Destination::Address& address, const std::string& what,
                                   Deadline deadline) {
    Descriptor socket(::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket) return errno_error(errno, what);
    if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&address.bytes), address.length) != 0) {
        if (errno != EINPROGRESS) return errno_error(errno, what);
        BELAY_TRY(events, wait_for(socket.get(), POLLOUT, deadline));
        if (events == 0) return system_error("{}: timed out", what).because(core::Cause::kTimedOut);
        int failure = 0;
        socklen_t length = sizeof failure;
        getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &failure, &length);
        if (failure != 0) return errno_error(failure, what);
    }
    use_at_once(socket.get());
    return socket;
}

Result<Listener> listen_at(int family, uint16_t port) {
    Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    std::string what = fmt::format("cannot listen on port {}", port);
    if (!socket) return errno_error(errno, what);
    int yes = 1, no = 0;
    setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_storage address{};
    socklen_t length = sizeof(sockaddr_in);
    address.ss_family = static_cast<sa_family_t>(family);
    if (family == AF_INET6) {
        setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
        reinterpret_cast<sockaddr_in6*>(&address)->sin6_port = htons(port);
        length = sizeof(sockaddr_in6);
    } else {
        reinterpret_cast<sockaddr_in*>(&address)->sin_port = htons(port);
    }
    if (bind(socket.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(socket.get(), SOMAXCONN) != 0)
        return errno_error(errno, what);
    length = sizeof address;
    if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
        return errno_error(errno, what);
    uint16_t bound = family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                        : reinterpret_cast<sockaddr_in*>(&address)->sin_port;
    return Listener{std::move(socket), ntohs(bound)};
}

bool has_no_ipv6(const core::Error& error) {
    return error.errno_value() == EAFNOSUPPORT || error.errno_value() == EADDRNOTAVAIL;
}

std::string numeric(const sockaddr_storage& address, socklen_t length) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(reinterpret_cast<const sockaddr*>(&address), length, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0)
        return {};
    std::string_view found = text.data();
    if (found.starts_with(kMappedPrefix)) found.remove_prefix(kMappedPrefix.size());
    return std::string(found);
}

}  // namespace

Result<Destination> find_destination(const std::string& host, uint16_t port) {
    Destination destination{.name = fmt::format("{}:{}", host, port), .addresses = {}};
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found); status != 0)
        return std::unexpected(core::name_service_error(status, errno, host).context(destination.name));
    std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
    for (const addrinfo* entry = list.get(); entry != nullptr; entry = entry->ai_next) {
        Destination::Address& address = destination.addresses.emplace_back();
        address.length = std::min(entry->ai_addrlen, static_cast<socklen_t>(sizeof address.bytes));
        std::memcpy(&address.bytes, entry->ai_addr, address.length);
    }
    return destination;
}

Result<Descriptor> connect_to(const Destination& destination, Deadline deadline) {
    Result<Descriptor> last =
        system_error("{}: the name has no address", destination.name).because(core::Cause::kNotFound);
    for (const Destination::Address& address : destination.addresses) {
        last = connect_address(address, destination.name, deadline);
        if (last) break;
    }
    return last;
}

Result<Descriptor> connect_to(const std::string& host, uint16_t port, Deadline deadline) {
    BELAY_TRY(destination, find_destination(host, port));
    return connect_to(destination, deadline);
}

Result<Listener> listen_on(std::span<const uint16_t> ports) {
    Result<Listener> last = system_error("no port to listen on");
    for (uint16_t port : ports) {
        last = listen_at(AF_INET6, port);
        // Never for a port that is taken: who has it on IPv6 alone would stand between this one and those who come.
        if (!last && has_no_ipv6(last.error())) last = listen_at(AF_INET, port);
        if (last) break;
    }
    return last;
}

std::string peer_address(int socket) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
    return numeric(address, length);
}

std::string source_of(int socket) {
    constexpr std::string_view kLoopback = "loopback";
    std::string address = peer_address(socket);
    if (address.starts_with("127.") || address == "::1") return std::string(kLoopback);
    in6_addr bytes{};
    if (inet_pton(AF_INET6, address.c_str(), &bytes) != 1) return address;
    return std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes / 2);
}

std::string own_address(int socket) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return {};
    return numeric(address, length);
}

Result<bool> wait_readable(int socket, Deadline deadline) {
    BELAY_TRY(events, wait_for(socket, POLLIN, deadline));
    return events != 0;
}

bool was_cut_short(const core::Error& error, const Deadline& deadline) {
    return error.cause() == core::Cause::kTimedOut && deadline.is_over();
}

void Channel::seal(Seals seals) {
    left_.reset();  // it came before
    seals_ = std::move(seals);
    set_limit(kMaxBody);
}

Result<> Channel::send(const Message& message, Deadline deadline) {
    if (denied_) return std::unexpected(*denied_);
    std::string bytes = seals_ ? seals_->encode(message) : encode(message);
    std::string_view rest = bytes;
    while (!rest.empty()) {
        ssize_t n = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
        if (n >= 0) {
            rest.remove_prefix(static_cast<size_t>(n));
        } else if (errno == EAGAIN) {
            BELAY_TRY(events, wait_for(socket_.get(), POLLOUT, deadline));
            if (events == 0)
                return system_error("sending to {}: timed out", peer_address(socket_.get()))
                    .because(core::Cause::kTimedOut);
        } else if (errno != EINTR) {
            return errno_error(errno, "the connection ended");
        }
    }
    return {};
}

Result<std::optional<Message>> Channel::try_receive() {
    if (denied_) return std::unexpected(*denied_);
    if (left_) return std::exchange(left_, std::nullopt);
    std::array<char, 16 * 1024> buffer;
    for (;;) {
        BELAY_TRY(message, parser_.next());
        if (message) return open(std::move(*message));
        ssize_t n = recv(socket_.get(), buffer.data(), buffer.size(), 0);
        if (n > 0)
            parser_.feed({buffer.data(), static_cast<size_t>(n)});
        else if (n == 0)
            return system_error("the other side closed the connection").because(core::Cause::kEnded);
        else if (errno == EAGAIN)
            return std::optional<Message>();
        else if (errno != EINTR)
            return errno_error(errno, "the connection ended");
    }
}

Result<std::optional<Message>> Channel::open(Message message) {
    if (!seals_) return std::optional(std::move(message));
    auto opened = seals_->open(std::move(message));
    if (opened) return std::optional(std::move(*opened));
    denied_ =
        std::move(opened.error()).context(fmt::format("receiving from {}", peer_address(socket_.get())));
    shutdown(socket_.get(), SHUT_RDWR);  // the other side hears of it
    return std::unexpected(*denied_);
}

Result<Message> Channel::receive(Deadline deadline) {
    for (;;) {
        BELAY_TRY(message, try_receive());
        if (message) return std::move(*message);
        BELAY_TRY(readable, wait_readable(socket_.get(), deadline));
        if (!readable)
            return system_error("receiving from {}: timed out", peer_address(socket_.get()))
                .because(core::Cause::kTimedOut);
    }
}

Result<std::string> Channel::receive(uint8_t type, Deadline deadline) {
    BELAY_TRY(message, receive(deadline));
    if (message.type == type) return std::move(message.body);
    left_ = std::move(message);
    return system_error("message {} came instead of {}", left_->type, type);
}

}  // namespace belay::transfer
