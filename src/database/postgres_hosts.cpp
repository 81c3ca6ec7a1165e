#include "database/postgres_hosts.h"

#include "core/name_service.h"
#include "core/text.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <chrono>
#include <netdb.h>
#include <netinet/in.h>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <thread>

namespace belay::database {

using core::Deadline;
using core::Result;

namespace {

// A directory of sockets, an abstract one, or libpq's own default.
bool is_socket(std::string_view host) {
    return host.empty() || host[0] == '/' || host[0] == '@';
}

bool is_numeric(const std::string& host) {
    in6_addr address{};
    return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
           inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace

Result<std::vector<std::string>> addresses_of_host(const std::string& name) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (int status = getaddrinfo(name.c_str(), nullptr, &hints, &found); status != 0)
        return std::unexpected(core::name_service_error(status, errno, name));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> list(found, &freeaddrinfo);
    std::vector<std::string> addresses;
    for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
        std::array<char, NI_MAXHOST> text{};
        if (getnameinfo(entry->ai_addr, entry->ai_addrlen, text.data(), text.size(), nullptr, 0,
                        NI_NUMERICHOST) == 0)
            addresses.emplace_back(text.data());
    }
    if (addresses.empty()) return std::unexpected(core::name_service_error(EAI_NONAME, 0, name));
    return addresses;
}

void HostLookup::ask(const std::shared_ptr<State>& state, const std::string& name) {
    auto answer = state->service(name);
    {
        const std::lock_guard lock(state->mutex);
        state->answers.insert_or_assign(name, std::move(answer));
        state->asked.clear();
    }
    state->changed.notify_all();
}

Result<std::vector<std::string>> HostLookup::addresses(const std::string& name, const Deadline& deadline) {
    constexpr core::Duration kLongestWait = std::chrono::minutes(1);
    std::unique_lock lock(state_->mutex);
    state_->answers.erase(name);  // of another time
    for (;;) {
        if (auto answer = state_->answers.find(name); answer != state_->answers.end()) return answer->second;
        if (state_->asked.empty()) {
            try {
                std::thread([state = state_, name] { ask(state, name); }).detach();
            } catch (const std::system_error& error) {
                return core::errno_error(error.code(), "cannot start a thread");
            }
            state_->asked = name;
        }
        if (deadline.is_over())
            return core::system_error("the name service has not told the address of {} in time", name)
                .because(core::Cause::kUnreachable);
        state_->changed.wait_for(lock, std::min(deadline.left(), kLongestWait));
    }
}

Result<PostgresSettings> with_addresses(
    PostgresSettings settings,
    const std::function<Result<std::vector<std::string>>(const std::string& name)>& addresses) {
    if (settings.contains("hostaddr") || !settings.contains("host")) return settings;
    const std::string all_hosts = settings["host"],
                      all_ports = settings.contains("port") ? settings["port"] : "";
    const auto hosts = core::split(all_hosts, ',');
    if (std::ranges::all_of(hosts, is_socket)) return settings;
    const auto ports = core::split(all_ports, ',');
    if (ports.size() != 1 && ports.size() != hosts.size())
        return core::bad_input("the place of a database has {} and {}",
                               core::format_count(hosts.size(), "host"),
                               core::format_count(ports.size(), "port"))
            .hint("write one port, or one for each host");
    std::vector<std::string> out_hosts, out_addresses, out_ports;
    for (size_t i = 0; i < hosts.size(); ++i) {
        const std::string host(hosts[i]);
        std::vector<std::string> found = {is_socket(host) ? std::string() : host};
        if (!is_socket(host) && !is_numeric(host)) {
            BELAY_TRY(answer, addresses(host));
            found = std::move(answer);
        }
        for (std::string& address : found) {
            out_hosts.push_back(host);
            out_addresses.push_back(std::move(address));
            out_ports.emplace_back(ports[ports.size() == 1 ? 0 : i]);
        }
    }
    settings["host"] = core::join(out_hosts, ",");
    settings["hostaddr"] = core::join(out_addresses, ",");
    if (!all_ports.empty()) settings["port"] = core::join(out_ports, ",");
    return settings;
}

}  // namespace belay::database
