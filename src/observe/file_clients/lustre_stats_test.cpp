#include "observe/file_clients/lustre_stats.h"

#include <deque>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belay::observe::file_clients {
namespace {

using enum LustreMeasure;

constexpr std::string_view kHead = "snapshot_time             1790277040.611962111 secs.nsecs\n";

LustreStats parsed(std::string_view lines) {
    static std::deque<std::string> texts;  // into which the names point
    LustreStats stats;
    core::Result<> result = parse_lustre_stats(texts.emplace_back(kHead).append(lines), stats);
    EXPECT_TRUE(result.has_value()) << result.error().message();
    return stats;
}

TEST(observe_file_clients, lustre_counters_have_samples_and_sums) {
    LustreStats stats = parsed(
        "start_time                1790008165.367572621 secs.nsecs\n"
        "elapsed_time              268875.244389490 secs.nsecs\n"
        "read_bytes                57406355 samples [bytes] 1 4194304 1496254921055 47236230193563213\n"
        "open                      33538615 samples [usecs] 0 36643 3420852446 695595244118\n"
        "close                     5 samples [usecs] 0 36643 7 9\n"
        "getxattr_hits             201 samples [reqs]\n");
    EXPECT_EQ(stats.start_time, core::time_from_nanoseconds(1790008165367572621));
    EXPECT_EQ(stats.counters.size(), 4u);
    EXPECT_EQ(total(stats, "read_bytes", kSamples), 57406355);
    EXPECT_EQ(total(stats, "read_bytes", kBytes), 1496254921055);
    EXPECT_EQ(total(stats, "open", kMicroseconds), 3420852446);
    EXPECT_EQ(total(stats, "open close", kMicroseconds), 3420852453);
    EXPECT_EQ(total(stats, "open close getxattr_hits", kSamples), 33538615 + 5 + 201);
    EXPECT_EQ(total(stats, "getxattr_hits", kMicroseconds), std::nullopt) << "has no sum";
    EXPECT_EQ(total(stats, "open", kBytes), std::nullopt) << "does not count bytes";
}

TEST(observe_file_clients, a_lustre_counter_that_is_left_out_is_0) {
    LustreStats stats = parsed("open 3 samples [usecs] 1 2 5 9\n");
    EXPECT_EQ(total(stats, "mkdir", kSamples), 0);
    EXPECT_EQ(total(stats, "open mkdir", kMicroseconds), 5);
    EXPECT_EQ(total(stats, "read_bytes", kBytes), 0);
    EXPECT_EQ(total(parsed(""), "open", kSamples), 0) << "nothing was counted yet";
    EXPECT_EQ(stats.start_time, std::nullopt);
}

TEST(observe_file_clients, lustre_without_times_tells_no_times) {
    LustreStats stats = parsed(  // 2.10 to 2.13
        "read_bytes                10 samples [bytes] 1 4096 40960\n"
        "open                      12 samples [regs]\n");
    EXPECT_EQ(total(stats, "open", kSamples), 12);
    EXPECT_EQ(total(stats, "read_bytes", kBytes), 40960);
    EXPECT_EQ(total(stats, "open", kMicroseconds), std::nullopt);
    EXPECT_EQ(total(stats, "read", kMicroseconds), std::nullopt) << "this version does not have that counter";
    EXPECT_EQ(total(parsed("req_waittime 2 samples [usec] 1 4 5 17\n"), "req_waittime", kMicroseconds), 5);
}

TEST(observe_file_clients, wrong_numbers_of_lustre_are_nothing_and_not_0) {
    LustreStats stats = parsed(
        "open -3 samples [usecs] 0 1 2 3\n"
        "close 3 samples [usecs] 0 1 -2 3\n"
        "mkdir 9223372036854775807 samples [usecs] 0 1 9223372036854775807 3\n"
        "rmdir 1 samples [usecs] 0 1 1 1\n"
        "rename 9223372036854775808 samples [usecs] 0 1 1 1\n"
        "link x samples [usecs] 0 1 1 1\n"
        "unlink 4 samples [usecs] 0 1\n");
    for (std::string_view name : {"open", "rename", "link", "mkdir rmdir"})
        EXPECT_EQ(total(stats, name, kSamples), std::nullopt) << name;
    EXPECT_EQ(total(stats, "close unlink", kSamples), 7);
    for (std::string_view name : {"close", "unlink", "mkdir rmdir"})
        EXPECT_EQ(total(stats, name, kMicroseconds), std::nullopt) << name;
    EXPECT_EQ(total(stats, "mkdir", kSamples), 9223372036854775807);
}

TEST(observe_file_clients, of_a_lustre_counter_that_comes_twice_the_first_counts) {
    LustreStats stats = parsed("open 3 samples [reqs]\nopen 4 samples [reqs]\n");
    EXPECT_EQ(total(stats, "open", kSamples), 3);
}

TEST(observe_file_clients, lines_of_another_form_are_passed_over_by_lustre_stats) {
    LustreStats stats = parsed(
        "\n \nopen\nopen 3\nopen 3 times [reqs]\nopen 3 samples reqs\nopen 3 samples [\nclose 2 samples "
        "[]\n");
    ASSERT_EQ(stats.counters.size(), 1u);
    EXPECT_EQ(stats.counters[0].name, "close");
    EXPECT_EQ(stats.counters[0].unit, "");
}

TEST(observe_file_clients, malformed_times_of_lustre_are_nothing) {
    for (std::string_view time :
         {"", "1790008165", "1790008165.36757262", "1790008165.3675726211", "-1.367572621", "1.-67572621",
          "9999999999999.000000000", "x.367572621", ".367572621"})
        EXPECT_EQ(parsed(fmt::format("start_time {} secs.nsecs\n", time)).start_time, std::nullopt) << time;
}

TEST(observe_file_clients, a_text_that_is_not_whole_has_no_lustre_counters) {
    LustreStats stats;
    for (std::string_view text : {"", "open 3 samples [reqs]\n", "snapshot_time 1.000000000 secs.nsecs",
                                  "snapshot_time 1.000000000 secs.nsecs\nopen 3 samples [reqs]"})
        EXPECT_FALSE(parse_lustre_stats(text, stats).has_value()) << text;
    std::string many(kHead);
    for (int i = 0; i < 513; ++i) many += fmt::format("counter{} 1 samples [reqs]\n", i);
    core::Result<> result = parse_lustre_stats(many, stats);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().message(), "has more than 512 counters");
}

TEST(observe_file_clients, lustre_counters_cut_anywhere_are_whole_or_none) {
    const std::string text = std::string(kHead) + "open 35 samples [usecs] 10 27 370 4000\n";
    for (size_t length = 0; length < text.size(); ++length) {
        LustreStats stats;
        if (!parse_lustre_stats(text.substr(0, length), stats)) continue;
        EXPECT_EQ(length, kHead.size());
    }
}

}  // namespace
}  // namespace belay::observe::file_clients
