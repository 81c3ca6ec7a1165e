#include "transfer/rendezvous.h"

#include "core/hash.h"
#include "transfer/reception.h"

#include <algorithm>
#include <optional>
#include <thread>

namespace belay::transfer {

namespace {

using core::Result;
using core::system_error;

constexpr uint32_t kFirstPort = 16384, kPorts = 16384;
// One that listens there and says nothing costs little at first.
constexpr core::Duration kFirstTry = std::chrono::milliseconds(200), kLongestTry = std::chrono::seconds(2);
constexpr core::Duration kFirstPause = std::chrono::milliseconds(20),
                         kLongestPause = std::chrono::milliseconds(500);

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

}  // namespace

struct Root::State {
    MoreFiles more_files;
    Listener listener;
    Reception reception;

    State(Listener own_listener, Reception::Settings settings)
        : listener(std::move(own_listener)), reception(listener.socket.get(), std::move(settings)) {}

    // Probes of the clock are answered here, everything else by the handler.
    bool take(uint32_t rank, Message message, int64_t received, const Handler& handler) {
        if (message.type == kClockProbe && message.body.size() <= sizeof(uint64_t)) {
            std::string body = std::move(message.body);
            put_u64(body, static_cast<uint64_t>(received));
            put_u64(body, static_cast<uint64_t>(wall_nanoseconds()));
            reception.send(rank, {kClockAnswer, std::move(body)});
            return true;
        }
        if (message.type < kFirstFreeType) return false;
        handler(rank, std::move(message));
        return true;
    }
};

Root::Root(std::unique_ptr<State> state) : state_(std::move(state)) {}
Root::Root(Root&&) noexcept = default;
Root& Root::operator=(Root&&) noexcept = default;
Root::~Root() = default;

Result<Root> Root::open(std::span<const uint16_t> ports, StepSecret secret, uint32_t size,
                        Patience patience) {
    BELAY_TRY(listener, listen_on(ports));
    std::string purpose = step_purpose(listener.port);
    return Root(
        std::make_unique<State>(std::move(listener), Reception::Settings{.secret = std::move(secret.text),
                                                                         .offer = std::move(secret.offer),
                                                                         .purpose = std::move(purpose),
                                                                         .first_rank = 1,
                                                                         .ranks = size,
                                                                         .patience = patience}));
}

uint16_t Root::port() const {
    return state_->listener.port;
}

Result<bool> Root::serve(Deadline deadline, const std::function<bool()>& done, const Handler& handler,
                         const std::function<int()>& wake) {
    auto take = [&](uint32_t rank, Message message, int64_t received) {
        return state_->take(rank, std::move(message), received, handler);
    };
    while (!done()) {
        if (deadline.is_over()) return false;
        BELAY_CHECK(state_->reception.step(deadline, take, wake ? wake() : -1));
    }
    return true;
}

bool Root::send(uint32_t rank, const Message& message) {
    return state_->reception.send(rank, message);
}

Result<bool> Root::flush(Deadline deadline, const Handler& handler) {
    const Handler nothing = [](uint32_t, const Message&) {};
    return serve(deadline, [&] { return state_->reception.all_is_sent(); }, handler ? handler : nothing);
}

bool Root::connected(uint32_t rank) const {
    return state_->reception.is_member(rank);
}

std::optional<core::Error> Root::refused(uint32_t rank) const {
    return state_->reception.refused(rank);
}

std::optional<core::Error> Root::shortage() const {
    return state_->reception.shortage().why(core::system_clock().monotonic());
}

bool Root::is_full() const {
    return state_->reception.shortage().lasts(core::system_clock().monotonic()) &&
           !state_->reception.has_strangers();
}

std::string Root::address_of(uint32_t rank) const {
    return peer_address(state_->reception.socket_of(rank));
}

std::string Root::own_address_toward(uint32_t rank) const {
    return own_address(state_->reception.socket_of(rank));
}

std::string step_purpose(uint16_t port) {
    return fmt::format("step at port {}", port);
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

Result<Channel> join(const std::string& address, std::span<const uint16_t> ports, const SecretOf& secret_of,
                     uint32_t rank, Deadline deadline) {
    core::Duration pause = kFirstPause, try_time = kFirstTry;
    std::optional<core::Error> last;
    for (;;) {
        bool told = false;  // in this round, more than that nobody answers
        for (uint16_t port : ports) {
            Deadline until = deadline.but_within(try_time);
            auto socket = connect_to(address, port, until);
            Result<> known = socket ? Result<>() : Result<>(std::unexpected(socket.error()));
            if (socket) {
                Channel channel(std::move(*socket));
                known = introduce(channel, secret_of, step_purpose(port), rank, until);
                if (known) return channel;
            }
            if (known.error().cause() == core::Cause::kDenied && known.error().hint_text().empty())
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
        try_time = std::min(2 * try_time, kLongestTry);
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
