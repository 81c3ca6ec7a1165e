#include "spank/answer.h"

#include "spank/plain/instruction.h"
#include "spank/plain/packet.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::spank {

namespace {

using core::Descriptor;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr unsigned kOrdinaryUser = 65534;

struct Link {
    Descriptor tasks;
    Descriptor program;
};

Link make_link() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) abort();
    return {Descriptor(ends[0]), Descriptor(ends[1])};
}

// The result of a function in a process of its own that the kernel treats as an ordinary user's: root is
// exempt from what is tested here. Empty means that all was right.
std::string as_ordinary_user(rlim_t descriptors, const std::function<std::string()>& function) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
    Descriptor ours(ends[0]);
    Descriptor theirs(ends[1]);
    pid_t child = fork();
    if (child == 0) {
        const rlimit limit{descriptors, descriptors};
        std::string text = "cannot become an ordinary user";
        if ((geteuid() != 0 || (setgid(kOrdinaryUser) == 0 && setuid(kOrdinaryUser) == 0)) &&
            setrlimit(RLIMIT_NOFILE, &limit) == 0)
            text = function();
        (void)core::write_all(theirs.get(), text, "pipe");
        _exit(0);
    }
    theirs.reset();
    auto text = core::read_to_end(ours.get(), "pipe");
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) return "ended with status " + std::to_string(status);
    return text.value_or("no result");
}

// Sends descriptors that nobody takes, until the kernel refuses more.
void use_up_what_may_be_on_its_way(int link) {
    Packet packet{.verdict = kOffer, .count = kMostDescriptors};
    for (int& fd : packet.descriptors) fd = link;
    while (send_packet(link, packet) == 0) {
    }
}

// Stands still but for sleeping, when it does what happens meanwhile.
class BusyClock : public core::ManualClock {
  public:
    explicit BusyClock(std::function<void()> meanwhile)
        : core::ManualClock(core::Time()), meanwhile_(std::move(meanwhile)) {}
    void sleep_until(core::Duration time) override {
        core::ManualClock::sleep_until(time);
        meanwhile_();
    }

  private:
    std::function<void()> meanwhile_;
};

std::string result_of(const core::Result<>& result) {
    return result ? "" : result.error().message();
}

// What a task hears: "g", "r", or the name of an error.
std::string heard(const Link& link) {
    Packet packet;
    int error = look_at_packet(link.tasks.get(), monotonic_milliseconds(), packet);
    char verdict = static_cast<char>(packet.verdict);
    if (error == 0 && packet.verdict == kOffer)
        error = take_byte(packet.descriptors[kStartPipe], monotonic_milliseconds(), verdict);
    for (int i = 0; i < packet.count; ++i) close(packet.descriptors[i]);
    return error == 0 ? std::string(1, verdict) : strerrorname_np(error);
}

}  // namespace

TEST(spank, as_many_tasks_start_as_there_are_whatever_the_limit_of_descriptors) {
    constexpr unsigned kTasks = 500;
    EXPECT_EQ(as_ordinary_user(32,
                               [] {
                                   Link link = make_link();
                                   Answer answer(link.program.get(), kTasks);
                                   if (auto offered = answer.offer("r", {0, 0}); !offered)
                                       return result_of(offered);
                                   if (auto started = answer.start(); !started) return result_of(started);
                                   for (unsigned task = 0; task < kTasks; ++task)
                                       if (std::string word = heard(link); word != "g")
                                           return fmt::format("task {}: {}", task, word);
                                   return std::string();
                               }),
              "");
}

TEST(spank, an_offer_waits_for_other_steps_of_the_user) {
    EXPECT_EQ(as_ordinary_user(32,
                               [] {
                                   Link other = make_link();
                                   use_up_what_may_be_on_its_way(other.program.get());
                                   BusyClock clock([&] { other = {}; });
                                   Link link = make_link();
                                   Answer answer(link.program.get(), 1, clock);
                                   return result_of(answer.offer("r", {0, 0}));
                               }),
              "");
}

TEST(spank, an_offer_that_is_not_let_through_is_refused_whole) {
    EXPECT_THAT(as_ordinary_user(32,
                                 [] {
                                     Link other = make_link();
                                     use_up_what_may_be_on_its_way(other.program.get());
                                     BusyClock clock([] {});
                                     Link link = make_link();
                                     Answer answer(link.program.get(), 2, clock);
                                     auto offered = answer.offer("r", {0, 0});
                                     answer.refuse();
                                     return result_of(offered) + "|" + heard(link) + heard(link);
                                 }),
                testing::AllOf(HasSubstr("more open files than the 32"), testing::EndsWith("|rr")));
}

TEST(spank, tasks_start_when_they_are_told_and_not_before) {
    Link link = make_link();
    Answer answer(link.program.get(), 2);
    ASSERT_TRUE(answer.offer("r", {}));
    EXPECT_EQ(heard(link), "ETIMEDOUT");
    ASSERT_TRUE(answer.start());
    EXPECT_EQ(heard(link), "g");
    EXPECT_EQ(heard(link), "g");
}

TEST(spank, tasks_are_refused_with_an_offer_and_without) {
    for (bool offered : {false, true}) {
        Link link = make_link();
        Answer answer(link.program.get(), 2);
        if (offered) {
            ASSERT_TRUE(answer.offer("r", {}));
        }
        answer.refuse();
        EXPECT_EQ(heard(link) + heard(link), "rr") << offered;
    }
}

TEST(spank, tasks_learn_that_nobody_answers_any_more) {
    Link link = make_link();
    {
        Answer answer(link.program.get(), 1);
        ASSERT_TRUE(answer.offer("r", {}));
    }
    EXPECT_EQ(heard(link), "EPIPE");
    Link silent = make_link();
    silent.program.reset();
    EXPECT_EQ(heard(silent), "EPIPE");
}

TEST(spank, instructions_longer_than_a_task_reads_are_not_offered) {
    Link link = make_link();
    Answer answer(link.program.get(), 1);
    EXPECT_THAT(result_of(answer.offer(std::string(kLongestInstructions + 1, 'r'), {})), HasSubstr("4 MiB"));
    EXPECT_EQ(heard(link), "ETIMEDOUT");
}

TEST(spank, instructions_say_what_the_plan_wants) {
    step::StepPlan plan;
    plan.environment = step::EnvironmentPlan{.name = "demo",
                                             .container = env::ContainerPlan{.workdir = "/w"},
                                             .variables = {{{"A", "1=2"}}, {"B"}, {}},
                                             .locked = ""};
    plan.recording = step::RecordingPlan{};
    std::string text = instructions(plan, "10.0.0.1");
    std::vector<std::string> words;
    char* at = text.data();
    while (at < text.data() + text.size()) {
        Instruction instruction{};
        ASSERT_EQ(take_instruction(at, text.data() + text.size(), instruction), nullptr);
        std::string word(1, static_cast<char>(instruction.kind));
        for (const char* part : {instruction.name, instruction.value, instruction.directory})
            if (part != nullptr) word += std::string(" ") + part;
        words.push_back(word);
    }
    EXPECT_THAT(words, testing::IsSupersetOf({"u B", "s A 1=2", "o MASTER_ADDR 10.0.0.1", "c /w", "r"}));
    EXPECT_THAT(instructions(step::StepPlan{}, "10.0.0.1"), "");
}

}  // namespace belay::spank
