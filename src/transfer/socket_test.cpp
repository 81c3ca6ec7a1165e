#include "transfer/socket.h"

#include <cerrno>
#include <netinet/in.h>
#include <vector>

#include <gtest/gtest.h>

namespace belay::transfer {
namespace {

// A listener of somebody else: on all addresses of one family alone.
class Occupant {
  public:
    explicit Occupant(int family) : socket_(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        if (!socket_) return;
        sockaddr_storage address{};
        address.ss_family = static_cast<sa_family_t>(family);
        socklen_t length = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
        auto* bytes = reinterpret_cast<sockaddr*>(&address);
        int yes = 1;
        if (family == AF_INET6) setsockopt(socket_.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
        setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
        if (bind(socket_.get(), bytes, length) != 0 || listen(socket_.get(), 1) != 0 ||
            getsockname(socket_.get(), bytes, &length) != 0)
            return;
        port_ = ntohs(family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&address)->sin6_port
                                         : reinterpret_cast<sockaddr_in*>(&address)->sin_port);
    }
    uint16_t port() const { return port_; }  // 0 where the machine has no such addresses

  private:
    core::Descriptor socket_;
    uint16_t port_ = 0;
};

// Who holds it on IPv6 would be met there in place of this one, at the number that both sides prove.
TEST(transfer, a_port_that_is_taken_on_one_family_is_passed_over) {
    for (const int family : {AF_INET6, AF_INET}) {
        const Occupant somebody(family);
        if (somebody.port() == 0) continue;
        const auto alone = listen_on(std::vector{somebody.port()});
        ASSERT_FALSE(alone) << family;
        EXPECT_EQ(alone.error().errno_value(), EADDRINUSE);
        const auto next = listen_on(std::vector<uint16_t>{somebody.port(), 0});
        ASSERT_TRUE(next) << family;
        EXPECT_NE(next->port, somebody.port());
    }
}

TEST(transfer, a_listener_is_reached_by_both_families) {
    const auto listener = listen_on(kAnyPort).value();
    EXPECT_TRUE(connect_to("127.0.0.1", listener.port, Deadline::after(std::chrono::seconds(10))));
    if (Occupant(AF_INET6).port() != 0) {
        EXPECT_TRUE(connect_to("::1", listener.port, Deadline::after(std::chrono::seconds(10))));
    }
}

}  // namespace
}  // namespace belay::transfer
