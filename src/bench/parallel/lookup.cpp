// The system's side of AddressLookup.
#include "bench/parallel/rendezvous.h"
#include "core/file.h"
#include "core/text.h"
#include "slurm/hostlist.h"

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

using namespace std::chrono_literals;

std::optional<std::string> numeric(const sockaddr* address, socklen_t length) {
    std::array<char, NI_MAXHOST> text;
    if (getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
        return std::nullopt;
    return std::string(text.data());
}

using AddressList = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

AddressList look_up(const std::string& name, const char* service, int flags) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_DGRAM;
    hints.ai_flags = flags;
    addrinfo* list = nullptr;
    if (getaddrinfo(name.c_str(), service, &hints, &list) != 0) list = nullptr;
    return {list, &freeaddrinfo};
}

std::vector<std::string> resolve(const std::string& name) {
    std::vector<std::string> addresses;
    AddressList list = look_up(name, nullptr, 0);
    for (const addrinfo* entry = list.get(); entry; entry = entry->ai_next)
        if (auto address = numeric(entry->ai_addr, entry->ai_addrlen)) addresses.push_back(*address);
    return addresses;
}

std::optional<std::string> node_address(const std::string& node) {
    auto output =
        core::output_of({.argv = {"scontrol", "--oneliner", "show", "node", node}}, {.timeout = 20s});
    if (!output) return std::nullopt;
    for (std::string_view word : core::split_words(*output))
        if (constexpr std::string_view kName = "NodeAddr="; word.starts_with(kName))
            return std::string(word.substr(kName.size()));
    return std::nullopt;
}

core::Result<std::string> first_node(std::string_view nodes) {
    BELAY_TRY(names, slurm::expand(nodes, "SLURM_STEP_NODELIST"));
    if (names.empty()) return core::bad_input("SLURM_STEP_NODELIST names no node");
    return names.front();
}

// Connecting a datagram socket sends nothing; it only makes the kernel choose the way and so the address.
std::optional<std::string> address_toward(const std::string& address) {
    AddressList list = look_up(address, "9", AI_NUMERICHOST | AI_NUMERICSERV);
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
    return {.resolve = resolve,
            .node_address = node_address,
            .first_node = first_node,
            .address_toward = address_toward,
            .outside_address = outside_address};
}

}  // namespace belay::bench
