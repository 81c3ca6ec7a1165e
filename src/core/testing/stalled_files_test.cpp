// What is given up, and what is not, where the files of a process are on a server that never answers.
#include "core/fork.h"
#include "core/stall_watch.h"
#include "core/testing/hanging_directory.h"
#include "core/work.h"

#include <chrono>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

namespace belay::core::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Duration kPatience = 200ms;

void in_own_process(std::vector<std::string> options, const std::function<void(HangingDirectory&)>& body) {
    auto child = fork_process({.close_others = false}, [&] {
        auto directory = HangingDirectory::mount(options);
        if (!directory) {
            ADD_FAILURE() << directory.error().render();
            return 1;
        }
        body(**directory);
        (*directory)->let_go();
        return ::testing::Test::HasFailure() ? 1 : 0;
    });
    ASSERT_TRUE(child) << child.error().render();
    EXPECT_TRUE(child->wait()->success());
}

Result<std::string> worked(const std::function<void()>& body, const std::string& what = "reading") {
    auto work = Work::start({.what = what}, [&]() -> Result<std::string> {
        body();
        return "done";
    });
    if (!work) return std::unexpected(std::move(work.error()));
    return work->finish_unless_stalled(kPatience);
}

TEST(core_testing, work_that_waits_for_one_file_is_given_up_and_names_it) {
    in_own_process({}, [](HangingDirectory& directory) {
        const std::string path = directory.path() / "file";
        struct Case {
            std::string expected;
            std::function<void()> body;
        };
        const Case cases[] = {
            {"cannot open " + path, [&] { ::open(path.c_str(), O_RDONLY); }},
            {"cannot look at " + path, [&] { ::access(path.c_str(), F_OK); }},
            {"cannot create " + path, [&] { ::mkdir(path.c_str(), 0700); }},
            {"cannot rename " + path, [&] { ::rename(path.c_str(), (path + "2").c_str()); }},
            {"cannot open " + path, [&] { std::jthread([&] { ::open(path.c_str(), O_RDONLY); }); }},
        };
        for (const auto& [expected, body] : cases) {
            auto text = worked(body);
            ASSERT_FALSE(text) << expected;
            EXPECT_EQ(text.error().cause(), Cause::kTimedOut);
            EXPECT_THAT(text.error().message(),
                        StartsWith("reading: " + expected + ": no answer within 200 ms; process "));
            EXPECT_THAT(text.error().message(), HasSubstr("was left behind"));
            EXPECT_THAT(text.error().hint_text(), HasSubstr("files.wait"));
        }
        EXPECT_THAT(worked(cases[0].body, "").error().message(), StartsWith("cannot open "));
    });
}

TEST(core_testing, a_write_without_an_answer_is_given_up) {
    in_own_process({"--hold", "writes"}, [](HangingDirectory& directory) {
        const std::string path = directory.path() / "file";
        auto text = worked([&] {
            const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
            [[maybe_unused]] ssize_t size = ::write(fd, "x", 1);
        });
        ASSERT_FALSE(text);
        EXPECT_THAT(text.error().message(),
                    StartsWith("reading: cannot write " + path + ": no answer within 200 ms"));
        const std::string other = directory.path() / "other";
        auto synced = worked([&] { fsync(::open(other.c_str(), O_WRONLY | O_CREAT, 0600)); });
        ASSERT_FALSE(synced);
        EXPECT_THAT(synced.error().message(),
                    StartsWith("reading: cannot sync " + other + ": no answer within 2.00 s"));
    });
}

// However slow all of it is: many files, each of which answers, or no file at all.
TEST(core_testing, work_that_goes_on_is_not_given_up) {
    auto directory = TemporaryDirectory::create().value();
    const std::string path = directory.path() / "file";
    EXPECT_EQ(worked([&] {
                  for (int i = 0; i < 50; ++i) {
                      (void)::close(::open(path.c_str(), O_RDWR | O_CREAT, 0600));
                      std::this_thread::sleep_for(20ms);
                  }
              }).value(),
              "done");
    EXPECT_EQ(worked([&] { std::this_thread::sleep_for(5 * kPatience); }).value(), "done");
}

TEST(core_testing, patience_without_end_gives_nothing_up) {
    in_own_process({}, [](HangingDirectory& directory) {
        const std::string path = directory.path() / "file";
        auto work = Work::start({.what = "reading"}, [&] { return read_file(path); }).value();
        while (!directory.held().contains("LOOKUP")) std::this_thread::sleep_for(1ms);
        StallWatch endless(work.pid(), Duration::zero(), system_clock());
        ManualClock clock{Time()};
        StallWatch patient(work.pid(), 30s, clock);
        int looks = 0;
        for (; !patient.look() && looks < 100; ++looks) {
            clock.advance(1s);
            EXPECT_FALSE(endless.look());
        }
        EXPECT_EQ(looks, 30) << "of a second each";
        StallWatch stopped(work.pid(), 30s, clock);
        EXPECT_FALSE(stopped.look());
        clock.advance(1h);  // this process was stopped for an hour
        EXPECT_FALSE(stopped.look());
    });
}

}  // namespace
}  // namespace belay::core::testing
