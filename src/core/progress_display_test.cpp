#include "core/progress_display.h"

#include "core/file.h"

#include <chrono>
#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr size_t kWide = 200;

TEST(core, progress_line_of_bytes) {
    ProgressState state{.phase = "reading layers",
                        .unit = ProgressUnit::bytes(),
                        .done = 3'200'000'000,
                        .total = 10'000'000'000,
                        .elapsed = 20s};
    EXPECT_EQ(render_progress(state, kWide),
              "reading layers  3.20 GB of 10.0 GB  32 %  160 MB/s  43.0 s left");
    state.elapsed = 999ms;
    EXPECT_EQ(render_progress(state, kWide), "reading layers  3.20 GB of 10.0 GB  32 %");
    state.total = std::nullopt;
    state.elapsed = 1s;
    EXPECT_EQ(render_progress(state, kWide), "reading layers  3.20 GB  3.20 GB/s");
}

TEST(core, progress_line_of_items) {
    ProgressState state{
        .phase = "vetting", .unit = ProgressUnit::items("nodes"), .done = 1, .total = 3, .elapsed = 100s};
    EXPECT_EQ(render_progress(state, kWide), "vetting  1 of 3 nodes  33 %  0.01 nodes/s  3m20s left");
    state.done = 3;
    EXPECT_EQ(render_progress(state, kWide), "vetting  3 of 3 nodes  100 %  0.03 nodes/s");
    state.total = 0;
    EXPECT_EQ(render_progress(state, kWide), "vetting  3 of 0 nodes  0.03 nodes/s");
    state = {.phase = "scan", .unit = ProgressUnit::items("files"), .done = 0, .total = {}, .elapsed = 5s};
    EXPECT_EQ(render_progress(state, kWide), "scan  0 files");
}

TEST(core, progress_line_is_honest_at_the_edges) {
    ProgressState state{
        .phase = "x", .unit = ProgressUnit::items("files"), .done = 999, .total = 1000, .elapsed = 0s};
    EXPECT_EQ(render_progress(state, kWide), "x  999 of 1000 files  99 %");  // not rounded up to 100
    state.done = 2000;                                                       // more than was announced
    EXPECT_EQ(render_progress(state, kWide), "x  2000 of 1000 files  100 %");
    state = {
        .phase = "x", .unit = ProgressUnit::items("files"), .done = 1, .total = UINT64_MAX, .elapsed = 1h};
    EXPECT_THAT(render_progress(state, kWide), testing::Not(HasSubstr("left")));
}

TEST(core, progress_line_fits_and_holds_no_control_characters) {
    ProgressState state{.phase = "f\x1b[2J\n\xff\u00e4",
                        .unit = ProgressUnit::bytes(),
                        .done = 0,
                        .total = {},
                        .elapsed = {}};
    EXPECT_EQ(render_progress(state, kWide), "f?[2J?\uFFFD\u00e4  0 B");
    EXPECT_EQ(render_progress(state, 3), "f?[");
    EXPECT_EQ(render_progress(state, 7), "f?[2J?");  // no half character
    EXPECT_EQ(render_progress(state, 0), "");
}

// A file instead of a terminal, and a clock that stands.
struct Screen {
    TemporaryDirectory directory = TemporaryDirectory::create().value();
    Descriptor file = open_file(directory.path() / "screen", O_CREAT | O_RDWR).value();
    ManualClock clock{Time()};
    std::string text() const { return read_file(directory.path() / "screen").value(); }
};

TEST(core, progress_is_drawn_at_most_ten_times_a_second) {
    Screen screen;
    ProgressDisplay display(screen.clock, screen.file.get(), 80);
    display.start("work", ProgressUnit::items("steps"), 1000);
    EXPECT_EQ(screen.text(), "\r\x1b[Kwork  0 of 1000 steps  0 %");
    for (uint64_t i = 1; i <= 50; ++i) display.update(i);
    EXPECT_EQ(screen.text(), "\r\x1b[Kwork  0 of 1000 steps  0 %");
    screen.clock.advance(100ms);
    display.update(51);
    EXPECT_THAT(screen.text(), testing::EndsWith("0 %\r\x1b[Kwork  51 of 1000 steps  5 %"));
    display.finish();
    std::string finished = screen.text();
    EXPECT_THAT(finished, testing::EndsWith("5 %\r\x1b[K"));
    display.finish();
    EXPECT_EQ(screen.text(), finished);
}

TEST(core, progress_phase_begins_anew) {
    Screen screen;
    ProgressDisplay display(screen.clock, screen.file.get(), 80);
    display.start("first", ProgressUnit::bytes());
    screen.clock.advance(10s);
    display.update(1000);
    display.start("second", ProgressUnit::bytes());
    screen.clock.advance(2s);
    display.update(4000);
    EXPECT_THAT(screen.text(), testing::EndsWith("\r\x1b[Ksecond  4.00 kB  2.00 kB/s"));
}

TEST(core, progress_is_silent_in_a_pipe) {
    Screen screen;
    {
        ProgressDisplay display(screen.clock, screen.file.get());
        display.start("work", ProgressUnit::bytes(), 10);
        screen.clock.advance(1s);
        display.update(5);
    }
    EXPECT_EQ(screen.text(), "");
}

TEST(core, progress_line_is_removed_by_an_early_return) {
    Screen screen;
    {
        ProgressDisplay display(screen.clock, screen.file.get(), 80);
        display.start("work", ProgressUnit::bytes(), 10);
    }
    EXPECT_THAT(screen.text(), testing::EndsWith("\r\x1b[K"));
}

TEST(core, progress_draws_on_a_terminal) {
    Descriptor master(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
    ASSERT_TRUE(master);
    ASSERT_EQ(grantpt(master.get()), 0);
    ASSERT_EQ(unlockpt(master.get()), 0);
    Descriptor terminal = open_file(ptsname(master.get()), O_RDWR | O_NOCTTY).value();
    ManualClock clock{Time()};
    ProgressDisplay display(clock, terminal.get());
    display.start("work", ProgressUnit::bytes(), 10);
    char buffer[200];
    ssize_t n = read(master.get(), buffer, sizeof buffer);
    EXPECT_EQ(std::string(buffer, static_cast<size_t>(std::max<ssize_t>(n, 0))),
              "\r\x1b[Kwork  0 B of 10 B  0 %");
}

}  // namespace
}  // namespace belay::core
