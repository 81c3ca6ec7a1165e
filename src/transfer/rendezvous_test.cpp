#include "transfer/rendezvous.h"

#include "transfer/bandwidth.h"
#include "transfer/reception.h"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::transfer {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint16_t kAnyPort[] = {0};
constexpr rlim_t kFewFiles = 64;

// A process that may open few files. It tells what it saw through a pipe, line by line.
class FewFiles {
  public:
    explicit FewFiles(const std::function<void(int pipe)>& work) {
        int ends[2];
        EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
        lines_ = fdopen(ends[0], "r");
        pid_ = fork();
        if (pid_ == 0) {
            rlimit few{kFewFiles, kFewFiles};
            if (setrlimit(RLIMIT_NOFILE, &few) == 0) work(ends[1]);
            _exit(0);
        }
        close(ends[1]);
    }
    FewFiles(const FewFiles&) = delete;
    FewFiles& operator=(const FewFiles&) = delete;
    ~FewFiles() {
        fclose(lines_);
        waitpid(pid_, nullptr, 0);
    }
    // Without its end; empty after the last one.
    std::string line() {
        std::array<char, 1000> text{};
        if (fgets(text.data(), text.size(), lines_) == nullptr) return "";
        return std::string(text.data(), strcspn(text.data(), "\n"));
    }
    uint16_t port() { return static_cast<uint16_t>(std::stoi(line())); }

  private:
    FILE* lines_ = nullptr;
    pid_t pid_ = -1;
};

// All wait at the door before the first proves itself, as they do where a step's nodes start at once.
size_t join_all(uint16_t port, uint32_t size, Deadline deadline, std::vector<Channel>& joined) {
    std::vector<Channel> waiting;
    for (uint32_t rank = 1; rank < size; ++rank)
        waiting.emplace_back(connect_to("127.0.0.1", port, deadline).value());
    for (uint32_t rank = 1; rank < size; ++rank)
        if (introduce(waiting[rank - 1], known("secret"), step_purpose(port), rank, deadline))
            joined.push_back(std::move(waiting[rank - 1]));
    return joined.size();
}

TEST(transfer, root_without_descriptors_rests_and_says_so) {
    constexpr uint32_t kNodes = 200;
    FewFiles process([](int pipe) {
        auto root = Root::open(kAnyPort, {"secret"}, kNodes);
        dprintf(pipe, "%d\n", root->port());
        int rounds = 0;
        std::optional<Deadline> until;  // half a second at the limit shows whether it rests
        auto members = [&] {
            size_t count = 0;
            for (uint32_t rank = 1; rank < kNodes; ++rank) count += root->connected(rank) ? 1 : 0;
            return count;
        };
        auto seen = [&] {
            if (!until && root->shortage() && members() > 0) until = Deadline::after(500ms);
            return ++rounds > 100'000 || (until && until->is_over());
        };
        EXPECT_TRUE(root->serve(Deadline::after(60s), seen, [](uint32_t, const Message&) {}).value());
        auto shortage = root->shortage();
        dprintf(pipe, "%d\n%zu\n%s\n%s\n", rounds, members(), shortage ? shortage->message().c_str() : "",
                shortage ? shortage->hint_text().c_str() : "");
    });
    std::vector<Channel> joined;
    EXPECT_LT(join_all(process.port(), kNodes, Deadline::after(60s), joined), kFewFiles);
    // Two or three for each that came, and one for each rest.
    EXPECT_LT(std::stoi(process.line()), 2000) << "it must not wake for what it cannot take";
    EXPECT_GT(std::stoi(process.line()), 0);
    EXPECT_THAT(process.line(), HasSubstr("cannot take the connections of all nodes: Too many open files"));
    EXPECT_THAT(process.line(), HasSubstr("RLIMIT_NOFILE, now 64"));
}

// They would stay for an hour, and hold every descriptor that the root may have.
TEST(transfer, root_without_descriptors_turns_the_oldest_strangers_away) {
    FewFiles process([](int pipe) {
        auto root = Root::open(kAnyPort, {"secret"}, 3, {.stranger = 1h, .stranger_without_room = 20ms});
        dprintf(pipe, "%d\n", root->port());
        bool came = root->serve(
                            Deadline::after(30s), [&] { return root->connected(1) && root->connected(2); },
                            [](uint32_t, const Message&) {})
                        .value();
        dprintf(pipe, "%s\n", came ? "came" : "did not come");
    });
    uint16_t port = process.port();
    std::vector<core::Descriptor> strangers;
    for (int i = 0; i < 100; ++i)
        strangers.push_back(connect_to("127.0.0.1", port, Deadline::after(10s)).value());
    std::vector<uint16_t> ports{port};
    auto first = join("127.0.0.1", ports, known("secret"), 1, Deadline::after(30s));
    auto second = join("127.0.0.1", ports, known("secret"), 2, Deadline::after(30s));
    EXPECT_TRUE(first && second);
    EXPECT_EQ(process.line(), "came");
}

// Connections that say nothing, all from one address, more than there are places for.
std::vector<core::Descriptor> crowd(uint16_t port) {
    std::vector<core::Descriptor> strangers;
    for (size_t i = 0; i < kPlacesForStrangers + 50; ++i)
        strangers.push_back(connect_to("127.0.0.1", port, Deadline::after(10s)).value());
    return strangers;
}

// They would stay for an hour.
TEST(transfer, a_crowd_from_one_address_displaces_itself) {
    auto root = Root::open(kAnyPort, {"secret"}, 2, {.stranger = 1h, .stranger_without_room = 1h}).value();
    auto strangers = crowd(root.port());
    std::jthread member([port = root.port()] {
        EXPECT_TRUE(join("127.0.0.1", std::vector{port}, known("secret"), 1, Deadline::after(30s)));
    });
    bool was_full = false;
    auto came = root.serve(
        Deadline::after(30s),
        [&] {
            was_full = was_full || root.shortage();
            return root.connected(1);
        },
        [](uint32_t, const Message&) {});
    EXPECT_TRUE(came.value());
    EXPECT_TRUE(was_full) << "a node that is missing meanwhile must not be blamed";
    ASSERT_TRUE(root.flush(Deadline::after(20s)).value());
}

// One after the other, each would be heard for seconds.
TEST(transfer, strangers_do_not_keep_a_pair_apart) {
    auto listener = listen_on(kAnyPort).value();
    auto strangers = crowd(listener.port);
    std::jthread partner([port = listener.port] {
        Channel channel(connect_to("127.0.0.1", port, Deadline::after(10s)).value());
        EXPECT_TRUE(introduce(channel, known("s"), "p", 1, Deadline::after(30s)));
    });
    auto channel = accept_introduced(listener.socket.get(), "s", "p", 2, Deadline::after(30s));
    EXPECT_TRUE(channel) << channel.error().message();
}

// Who listens at another port of the root's node and passes on what he hears.
TEST(transfer, a_proof_for_another_port_is_not_accepted) {
    auto root = Root::open(kAnyPort, {"secret"}, 2).value();
    std::jthread member([port = root.port()] {
        const uint16_t other = static_cast<uint16_t>(port + 1);
        Channel channel(connect_to("127.0.0.1", port, Deadline::after(10s)).value());
        EXPECT_FALSE(introduce(channel, known("secret"), step_purpose(other), 1, Deadline::after(10s)));
        EXPECT_TRUE(join("127.0.0.1", std::vector{port}, known("secret"), 1, Deadline::after(30s)));
    });
    ASSERT_TRUE(
        root.serve(
                Deadline::after(60s), [&] { return root.connected(1); }, [](uint32_t, const Message&) {})
            .value());
    ASSERT_TRUE(root.flush(Deadline::after(20s)).value());
}

TEST(transfer, addresses_of_one_machine_are_one_source) {
    auto listener = listen_on(kAnyPort).value();
    auto one = connect_to("127.0.0.1", listener.port, Deadline::after(10s)).value();
    auto two = connect_to("127.0.0.2", listener.port, Deadline::after(10s)).value();
    EXPECT_EQ(source_of(one.get()), source_of(two.get()));
    EXPECT_NE(peer_address(one.get()), peer_address(two.get()));
}

TEST(transfer, who_gives_way_is_the_first_of_the_largest_crowd) {
    auto place = [](std::vector<Stranger> strangers) { return who_gives_way(strangers, 100s, 10s); };
    EXPECT_EQ(place({}), std::nullopt);
    EXPECT_EQ(place({{"a", 99s}, {"b", 99s}}), std::nullopt) << "both may be about to prove themselves";
    EXPECT_EQ(place({{"a", 90s}, {"b", 99s}}), 0U);
    EXPECT_EQ(place({{"a", 10s}, {"b", 99s}, {"c", 99s}, {"b", 99s}}), 1U);
}

TEST(transfer, root_with_room_lacks_nothing) {
    auto root = Root::open(kAnyPort, {"secret"}, 3).value();
    EXPECT_FALSE(root.serve(Deadline::after(50ms), [] { return false; }, {}).value());
    EXPECT_FALSE(root.shortage());
}

TEST(transfer, a_pair_without_descriptors_says_so) {
    FewFiles process([](int pipe) {
        auto listener = listen_on(kAnyPort).value();
        dprintf(pipe, "%d\n", listener.port);
        while (dup(0) >= 0) continue;
        PairOptions options{.secret = "s", .name = "1", .duration = 50ms, .deadline = Deadline::after(5s)};
        auto rate = measure_as_listener(listener.socket.get(), options);
        dprintf(pipe, "%s\n", rate ? "measured" : rate.error().message().c_str());
    });
    auto other = connect_to("127.0.0.1", process.port(), Deadline::after(10s));
    EXPECT_THAT(process.line(), HasSubstr("Too many open files"));
}

}  // namespace
}  // namespace belay::transfer
