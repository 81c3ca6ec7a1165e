#include "progress/reader.h"

#include <array>
#include <random>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace belay::progress {
namespace {

using namespace std::chrono_literals;

std::vector<Pattern> patterns_of(std::vector<std::string> expressions) {
    core::Result<std::vector<Pattern>> patterns = compile_patterns(expressions);
    EXPECT_TRUE(patterns.has_value()) << patterns.error().render();
    return patterns ? std::move(*patterns) : std::vector<Pattern>();
}

struct Reading {
    std::vector<ProgressEvent> events;
    ProgressReader::Counts counts;
};

Reading read_in(std::span<const std::string_view> pieces, const std::vector<Pattern>& patterns,
                ReaderOptions options = {}) {
    Reading reading;
    ProgressReader reader(
        patterns, [&](const ProgressEvent& event) { reading.events.push_back(event); }, options);
    for (std::string_view piece : pieces) reader.feed(piece);
    reader.finish();
    reading.counts = reader.counts();
    return reading;
}

std::vector<ProgressEvent> read_whole(std::string_view text, const std::vector<Pattern>& patterns) {
    return read_in(std::array{text}, patterns).events;
}

// As these programs print them.
constexpr std::string_view kMegatron =  // Megatron-LM, training.py, training_log()
    " [2026-01-05 10:00:00] iteration      122/  250000 | consumed samples:        31232 | elapsed time per "
    "iteration (ms): "
    "2500.5 | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: 1.250000E-05 | global batch size:   "
    "256 | "
    "lm loss: 8.250000E+00 | loss scale: 1.0 | grad norm: 3.125 | number of skipped iterations:   0 |";
constexpr std::string_view kMegatronPattern =
    R"(iteration\s+(?P<step>\d+)/\s*(?P<total>\d+) \| consumed samples:\s+(?P<samples>\d+) \|)"
    R"(.*\(ms\): (?P<milliseconds>[\d.]+) )"
    R"(.*learning rate: (?P<learning_rate>\S+) .*lm loss: (?P<loss>\S+) .*grad norm: (?P<gradient_norm>\S+))";
constexpr std::string_view kTitan =  // torchtitan, metrics.py
    "[rank0]:\x1b[31mstep: 10  \x1b[32mloss:  7.5000  \x1b[33mgrad_norm:  1.2500  \x1b[34mmemory: "
    "66.91GiB(37.51%)  "
    "\x1b[35mtps: 10,050  \x1b[36mtflops: 409.5  \x1b[39mmfu: 13.99%\x1b[0m";
constexpr std::string_view kTitanPattern =
    R"(^step:\s+(?P<step>\d+)\s+loss:\s+(?P<loss>[\d.]+)\s+grad_norm:\s+(?P<gradient_norm>[\d.]+))"
    R"(.*tps:\s+(?P<tokens_per_second>[\d,]+))";
constexpr std::string_view kMllog =
    R"(0: :::MLLOG {"namespace": "", "time_ms": 1700000000123, "event_type": "POINT_IN_TIME", )"
    R"("key": "train_loss", "value": 0.5, "metadata": {"epoch_num": 3}})";

TEST(progress, reader_knows_what_real_programs_print) {
    std::vector<ProgressEvent> events = read_whole(kMegatron, patterns_of({std::string(kMegatronPattern)}));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].step, 122);
    EXPECT_EQ(events[0].total_steps, 250000);
    EXPECT_EQ(events[0].samples, 31232);
    EXPECT_EQ(events[0].step_seconds, 2.5005);
    EXPECT_EQ(events[0].learning_rate, 1.25e-5);
    EXPECT_EQ(events[0].loss, 8.25);
    EXPECT_EQ(events[0].gradient_norm, 3.125);

    events = read_whole(kTitan, patterns_of({std::string(kTitanPattern)}));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].step, 10);
    EXPECT_EQ(events[0].loss, 7.5);
    EXPECT_EQ(events[0].gradient_norm, 1.25);
    EXPECT_EQ(events[0].tokens_per_second, 10050);

    events = read_whole(kMllog, {});
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].loss, 0.5);
    EXPECT_EQ(events[0].epoch, 3);
}

TEST(progress, first_pattern_that_matches_counts) {
    std::vector<Pattern> patterns = patterns_of({R"(loss (?P<loss>\d+))", R"((?P<metric>\d+))"});
    std::vector<ProgressEvent> events = read_whole("loss 5\n6\n", patterns);
    ASSERT_EQ(events.size(), 2u);
    EXPECT_EQ(events[0].loss, 5);
    EXPECT_EQ(events[1].metric, 6);
}

TEST(progress, mllog_counts_before_patterns) {
    std::vector<ProgressEvent> events = read_whole(kMllog, patterns_of({R"((?P<value>\d+))"}));
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(events[0].source, kFromMllog);
}

TEST(progress, labels_are_no_part_of_the_line) {
    std::vector<Pattern> anchored = patterns_of({R"(^(?P<step>\d+)\b)"});
    EXPECT_EQ(read_whole("3: 12 done\n", anchored).at(0).step, 12);
    EXPECT_EQ(read_whole("3: loading\n", anchored).size(), 0u);
    EXPECT_EQ(read_whole("12: loss 0.5\n", patterns_of({R"(^(?P<step>\d+): loss (?P<loss>\S+))"})).at(0).step,
              12);
}

TEST(progress, malformed_mllog_lines_are_counted) {
    Reading reading =
        read_in(std::array<std::string_view, 1>{":::MLLOG {\"key\": \n:::MLLOG 5\nplain\n"}, {});
    EXPECT_EQ(reading.events.size(), 0u);
    EXPECT_EQ(reading.counts.malformed, 2);
    EXPECT_EQ(reading.counts.lines, 3);
}

TEST(progress, lines_beyond_the_rate_are_not_looked_at) {
    core::ManualClock clock(core::time_from_nanoseconds(0));
    std::vector<Pattern> patterns = patterns_of({R"((?P<step>\d+))"});
    std::vector<ProgressEvent> events;
    ProgressReader reader(patterns, [&](const ProgressEvent& event) { events.push_back(event); },
                          {.lines_per_second = 2, .clock = &clock});
    reader.feed("1\n2\n3\n4\n");
    clock.advance(1s);
    reader.feed("5\n");
    ASSERT_EQ(events.size(), 3u);
    EXPECT_EQ(events[2].step, 5);
    EXPECT_EQ(reader.counts().refused, 2);
    EXPECT_EQ(reader.counts().lines, 3);
    EXPECT_EQ(reader.counts().events, 3);
}

// Property: any cut of the bytes gives the same events.
TEST(progress, events_do_not_depend_on_the_pieces) {
    std::string text;
    for (std::string_view line : {kMegatron, kMllog, kTitan, std::string_view("noise \xFF\x1b[")})
        for (std::string_view end : {"\n", "\r\n", "\r"}) text += std::string(line) + std::string(end);
    text += "step: 11 loss: 2.5 grad_norm: 1 tps: 5";
    std::vector<Pattern> patterns = patterns_of({std::string(kMegatronPattern), std::string(kTitanPattern)});
    std::vector<ProgressEvent> expected = read_whole(text, patterns);
    ASSERT_EQ(expected.size(), 10u);
    std::mt19937 random(20260105);
    for (int round = 0; round < 100; ++round) {
        std::vector<std::string_view> pieces;
        for (std::string_view rest = text; !rest.empty();) {
            size_t size = 1 + random() % (round < 10 ? 3 : 400);
            pieces.push_back(rest.substr(0, size));
            rest.remove_prefix(pieces.back().size());
        }
        EXPECT_EQ(read_in(pieces, patterns).events, expected);
    }
}

}  // namespace
}  // namespace belay::progress
