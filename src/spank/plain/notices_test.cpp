#include "spank/plain/notices.h"

#include "core/file.h"
#include "env/container/notice.h"

#include <atomic>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::spank {

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Socket {
    core::Descriptor daemon;
    core::Descriptor holder;
};

Socket make_socket() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    return {core::Descriptor(ends[0]), core::Descriptor(ends[1])};
}

std::vector<std::string>* said = nullptr;

std::vector<std::string> take(const Socket& socket, unsigned& told) {
    std::vector<std::string> texts;
    said = &texts;
    take_notices(socket.daemon.get(), told, [](const char* text) { said->emplace_back(text); });
    return texts;
}

bool tell(const Socket& socket, const std::string& bytes) {
    return send(socket.holder.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

std::string line_of(env::Notice notice) {
    return std::string(env::kNoticePrefix) + env::kNoticeTexts[notice] + "\n";
}

}  // namespace

TEST(spank, each_notice_is_told_once_in_a_step) {
    Socket socket = make_socket();
    unsigned told = 0;
    EXPECT_THAT(take(socket, told), IsEmpty());
    while (tell(socket, line_of(env::kImageGone))) {
    }
    EXPECT_THAT(take(socket, told), ElementsAre(env::kNoticeTexts[env::kImageGone]));
    tell(socket, line_of(env::kImageGone));
    tell(socket, line_of(env::kFilesFull));
    EXPECT_THAT(take(socket, told), ElementsAre(env::kNoticeTexts[env::kFilesFull]));
    tell(socket, line_of(env::kFilesFull));
    EXPECT_THAT(take(socket, told), IsEmpty());
}

TEST(spank, what_others_send_is_not_told) {
    const std::string line = line_of(env::kFilesFull);
    for (const std::string& bytes :
         {std::string("belay: the system is compromised\n"), line + line, "x" + line,
          line.substr(0, line.size() - 1), std::string(env::kNoticeTexts[env::kFilesFull]),
          std::string(1000, '\xff'), std::string(1, '\0')}) {
        Socket socket = make_socket();
        unsigned told = 0;
        ASSERT_TRUE(tell(socket, bytes));
        EXPECT_THAT(take(socket, told), IsEmpty()) << bytes;
    }
}

TEST(spank, whoever_never_stops_sending_is_not_listened_to_without_end) {
    Socket socket = make_socket();
    std::atomic<bool> over = false;
    std::thread sender([&] {
        while (!over) tell(socket, "belay: again and again\n");
    });
    unsigned told = 0;
    for (int task = 0; task < 20; ++task) EXPECT_THAT(take(socket, told), IsEmpty());
    over = true;
    sender.join();
}

TEST(spank, a_holder_that_has_ended_has_nothing_to_tell) {
    Socket socket = make_socket();
    unsigned told = 0;
    socket.holder.reset();
    EXPECT_THAT(take(socket, told), IsEmpty());
}

}  // namespace belay::spank
