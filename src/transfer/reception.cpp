#include "transfer/reception.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <poll.h>
#include <ranges>
#include <sys/socket.h>

namespace belay::transfer {

namespace {

using core::Descriptor;
using core::Result;
using core::system_error;

constexpr std::string_view kConnectionEnded = "its connection ended";
constexpr int kMostPerRound = 64;  // connections that are taken before those that stand are heard again

core::Duration monotonic_now() {
    return core::system_clock().monotonic();
}

}  // namespace

std::optional<size_t> who_gives_way(std::span<const Stranger> strangers, core::Duration now,
                                    core::Duration patience) {
    if (strangers.empty()) return std::nullopt;
    std::map<std::string_view, size_t> places;
    for (const Stranger& each : strangers) ++places[each.source];
    size_t most = std::ranges::max(std::views::values(places));
    auto first =
        std::ranges::find_if(strangers, [&](const Stranger& each) { return places[each.source] == most; });
    if (most == 1 && now < first->since + patience) return std::nullopt;
    return static_cast<size_t>(first - strangers.begin());
}

Reception::Reception(int listener, Settings settings) : listener_(listener), settings_(std::move(settings)) {
    members_.resize(settings_.ranks);
}

Result<> Reception::accept_waiting() {
    for (int taken = 0; taken < kMostPerRound; ++taken) {
        if (connections_.size() >= settings_.ranks + kPlacesForStrangers && !make_place()) return {};
        BELAY_TRY(nonce, make_nonce());
        Descriptor socket(accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket && Shortage::is_lack(errno)) rest_for_want_of(errno);
        if (!socket) return {};
        admit(std::move(socket), std::move(nonce));
    }
    return {};
}

void Reception::admit(Descriptor socket, std::string nonce) {
    shortage_.relieve();
    Connection& connection = connections_.emplace_back();
    connection.stranger = {source_of(socket.get()), monotonic_now()};
    connection.socket = std::move(socket);
    connection.nonce = std::move(nonce);
    connection.outgoing = encode({kChallenge, encode_challenge(connection.nonce, settings_.offer)});
    write_to(connection);
}

// False where nobody gives way yet.
bool Reception::make_place() {
    auto now = monotonic_now();
    shortage_.note(Shortage::kPlaces, now);
    std::vector<Stranger> strangers;
    std::vector<Connections::iterator> places;
    for (auto it = connections_.begin(); it != connections_.end(); ++it) {
        if (it->rank) continue;
        strangers.push_back(it->stranger);
        places.push_back(it);
    }
    auto leaving = who_gives_way(strangers, now, settings_.patience.stranger_without_room);
    if (!leaving) return false;
    end(places[*leaving]);
    return true;
}

// There are no descriptors or no memory for another one: who has had time enough to prove itself goes.
void Reception::rest_for_want_of(int lack) {
    auto now = monotonic_now();
    shortage_.note(lack, now);
    for (Connection& each : connections_)
        if (!each.rank && now >= each.stranger.since + settings_.patience.stranger_without_room)
            each.broken = true;
}

void Reception::prove(Connection& connection, const std::string& body) {
    auto proof = check_proof(body, settings_.secret, settings_.purpose, connection.nonce);
    if (proof && (proof->rank < settings_.first_rank || proof->rank >= settings_.ranks))
        proof = system_error("rank {} is not one of those that are awaited", proof->rank);
    if (!proof) {
        last_refusal_ = std::move(proof.error());
        connection.broken = true;
        return;
    }
    // A rank that comes again has lost its connection.
    if (Connection* before = member(proof->rank)) before->broken = true;
    connection.rank = proof->rank;
    members_[proof->rank] = &connection;
    refused_.erase(proof->rank);
    connection.parser.set_limit(kMaxBody + kMacBytes);
    connection.outgoing +=
        encode({kWelcome, encode_welcome(settings_.secret, settings_.purpose, connection.nonce, *proof)});
    connection.seals.emplace(Session({.secret = settings_.secret,
                                      .purpose = settings_.purpose,
                                      .server_nonce = connection.nonce,
                                      .client_nonce = proof->nonce,
                                      .rank = proof->rank},
                                     Side::kServer));
}

void Reception::break_off(Connection& connection, core::Error why) {
    connection.broken = true;
    connection.end = std::move(why);
}

void Reception::read_from(Connection& connection, const Handler& handler) {
    int64_t received = core::to_nanoseconds(core::system_clock().now());
    std::array<char, 64 * 1024> buffer;
    ssize_t n = recv(connection.socket.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) return break_off(connection, core::errno_error(errno, kConnectionEnded).error());
    if (n == 0)
        return break_off(connection,
                         system_error("{}", kConnectionEnded).because(core::Cause::kEnded).error());
    connection.parser.feed({buffer.data(), static_cast<size_t>(n)});
    while (!connection.broken) {
        auto message = connection.parser.next();
        if (!message) return break_off(connection, std::move(message.error()).context("it sent"));
        if (!*message) return;
        if (connection.seals) {
            auto opened = connection.seals->open(std::move(**message));
            if (!opened)
                return break_off(
                    connection,
                    std::move(opened.error())
                        .context(fmt::format("receiving from {}", peer_address(connection.socket.get()))));
            connection.broken = !handler(*connection.rank, std::move(*opened), received);
        } else if ((*message)->type == kProof) {
            prove(connection, (*message)->body);
        } else {
            connection.broken = true;
        }
    }
}

void Reception::write_to(Connection& connection) {
    while (!connection.outgoing.empty() && !connection.broken) {
        ssize_t n = ::send(connection.socket.get(), connection.outgoing.data(), connection.outgoing.size(),
                           MSG_NOSIGNAL);
        if (n > 0)
            connection.outgoing.erase(0, static_cast<size_t>(n));
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            break_off(connection, core::errno_error(errno, kConnectionEnded).error());
    }
}

Reception::Connections::iterator Reception::end(Connections::iterator connection) {
    if (connection->rank && members_[*connection->rank] == &*connection) {
        members_[*connection->rank] = nullptr;
        if (connection->end) refused_.insert_or_assign(*connection->rank, std::move(*connection->end));
    }
    shortage_.relieve();
    return connections_.erase(connection);
}

void Reception::drop_broken() {
    auto now = monotonic_now();
    for (auto it = connections_.begin(); it != connections_.end();) {
        bool late = !it->rank && now > it->stranger.since + settings_.patience.stranger;
        it = it->broken || late ? end(it) : std::next(it);
    }
}

Result<> Reception::step(Deadline deadline, const Handler& handler, int wake) {
    // While there is no room the listener is not looked at: it would wake this at once, again and again.
    bool resting = monotonic_now() < shortage_.resting_until();
    if (resting) deadline = deadline.but_within(shortage_.resting_until() - monotonic_now());
    std::vector<pollfd> entries;
    entries.push_back({resting ? -1 : listener_, POLLIN, 0});
    if (wake >= 0) entries.push_back({wake, POLLIN, 0});
    const size_t first = entries.size();
    std::vector<Connection*> polled;
    for (Connection& connection : connections_) {
        write_to(connection);
        short events = connection.outgoing.empty() ? POLLIN : POLLIN | POLLOUT;
        entries.push_back({connection.socket.get(), events, 0});
        polled.push_back(&connection);
    }
    int ready = poll(entries.data(), entries.size(),
                     deadline.but_within(std::chrono::seconds(1)).poll_milliseconds());
    if (ready < 0 && errno != EINTR) return core::errno_error(errno, "cannot wait for the nodes");
    if (ready > 0) {
        for (size_t i = 0; i < polled.size(); ++i) {
            if (entries[first + i].revents != 0) read_from(*polled[i], handler);
            write_to(*polled[i]);
        }
        if (entries[0].revents != 0) BELAY_CHECK(accept_waiting());
    }
    drop_broken();
    return {};
}

std::optional<Channel> Reception::take_member() {
    auto found = std::ranges::find_if(connections_, [](const Connection& each) {
        return each.seals && !each.broken && each.outgoing.empty();
    });
    if (found == connections_.end()) return std::nullopt;
    Channel channel(std::move(found->socket), std::move(*found->seals));
    end(found);
    return channel;
}

bool Reception::send(uint32_t rank, const Message& message) {
    Connection* connection = member(rank);
    if (connection == nullptr || connection->broken) return false;
    connection->outgoing += connection->seals->encode(message);
    return true;
}

bool Reception::all_is_sent() const {
    return std::ranges::all_of(connections_,
                               [](const Connection& each) { return !each.rank || each.outgoing.empty(); });
}

int Reception::socket_of(uint32_t rank) const {
    const Connection* connection = member(rank);
    return connection == nullptr ? -1 : connection->socket.get();
}

std::optional<core::Error> Reception::refused(uint32_t rank) const {
    auto found = refused_.find(rank);
    return found == refused_.end() ? std::nullopt : std::optional(found->second);
}

bool Reception::has_strangers() const {
    return std::ranges::any_of(connections_, [](const Connection& each) { return !each.rank.has_value(); });
}

Result<Channel> accept_introduced(int listener, std::string_view secret, std::string_view purpose,
                                  uint32_t ranks, Deadline deadline) {
    Reception reception(listener,
                        {.secret = std::string(secret), .purpose = std::string(purpose), .ranks = ranks});
    auto says_nothing = [](uint32_t, const Message&, int64_t) { return false; };
    while (!deadline.is_over()) {
        BELAY_CHECK(reception.step(deadline, says_nothing));
        if (auto member = reception.take_member()) return std::move(*member);
        auto lack = reception.shortage().why(monotonic_now());
        if (lack && reception.shortage().is_of_machine()) return std::unexpected(std::move(*lack));
    }
    // Who was awaited may have found no place.
    if (auto lack = reception.shortage().why(monotonic_now())) return std::unexpected(std::move(*lack));
    if (auto refusal = reception.last_refusal())
        return std::unexpected(
            std::move(*refusal).context("who connected was not let in").because(core::Cause::kTimedOut));
    return system_error("nobody connected in time").because(core::Cause::kTimedOut);
}

}  // namespace belay::transfer
