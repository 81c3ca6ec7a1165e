#include "procfs/pid_stat.h"

#include <string>

#include <gtest/gtest.h>

namespace belay::procfs {
namespace {

// The fields behind the command, of a real process.
constexpr std::string_view kRest =
    " S 4200 4242 4242 0 -1 4194304 100 0 5 0 12 3 4 2 20 0 7 0 112123 3133440 414 18446744073709551615 "
    "94868275486720 "
    "94868275506601 140725335549744 0 0 0 0 4096 0 1 0 0 17 11 0 0 0 0 0 94868275522608 94868275524224 "
    "94868306829312 1 2 3 4 0\n";

std::string line(std::string_view command) {
    return "4242 (" + std::string(command) + ")" + std::string(kRest);
}

TEST(procfs, stat_of_a_process_is_read) {
    std::string text = line("python3");
    std::optional<PidStat> stat = parse_pid_stat(text);
    ASSERT_TRUE(stat.has_value());
    EXPECT_EQ(stat->pid, 4242);
    EXPECT_EQ(stat->command, "python3");
    EXPECT_EQ(stat->state, 'S');
    EXPECT_EQ(stat->parent_pid, 4200);
    EXPECT_EQ(stat->page_faults_major, 5);
    EXPECT_EQ(stat->user_ticks, 12);
    EXPECT_EQ(stat->system_ticks, 3);
    EXPECT_EQ(stat->children_user_ticks, 4);
    EXPECT_EQ(stat->children_system_ticks, 2);
    EXPECT_EQ(stat->threads, 7);
    EXPECT_EQ(stat->start_ticks, 112123);
    EXPECT_EQ(stat->virtual_bytes, 3133440);
    EXPECT_EQ(stat->resident_pages, 414);
    EXPECT_EQ(stat->processor, 11);
}

TEST(procfs, command_may_hold_anything) {
    for (std::string_view command :
         {"a b", "a) S 1 (b", ") R 1 2 3", "(sd-pam)", "a\nb", "", " ", "))((", "\xFF\xFE"}) {
        std::string text = line(command);
        std::optional<PidStat> stat = parse_pid_stat(text);
        ASSERT_TRUE(stat.has_value()) << command;
        EXPECT_EQ(stat->command, command);
        EXPECT_EQ(stat->parent_pid, 4200) << command;
    }
}

TEST(procfs, cut_stat_of_a_process_is_nothing) {
    for (std::string_view command : {"python3", "a\nb", "a) S 1\n(b"}) {
        std::string text = line(command);
        for (size_t size = 0; size < text.size(); ++size)
            EXPECT_FALSE(parse_pid_stat(std::string_view(text).substr(0, size)).has_value()) << size;
    }
}

TEST(procfs, stat_without_what_names_the_process_is_nothing) {
    for (std::string_view text :
         {"4242 (x) S 1\n", "x (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n",
          "1 (x) SS 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n",
          "1 (x) S -1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n", "\n", ") (\n"})
        EXPECT_FALSE(parse_pid_stat(text).has_value()) << text;
    std::optional<PidStat> old =
        parse_pid_stat("1 (x) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21\n");
    ASSERT_TRUE(old.has_value());  // as long as the start time is there
    EXPECT_FALSE(old->processor.has_value());
}

TEST(procfs, kernel_threads_are_known_by_their_flags) {
    EXPECT_EQ(parse_pid_stat(line("python3")).value().kernel_thread, false);
    auto kernel = parse_pid_stat("9 (jbd2) D 2 0 0 0 -1 2129984 7 8 9 10 11 12 13 14 15 16 17 18 10000 20\n");
    ASSERT_TRUE(kernel.has_value());
    EXPECT_EQ(kernel->kernel_thread, true);
    EXPECT_EQ(kernel->start_ticks, 10000);
}

}  // namespace
}  // namespace belay::procfs
