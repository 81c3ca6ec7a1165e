#include "spank/plain/packet.h"

#include "core/file.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#ifndef SO_PEEK_OFF
#define SO_PEEK_OFF 42
#endif

namespace belay::spank {

namespace {

using core::Descriptor;

struct Link {
    Descriptor tasks;
    Descriptor program;
};

Link make_link() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

Packet offer_of(int count) {
    Packet packet{.verdict = kOffer, .count = count};
    for (int& fd : packet.descriptors) fd = STDIN_FILENO;
    return packet;
}

int look_now(const Link& link, Packet& packet) {
    return look_at_packet(link.tasks.get(), monotonic_milliseconds(), packet);
}

void close_all(const Packet& packet) {
    for (int i = 0; i < packet.count; ++i) close(packet.descriptors[i]);
}

long open_files() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

}  // namespace

TEST(spank, every_task_sees_the_packet) {
    Link link = make_link();
    ASSERT_EQ(send_packet(link.program.get(), offer_of(4)), 0);
    link.program.reset();
    for (int task = 0; task < 3; ++task) {
        Packet packet;
        ASSERT_EQ(look_now(link, packet), 0);
        EXPECT_EQ(packet.verdict, kOffer);
        ASSERT_EQ(packet.count, 4);
        for (int fd : packet.descriptors) EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
        close_all(packet);
    }
}

TEST(spank, a_task_waits_until_its_time_is_over_or_nobody_can_answer) {
    Link link = make_link();
    Packet packet;
    EXPECT_EQ(look_now(link, packet), ETIMEDOUT);
    link.program.reset();
    EXPECT_EQ(look_now(link, packet), EPIPE);
}

// As where another has taken what poll(2) has seen: the socket stays readable, and nothing is to be had.
TEST(spank, a_packet_that_is_lost_is_not_waited_for_without_end) {
    Link link = make_link();
    const int from_start = 0;
    ASSERT_EQ(setsockopt(link.tasks.get(), SOL_SOCKET, SO_PEEK_OFF, &from_start, sizeof from_start), 0);
    ASSERT_EQ(send_packet(link.program.get(), {.verdict = kRefuse}), 0);
    Packet packet;
    ASSERT_EQ(look_now(link, packet), 0);
    EXPECT_EQ(look_at_packet(link.tasks.get(), monotonic_milliseconds() + 5, packet), ETIMEDOUT);
}

TEST(spank, a_packet_of_another_make_is_refused_and_nothing_of_it_kept) {
    const long before = open_files();
    for (int count : {0, 1, 3}) {
        Link link = make_link();
        ASSERT_EQ(send_packet(link.program.get(), offer_of(count)), 0);
        Packet packet;
        EXPECT_EQ(look_now(link, packet), EPROTO) << count;
        EXPECT_EQ(packet.count, 0);
    }
    for (char verdict : {'g', 'x', '\0'}) {
        Link link = make_link();
        ASSERT_EQ(send(link.program.get(), &verdict, 1, 0), 1);
        Packet packet;
        EXPECT_EQ(look_now(link, packet), EPROTO) << verdict;
    }
    EXPECT_EQ(open_files(), before);
}

TEST(spank, a_packet_with_more_descriptors_than_any_of_ours_is_refused) {
    Link link = make_link();
    char verdict = kOffer;
    iovec data{.iov_base = &verdict, .iov_len = 1};
    alignas(cmsghdr) char control[CMSG_SPACE(6 * sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(6 * sizeof(int));
    ASSERT_EQ(sendmsg(link.program.get(), &message, 0), 1);
    const long before = open_files();
    Packet packet;
    EXPECT_EQ(look_now(link, packet), EPROTO);
    EXPECT_EQ(open_files(), before);
}

TEST(spank, a_task_that_may_not_open_what_it_is_offered_is_told_so) {
    Link link = make_link();
    ASSERT_EQ(send_packet(link.program.get(), offer_of(4)), 0);
    rlimit limit{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    Descriptor next(dup(STDIN_FILENO));
    const int first_free = next.get();
    next.reset();
    rlimit lower = limit;
    lower.rlim_cur = static_cast<rlim_t>(first_free) + 2;
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
    Packet packet;
    int error = look_now(link, packet);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_EQ(error, EMFILE);
    EXPECT_EQ(Descriptor(dup(STDIN_FILENO)).get(), first_free);
}

TEST(spank, each_task_takes_a_byte) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    Descriptor tasks(ends[0]);
    Descriptor program(ends[1]);
    ASSERT_EQ(write(program.get(), "gr", 2), 2);
    char byte = 0;
    EXPECT_EQ(take_byte(tasks.get(), monotonic_milliseconds(), byte), 0);
    EXPECT_EQ(byte, 'g');
    EXPECT_EQ(take_byte(tasks.get(), monotonic_milliseconds(), byte), 0);
    EXPECT_EQ(byte, 'r');
    EXPECT_EQ(take_byte(tasks.get(), monotonic_milliseconds(), byte), ETIMEDOUT);
    program.reset();
    EXPECT_EQ(take_byte(tasks.get(), monotonic_milliseconds(), byte), EPIPE);
}

}  // namespace belay::spank
