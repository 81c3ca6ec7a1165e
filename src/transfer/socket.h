// TCP with deadlines. Nothing here waits past the deadline it was given, except for the name service.
#pragma once

#include "core/deadline.h"
#include "core/error.h"
#include "core/file.h"
#include "transfer/message.h"
#include "transfer/session.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <sys/socket.h>
#include <vector>

namespace belay::transfer {

using core::Deadline;

// Where a host's name leads.
struct Destination {
    struct Address {
        sockaddr_storage bytes{};
        socklen_t length = 0;
    };
    std::string name;  // "HOST:PORT"
    std::vector<Address> addresses;
};
// Asks the name service, for as long as that takes. Errors: kSystem, those of core/name_service.h.
core::Result<Destination> find_destination(const std::string& host, uint16_t port);

// A connection to the first of the addresses that takes one, not blocking afterwards. Errors: kSystem,
// with the reason of the last address.
core::Result<core::Descriptor> connect_to(const Destination& destination, Deadline deadline);
// Both in one.
core::Result<core::Descriptor> connect_to(const std::string& host, uint16_t port, Deadline deadline);

struct Listener {
    core::Descriptor socket;  // not blocking
    uint16_t port = 0;
};
inline constexpr uint16_t kAnyPort[] = {0};
// Listens on all addresses, of IPv6 and of IPv4, on the first of the ports that is free for both; 0 takes any. Where the
// machine has no IPv6, on those of IPv4. Errors: kSystem.
core::Result<Listener> listen_on(std::span<const uint16_t> ports);

// Numeric; an IPv4 address also where the socket speaks IPv6. Empty if it is not connected.
std::string peer_address(int socket);
std::string own_address(int socket);

// Whom a connection comes from, for counting: who may choose among many addresses has one source. All of the
// loopback interface is one, and so is a network of IPv6 (its first 64 bits).
std::string source_of(int socket);

// Whether the socket can be read (or has ended) before the deadline. Errors: kSystem.
core::Result<bool> wait_readable(int socket, Deadline deadline);

// Whether a try failed for want of time alone: the one before it, which had more, says more.
bool was_cut_short(const core::Error& error, const Deadline& deadline);

// Messages over one connection. Those of strangers, until both sides have proved themselves.
class Channel {
  public:
    Channel() = default;
    explicit Channel(core::Descriptor socket) : socket_(std::move(socket)) {}
    // Of one that has been introduced already.
    Channel(core::Descriptor socket, Seals seals) : socket_(std::move(socket)) { seal(std::move(seals)); }

    // From now on messages are sealed (session.h), and bodies may have kMaxBody bytes.
    void seal(Seals seals);
    // Null before.
    const Session* session() const { return seals_ ? &seals_->session() : nullptr; }

    // Errors: kSystem; kTimedOut at the deadline, kEnded where the other side closed the connection,
    // changed_on_its_way() from the first such message on.
    core::Result<> send(const Message& message, Deadline deadline);
    core::Result<Message> receive(Deadline deadline);
    // As receive, where only this type will do; another one is left for the next call.
    core::Result<std::string> receive(uint8_t type, Deadline deadline);
    // The next message if it has arrived whole, without waiting.
    core::Result<std::optional<Message>> try_receive();

    void set_limit(size_t max_body) { parser_.set_limit(max_body + (seals_ ? kMacBytes : 0)); }
    int socket() const { return socket_.get(); }
    void close() { socket_.reset(); }

  private:
    core::Result<std::optional<Message>> open(Message message);

    core::Descriptor socket_;
    MessageParser parser_;
    std::optional<Message> left_;
    std::optional<Seals> seals_;
    std::optional<core::Error> denied_;  // why nothing more is believed
};

}  // namespace belay::transfer
