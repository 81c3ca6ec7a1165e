#include "transfer/rendezvous.h"

#include "core/hash.h"
#include "transfer/shortage.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <map>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <thread>

namespace belay::transfer {

namespace {

using core::Descriptor;
using core::Result;
using core::system_error;

constexpr std::string_view kPurpose = "step";
constexpr uint32_t kFirstPort = 16384, kPorts = 16384;
constexpr core::Duration kTryTime = std::chrono::seconds(2);
constexpr core::Duration kFirstPause = std::chrono::milliseconds(20),
                         kLongestPause = std::chrono::milliseconds(500);
constexpr size_t kMoreThanMembers = 64;  // connections of strangers that may stand at the same time

int64_t wall_nanoseconds() {
    return core::to_nanoseconds(core::system_clock().now());
}

bool is_of_link(const core::Error& error) {
    switch (error.cause()) {
        case core::Cause::kUnreachable:
        case core::Cause::kTimedOut:
        case core::Cause::kEnded:
            return true;
        default:
            return false;
    }
}

struct Connection {
    Descriptor socket;
    MessageParser parser;
    std::string nonce;
    std::string outgoing;
    std::optional<uint32_t> rank;  // once it has proved itself
    core::Duration since{};
    bool broken = false;
};

}  // namespace

struct Root::State {
    MoreFiles more_files;
    Listener listener;
    std::string secret;
    uint32_t size = 0;
    Patience patience;
    Shortage shortage;
    std::list<Connection> connections;  // in the order in which they came
    std::vector<Connection*> members;   // by rank
    std::map<uint32_t, core::Error> refused;

    void accept_all();
    void admit(Descriptor socket, std::string nonce);
    void make_room(int lack);
    void read_from(Connection& connection, const Handler& handler);
    void take(Connection& connection, Message message, const Handler& handler, int64_t received);
    void prove(Connection& connection, const std::string& body);
    void write_to(Connection& connection);
    void drop_broken();
    Result<> step(Deadline deadline, const Handler& handler, int wake_descriptor);
    Connection* member(uint32_t rank) const { return rank < members.size() ? members[rank] : nullptr; }
};

void Root::State::accept_all() {
    auto is_full = [&] { return connections.size() >= size + kMoreThanMembers; };
    if (is_full()) return make_room(Shortage::kPlaces);
    while (!is_full()) {
        auto nonce = make_nonce();
        if (!nonce) return;
        Descriptor socket(accept4(listener.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!socket && Shortage::is_lack(errno)) return make_room(errno);
        if (!socket) return;
        admit(std::move(socket), std::move(*nonce));
    }
}

void Root::State::admit(Descriptor socket, std::string nonce) {
    shortage.relieve();
    Connection& connection = connections.emplace_back();
    connection.socket = std::move(socket);
    connection.nonce = std::move(nonce);
    connection.since = core::system_clock().monotonic();
    connection.outgoing = encode({kChallenge, connection.nonce});
    write_to(connection);
}

// The stranger that came first goes, unless it may still be a node of the step that is about to prove itself.
void Root::State::make_room(int lack) {
    auto now = core::system_clock().monotonic();
    shortage.note(lack, now);
    auto oldest = std::ranges::find_if(connections, [](const Connection& each) { return !each.rank; });
    if (oldest != connections.end() && now >= oldest->since + patience.stranger_without_room)
        oldest->broken = true;
}

void Root::State::prove(Connection& connection, const std::string& body) {
    auto proof = check_proof(body, secret, kPurpose, connection.nonce);
    if (!proof || proof->rank == 0 || proof->rank >= size) {
        connection.broken = true;
        return;
    }
    // A rank that comes again has lost its connection.
    if (Connection* before = member(proof->rank)) before->broken = true;
    connection.rank = proof->rank;
    members[proof->rank] = &connection;
    refused.erase(proof->rank);
    connection.parser.set_limit(kMaxBody);
    connection.outgoing += encode({kWelcome, encode_welcome(secret, kPurpose, connection.nonce, *proof)});
}

void Root::State::take(Connection& connection, Message message, const Handler& handler, int64_t received) {
    if (!connection.rank) {
        message.type == kProof ? prove(connection, message.body) : void(connection.broken = true);
    } else if (message.type == kClockProbe && message.body.size() <= sizeof(uint64_t)) {
        std::string body = message.body;
        put_u64(body, static_cast<uint64_t>(received));
        put_u64(body, static_cast<uint64_t>(wall_nanoseconds()));
        connection.outgoing += encode({kClockAnswer, std::move(body)});
    } else if (message.type >= kFirstFreeType) {
        handler(*connection.rank, std::move(message));
    } else {
        connection.broken = true;
    }
}

void Root::State::read_from(Connection& connection, const Handler& handler) {
    int64_t received = wall_nanoseconds();
    std::array<char, 64 * 1024> buffer;
    ssize_t n = recv(connection.socket.get(), buffer.data(), buffer.size(), 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
        connection.broken = true;
        return;
    }
    connection.parser.feed({buffer.data(), static_cast<size_t>(n)});
    while (!connection.broken) {
        auto message = connection.parser.next();
        if (!message) {
            connection.broken = true;
            if (connection.rank)
                refused.insert_or_assign(*connection.rank, std::move(message.error()).context("it sent"));
        }
        if (!message || !*message) return;
        take(connection, std::move(**message), handler, received);
    }
}

void Root::State::write_to(Connection& connection) {
    while (!connection.outgoing.empty() && !connection.broken) {
        ssize_t n = ::send(connection.socket.get(), connection.outgoing.data(), connection.outgoing.size(),
                           MSG_NOSIGNAL);
        if (n > 0)
            connection.outgoing.erase(0, static_cast<size_t>(n));
        else if (errno == EAGAIN)
            return;
        else if (errno != EINTR)
            connection.broken = true;
    }
}

void Root::State::drop_broken() {
    auto now = core::system_clock().monotonic();
    for (auto it = connections.begin(); it != connections.end();) {
        bool late = !it->rank && now > it->since + patience.stranger;
        if (!it->broken && !late) {
            ++it;
            continue;
        }
        if (it->rank && members[*it->rank] == &*it) members[*it->rank] = nullptr;
        it = connections.erase(it);
        shortage.relieve();
    }
}

// Waits for one round of events, at most a second, so that strangers are turned away in time.
Result<> Root::State::step(Deadline deadline, const Handler& handler, int wake_descriptor) {
    // While there is no room the listener is not looked at: it would wake this at once, again and again.
    bool resting = core::system_clock().monotonic() < shortage.resting_until();
    if (resting) deadline = deadline.but_within(shortage.resting_until() - core::system_clock().monotonic());
    std::vector<pollfd> entries;
    entries.push_back({resting ? -1 : listener.socket.get(), POLLIN, 0});
    if (wake_descriptor >= 0) entries.push_back({wake_descriptor, POLLIN, 0});
    std::vector<Connection*> polled;
    for (Connection& connection : connections) {
        write_to(connection);
        short events = connection.outgoing.empty() ? POLLIN : POLLIN | POLLOUT;
        entries.push_back({connection.socket.get(), events, 0});
        polled.push_back(&connection);
    }
    int ready = poll(entries.data(), entries.size(),
                     deadline.but_within(std::chrono::seconds(1)).poll_milliseconds());
    if (ready < 0 && errno != EINTR) return core::errno_error(errno, "cannot wait for the nodes");
    if (ready > 0) {
        size_t first = entries.size() - polled.size();
        for (size_t i = 0; i < polled.size(); ++i) {
            if (entries[first + i].revents != 0) read_from(*polled[i], handler);
            write_to(*polled[i]);
        }
        if (entries[0].revents != 0) accept_all();
    }
    drop_broken();
    return {};
}

Root::Root(std::unique_ptr<State> state) : state_(std::move(state)) {}
Root::Root(Root&&) noexcept = default;
Root& Root::operator=(Root&&) noexcept = default;
Root::~Root() = default;

Result<Root> Root::open(std::span<const uint16_t> ports, std::string secret, uint32_t size,
                        Patience patience) {
    BELAY_TRY(listener, listen_on(ports));
    auto state = std::make_unique<State>();
    state->listener = std::move(listener);
    state->secret = std::move(secret);
    state->size = size;
    state->patience = patience;
    state->members.resize(size);
    return Root(std::move(state));
}

uint16_t Root::port() const {
    return state_->listener.port;
}

Result<bool> Root::serve(Deadline deadline, const std::function<bool()>& done, const Handler& handler,
                         const std::function<int()>& wake) {
    while (!done()) {
        if (deadline.is_over()) return false;
        BELAY_CHECK(state_->step(deadline, handler, wake ? wake() : -1));
    }
    return true;
}

bool Root::send(uint32_t rank, Message message) {
    Connection* connection = state_->member(rank);
    if (connection == nullptr || connection->broken) return false;
    connection->outgoing += encode(message);
    return true;
}

Result<bool> Root::flush(Deadline deadline) {
    auto empty = [&] {
        return std::all_of(
            state_->connections.begin(), state_->connections.end(),
            [](const Connection& connection) { return !connection.rank || connection.outgoing.empty(); });
    };
    return serve(deadline, empty, [](uint32_t, const Message&) {});
}

bool Root::connected(uint32_t rank) const {
    return state_->member(rank) != nullptr;
}

std::optional<core::Error> Root::refused(uint32_t rank) const {
    auto found = state_->refused.find(rank);
    return found == state_->refused.end() ? std::nullopt : std::optional(found->second);
}

std::optional<core::Error> Root::shortage() const {
    return state_->shortage.why(core::system_clock().monotonic());
}

bool Root::is_full() const {
    return state_->shortage.lasts(core::system_clock().monotonic()) &&
           std::ranges::all_of(state_->connections,
                               [](const Connection& each) { return each.rank.has_value(); });
}

std::string Root::address_of(uint32_t rank) const {
    Connection* connection = state_->member(rank);
    return connection == nullptr ? "" : peer_address(connection->socket.get());
}

std::string Root::own_address_toward(uint32_t rank) const {
    Connection* connection = state_->member(rank);
    return connection == nullptr ? "" : own_address(connection->socket.get());
}

std::vector<uint16_t> rendezvous_ports(std::string_view step_name, size_t count) {
    core::Sha256Digest digest = core::sha256(step_name);
    uint32_t first =
        uint32_t{digest[0]} << 24 | uint32_t{digest[1]} << 16 | uint32_t{digest[2]} << 8 | digest[3];
    uint32_t stride = 1 + 2 * digest[4];  // odd: the ports of two steps that share one part again
    std::vector<uint16_t> ports;
    for (uint32_t i = 0; i < count; ++i)
        ports.push_back(static_cast<uint16_t>(kFirstPort + (first % kPorts + i * stride) % kPorts));
    return ports;
}

Result<Channel> join(const std::string& address, std::span<const uint16_t> ports, std::string_view secret,
                     uint32_t rank, Deadline deadline) {
    core::Duration pause = kFirstPause;
    std::optional<core::Error> last;
    for (;;) {
        bool told = false;  // in this round, more than that nobody answers
        for (uint16_t port : ports) {
            Deadline until = deadline.but_within(kTryTime);
            auto socket = connect_to(address, port, until);
            Result<> known = socket ? Result<>() : Result<>(std::unexpected(socket.error()));
            if (socket) {
                Channel channel(std::move(*socket));
                known = introduce(channel, secret, kPurpose, rank, until);
                if (known) return channel;
            }
            if (known.error().cause() == core::Cause::kDenied)
                known = std::unexpected(
                    std::move(known.error()).hint("is the secret of the step the same on all nodes?"));
            bool tells = !is_of_link(known.error());
            if (!last || tells || (!told && !was_cut_short(known.error(), deadline)))
                last = std::move(known.error());
            told = told || tells;
            if (deadline.is_over()) return std::unexpected(std::move(*last));
        }
        std::this_thread::sleep_for(deadline.but_within(pause).left());
        if (!last) last = system_error("no port to try").error();
        if (deadline.is_over()) return std::unexpected(std::move(*last));
        pause = std::min(2 * pause, kLongestPause);
    }
}

core::Error link_error(core::Error error) {
    if (!is_of_link(error)) return error;
    return std::move(error).because(core::Cause::kUnreachable);
}

ClockOffset clock_offset(double t0, double t1, double t2, double t3) {
    return {((t1 - t0) + (t2 - t3)) / 2, (t3 - t0) - (t2 - t1)};
}

Result<ClockOffset> measure_clock_offset(Channel& root, int probes, Deadline deadline) {
    std::optional<ClockOffset> best;
    for (int i = 0; i < probes; ++i) {
        std::string body;
        put_u64(body, static_cast<uint64_t>(i));
        // Seconds since the first of the times: doubles hold them to the nanosecond.
        int64_t sent = wall_nanoseconds();
        BELAY_CHECK(root.send({kClockProbe, body}, deadline));
        BELAY_TRY(answer, root.receive(kClockAnswer, deadline));
        int64_t back = wall_nanoseconds();
        BodyReader reader(answer);
        uint64_t number = reader.u64();
        auto since = [&](uint64_t time) {
            return static_cast<double>(static_cast<int64_t>(time) - sent) / 1e9;
        };
        double t1 = since(reader.u64()), t2 = since(reader.u64());
        if (!reader.complete() || number != static_cast<uint64_t>(i))
            return system_error("a wrong answer about the time");
        ClockOffset found = clock_offset(0, t1, t2, since(static_cast<uint64_t>(back)));
        if (!best || found.round_trip < best->round_trip) best = found;
    }
    if (!best) return system_error("no probe of the clock was asked for");
    return *best;
}

}  // namespace belay::transfer
