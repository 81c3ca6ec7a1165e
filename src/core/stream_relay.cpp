#include "core/stream_relay.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace belay::core {

namespace {

constexpr size_t kChunk = size_t{64} << 10;

// Without a question to a file server: a file is not looked at.
bool is_pipe_or_socket(int fd) {
    int type = 0;
    socklen_t size = sizeof type;
    return fcntl(fd, F_GETPIPE_SZ) >= 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0;
}

bool are_one(int a, int b) {
    auto name = [](int fd) {
        std::error_code error;
        return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
    };
    return !name(a).empty() && name(a) == name(b);
}

Result<> move_above_streams(Descriptor& end) {
    if (end.get() > STDERR_FILENO) return {};
    Descriptor moved(fcntl(end.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
    if (!moved) return errno_error(errno, "cannot duplicate a descriptor");
    end = std::move(moved);
    return {};
}

// false: nobody reads any more.
bool write_to_reader(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t size = write(fd, bytes.data(), bytes.size());
        if (size >= 0) {
            bytes.remove_prefix(static_cast<size_t>(size));
        } else if (errno == EAGAIN) {  // whose other end somebody made so
            pollfd entry{.fd = fd, .events = POLLOUT, .revents = 0};
            poll(&entry, 1, -1);
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

}  // namespace

Result<StreamRelay> StreamRelay::create() {
    StreamRelay relay;
    for (int stream : {STDOUT_FILENO, STDERR_FILENO}) {
        if (!is_pipe_or_socket(stream)) continue;
        if (!relay.lanes_.empty() && are_one(STDOUT_FILENO, STDERR_FILENO)) {
            relay.lanes_[0].streams.push_back(stream);
            continue;
        }
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) return errno_error(errno, "cannot create a pipe");
        Lane lane{.reader = Descriptor(ends[0]), .writer = Descriptor(ends[1]), .streams = {stream}};
        BELAY_CHECK(move_above_streams(lane.reader));
        BELAY_CHECK(move_above_streams(lane.writer));
        fcntl(lane.reader.get(), F_SETFL, O_NONBLOCK);
        relay.lanes_.push_back(std::move(lane));
    }
    return relay;
}

std::vector<int> StreamRelay::descriptors() const {
    std::vector<int> out;
    for (const Lane& lane : lanes_) out.push_back(lane.writer.get());
    return out;
}

void StreamRelay::take_over() {
    for (Lane& lane : lanes_) {
        for (int stream : lane.streams) dup2(lane.writer.get(), stream);
        lane.writer.reset();
        lane.reader.reset();
    }
}

void StreamRelay::release() {
    for (Lane& lane : lanes_) lane.writer.reset();
}

std::vector<pollfd> StreamRelay::entries() const {
    std::vector<pollfd> out;
    for (const Lane& lane : lanes_)
        if (lane.reader) out.push_back({.fd = lane.reader.get(), .events = POLLIN, .revents = 0});
    return out;
}

void StreamRelay::carry() {
    std::array<char, kChunk> buffer;
    for (Lane& lane : lanes_) {
        while (lane.reader) {
            const ssize_t size = read(lane.reader.get(), buffer.data(), buffer.size());
            if (size < 0 && errno == EINTR) continue;
            if (size < 0 && errno == EAGAIN) break;
            if (size <= 0 || !write_to_reader(lane.streams[0], {buffer.data(), static_cast<size_t>(size)}))
                lane.reader.reset();
        }
    }
}

}  // namespace belay::core
