#include "transfer/bandwidth.h"

#include "transfer/handshake.h"
#include "transfer/reception.h"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <vector>

namespace belay::transfer {

namespace {

using core::errno_error;
using core::Result;
using core::system_error;

constexpr size_t kBlock = 256 * 1024;
constexpr int kMaxStreams = 16;
constexpr std::string_view kTooEarly = "the connection ended before the measurement";
constexpr core::Duration kSlack = std::chrono::seconds(5);  // for connecting, on a machine that is busy

Result<> check(const PairOptions& options) {
    if (options.streams < 1 || options.streams > kMaxStreams)
        return core::bad_input("{} streams: 1 to {} are possible", options.streams, kMaxStreams);
    if (options.duration <= core::Duration::zero()) return core::bad_input("no time to measure in");
    return {};
}

std::vector<pollfd> poll_set(const std::vector<Channel>& streams, short events) {
    std::vector<pollfd> entries;
    for (const Channel& stream : streams) entries.push_back({stream.socket(), events, 0});
    return entries;
}

// Counts what arrives from a quarter of the duration after the first byte on, then hangs up, which ends the
// sender. A stream that ends by itself, or a time that is over, before that is no measurement: what came
// until then may have come from a buffer.
Result<double> receive_bytes(std::vector<Channel> streams, const PairOptions& options) {
    std::vector<char> block(kBlock);
    auto entries = poll_set(streams, POLLIN);
    core::Duration first{};
    uint64_t counted = 0;
    bool started = false;
    const core::Duration warm_up = options.duration / 4;
    const core::Duration total = options.duration + warm_up;
    const core::Clock& clock = core::system_clock();
    auto is_complete = [&] { return started && clock.monotonic() >= first + total; };
    while (!options.deadline.is_over() && !is_complete()) {
        Deadline until =
            started ? options.deadline.but_within(first + total - clock.monotonic()) : options.deadline;
        if (poll(entries.data(), entries.size(), until.poll_milliseconds()) <= 0) continue;
        for (const pollfd& entry : entries) {
            if (entry.revents == 0) continue;
            ssize_t n = recv(entry.fd, block.data(), block.size(), 0);
            if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
            if (n < 0) return errno_error(errno, kTooEarly);
            if (n == 0)
                return system_error("{}: the other side closed it", kTooEarly).because(core::Cause::kEnded);
            const core::Duration now = clock.monotonic();
            if (!started) first = now;
            started = true;
            if (now - first >= warm_up) counted += static_cast<uint64_t>(n);
        }
    }
    if (!started) return system_error("no byte arrived in time").because(core::Cause::kTimedOut);
    if (!is_complete())
        return system_error("the time was over before the measurement").because(core::Cause::kTimedOut);
    return static_cast<double>(counted) / core::to_seconds(options.duration);
}

// Sends until the other side hangs up.
void send_bytes(std::vector<Channel> streams, const PairOptions& options) {
    std::vector<char> block(kBlock, 'b');
    auto entries = poll_set(streams, POLLOUT);
    Deadline until = options.deadline.but_within(2 * options.duration + kSlack);
    size_t open = entries.size();
    while (open > 0 && !until.is_over()) {
        if (poll(entries.data(), entries.size(), until.poll_milliseconds()) <= 0) continue;
        for (pollfd& entry : entries) {
            if (entry.fd < 0 || entry.revents == 0) continue;
            ssize_t n = send(entry.fd, block.data(), block.size(), MSG_NOSIGNAL);
            if (n >= 0 || errno == EAGAIN || errno == EINTR) continue;
            entry.fd = -1;
            --open;
        }
    }
}

std::string direction_name(const PairOptions& options, int direction) {
    return fmt::format("pair {} direction {}", options.name, direction);
}

Result<std::vector<Channel>> accept_streams(int listener, const PairOptions& options, int direction) {
    std::vector<Channel> streams;
    while (streams.size() < static_cast<size_t>(options.streams)) {
        BELAY_TRY(stream, accept_introduced(listener, options.secret, direction_name(options, direction),
                                            kMaxStreams, options.deadline));
        streams.push_back(std::move(stream));
    }
    return streams;
}

Result<Channel> open_stream(const std::string& address, uint16_t port, const PairOptions& options,
                            int direction, int index) {
    std::optional<core::Error> last;
    for (;;) {
        // The listener may still be busy with the round before: what it does not answer is tried again.
        Deadline until = options.deadline.but_within(std::chrono::seconds(2));
        Result<Channel> opened = system_error("not tried");
        if (auto socket = connect_to(address, port, until)) {
            Channel channel(std::move(*socket));
            auto introduced = introduce(channel, known(options.secret), direction_name(options, direction),
                                        static_cast<uint32_t>(index), until);
            opened = introduced ? Result<Channel>(std::move(channel))
                                : std::unexpected(std::move(introduced.error()));
        } else {
            opened = std::unexpected(std::move(socket.error()));
        }
        if (opened) return opened;
        if (!last || !was_cut_short(opened.error(), options.deadline)) last = std::move(opened.error());
        std::this_thread::sleep_for(options.deadline.but_within(std::chrono::milliseconds(50)).left());
        if (options.deadline.is_over()) return std::unexpected(std::move(*last));
    }
}

Result<std::vector<Channel>> open_streams(const std::string& address, uint16_t port,
                                          const PairOptions& options, int direction) {
    std::vector<Channel> streams;
    for (int i = 0; i < options.streams; ++i) {
        BELAY_TRY(stream, open_stream(address, port, options, direction, i));
        streams.push_back(std::move(stream));
    }
    return streams;
}

}  // namespace

Result<double> measure_as_listener(int listener, const PairOptions& options) {
    BELAY_CHECK(check(options));
    BELAY_TRY(incoming, accept_streams(listener, options, 1));
    auto received = receive_bytes(std::move(incoming), options);
    auto outgoing = accept_streams(listener, options, 2);
    if (!outgoing) return received ? std::unexpected(std::move(outgoing.error())) : std::move(received);
    send_bytes(std::move(*outgoing), options);
    return received;
}

Result<double> measure_as_connector(const std::string& address, uint16_t port, const PairOptions& options) {
    BELAY_CHECK(check(options));
    BELAY_TRY(outgoing, open_streams(address, port, options, 1));
    send_bytes(std::move(outgoing), options);
    BELAY_TRY(incoming, open_streams(address, port, options, 2));
    return receive_bytes(std::move(incoming), options);
}

core::Duration longest_pair_time(core::Duration duration) {
    return 4 * duration + 2 * kSlack;
}

}  // namespace belay::transfer
