// The system's side of AddressLookup.
#include "bench/parallel/rendezvous.h"
#include "core/file.h"
#include "core/name_service.h"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <ifaddrs.h>
#include <memory>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace belay::bench {

namespace {

constexpr core::Duration kNameTime = std::chrono::seconds(25);

using core::errno_error;
using core::Result;
using core::system_error;

Result<std::string> numeric(const sockaddr* address, socklen_t length) {
    std::array<char, NI_MAXHOST> text;
    if (int code = getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST))
        return system_error("an address of this node cannot be written: {}", gai_strerror(code));
    return std::string(text.data());
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

// Of a numeric address: nobody is asked.
AddressList parsed(const std::string& address) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    addrinfo* list = nullptr;
    if (getaddrinfo(address.c_str(), "9", &hints, &list) != 0) list = nullptr;
    return {list, &freeaddrinfo};
}

// Connecting a datagram socket sends nothing; it only makes the kernel choose the way and so the address.
Result<std::string> address_toward(const std::string& address) {
    AddressList list = parsed(address);
    if (!list) return system_error("\"{}\" is not an address", address);
    core::Descriptor socket(::socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!socket) return errno_error(errno, "cannot make a socket");
    sockaddr_storage local{};
    socklen_t length = sizeof local;
    if (connect(socket.get(), list->ai_addr, list->ai_addrlen) != 0)
        return errno_error(errno, "cannot find a network interface");
    if (getsockname(socket.get(), reinterpret_cast<sockaddr*>(&local), &length) != 0)
        return errno_error(errno, "cannot read the address of a socket");
    return numeric(reinterpret_cast<sockaddr*>(&local), length);
}

Result<std::string> outside_address() {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return errno_error(errno, "cannot list the network interfaces of this node");
    std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(first, &freeifaddrs);
    for (const ifaddrs* entry = first; entry; entry = entry->ifa_next)
        if (entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET && (entry->ifa_flags & IFF_UP) &&
            !(entry->ifa_flags & IFF_LOOPBACK))
            return numeric(entry->ifa_addr, sizeof(sockaddr_in));
    return system_error("this node has no network interface that others could reach")
        .because(core::Cause::kUnreachable);
}

}  // namespace

AddressLookup system_lookup() {
    return {.address_of_name =
                [](const std::string& name) {
                    return core::address_of_name(name, core::Deadline::after(kNameTime));
                },
            .address_of_node = slurm::system_address(),
            .address_toward = address_toward,
            .outside_address = outside_address};
}

}  // namespace belay::bench
