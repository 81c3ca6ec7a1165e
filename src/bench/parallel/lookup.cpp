// The system's side of AddressLookup.
#include "bench/parallel/rendezvous.h"
#include "core/file.h"
#include "core/name_service.h"

#include <arpa/inet.h>
#include <array>
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

std::optional<std::string> numeric(const sockaddr* address, socklen_t length) {
    std::array<char, NI_MAXHOST> text;
    if (getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return std::nullopt;
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
std::optional<std::string> address_toward(const std::string& address) {
    AddressList list = parsed(address);
    if (!list) return std::nullopt;
    core::Descriptor socket(::socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage local{};
    socklen_t length = sizeof local;
    if (!socket || connect(socket.get(), list->ai_addr, list->ai_addrlen) != 0 ||
        getsockname(socket.get(), reinterpret_cast<sockaddr*>(&local), &length) != 0)
        return std::nullopt;
    return numeric(reinterpret_cast<sockaddr*>(&local), length);
}

std::optional<std::string> outside_address() {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return std::nullopt;
    std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> list(first, &freeifaddrs);
    for (const ifaddrs* entry = first; entry; entry = entry->ifa_next)
        if (entry->ifa_addr && entry->ifa_addr->sa_family == AF_INET && (entry->ifa_flags & IFF_UP) &&
            !(entry->ifa_flags & IFF_LOOPBACK))
            return numeric(entry->ifa_addr, sizeof(sockaddr_in));
    return std::nullopt;
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
