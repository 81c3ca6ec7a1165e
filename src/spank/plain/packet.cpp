#include "spank/plain/packet.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace belay::spank {

namespace {

constexpr size_t kSpace = CMSG_SPACE(kMostDescriptors * sizeof(int));

int wait_for_input(int fd, int64_t give_up) {
    for (;;) {
        pollfd waiting{.fd = fd, .events = POLLIN, .revents = 0};
        int64_t left = give_up - monotonic_milliseconds();
        int ready = poll(&waiting, 1, left <= 0 ? 0 : left < INT_MAX ? static_cast<int>(left) : INT_MAX);
        if (ready > 0) return 0;
        if (ready < 0 && errno != EINTR) return errno;
        if (ready == 0 && left <= 0) return ETIMEDOUT;
    }
}

// Until `attempt`, which must not block, has an answer: another process may have been quicker.
template <typename Attempt>
int repeat(int fd, int64_t give_up, Attempt attempt) {
    for (;;) {
        if (int error = wait_for_input(fd, give_up)) return error;
        int error = attempt();
        if (error != EAGAIN && error != EINTR) return error;
        if (monotonic_milliseconds() >= give_up) return ETIMEDOUT;
    }
}

void close_all(Packet& packet) {
    while (packet.count > 0) close(packet.descriptors[--packet.count]);
}

// Of more, the kernel drops those that there is no room for.
static_assert(kSpace == CMSG_LEN(kMostDescriptors * sizeof(int)));

void take_descriptors(msghdr& message, Packet& packet) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
        size_t size = part->cmsg_len - CMSG_LEN(0);
        packet.count = static_cast<int>(size / sizeof(int));
        memcpy(packet.descriptors, CMSG_DATA(part), size);
    }
}

bool is_understood(const Packet& packet) {
    if (packet.verdict == kRefuse) return packet.count == 0;
    return packet.verdict == kOffer && (packet.count == kUserNamespace || packet.count == kMostDescriptors);
}

int look(int link, Packet& packet) {
    packet = {};
    char verdict = 0;
    iovec data{.iov_base = &verdict, .iov_len = 1};
    alignas(cmsghdr) char control[kSpace] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    ssize_t size = recvmsg(link, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size < 0) return errno;
    if (size == 0) return EPIPE;
    packet.verdict = static_cast<Verdict>(verdict);
    take_descriptors(message, packet);
    bool cut = (message.msg_flags & MSG_CTRUNC) != 0;
    if (!cut && is_understood(packet)) return 0;
    int error = cut && packet.count < kMostDescriptors ? EMFILE : EPROTO;
    close_all(packet);
    return error;
}

}  // namespace

int64_t monotonic_milliseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

int send_packet(int link, const Packet& packet) {
    char verdict = packet.verdict;
    iovec data{.iov_base = &verdict, .iov_len = 1};
    alignas(cmsghdr) char control[kSpace] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    if (packet.count > 0) {
        size_t size = static_cast<size_t>(packet.count) * sizeof(int);
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(size);
        cmsghdr* part = CMSG_FIRSTHDR(&message);
        part->cmsg_level = SOL_SOCKET;
        part->cmsg_type = SCM_RIGHTS;
        part->cmsg_len = CMSG_LEN(size);
        memcpy(CMSG_DATA(part), packet.descriptors, size);
    }
    for (;;) {
        if (sendmsg(link, &message, MSG_NOSIGNAL) >= 0) return 0;
        if (errno != EINTR) return errno;
    }
}

int look_at_packet(int link, int64_t give_up, Packet& packet) {
    return repeat(link, give_up, [&] { return look(link, packet); });
}

int take_byte(int pipe, int64_t give_up, char& byte) {
    return repeat(pipe, give_up, [&] {
        ssize_t size = read(pipe, &byte, 1);
        return size < 0 ? errno : size == 0 ? EPIPE : 0;
    });
}

}  // namespace belay::spank
