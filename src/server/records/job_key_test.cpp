#include "server/records/job_key.h"

#include <gtest/gtest.h>

namespace belay::server {
namespace {

TEST(server_records, a_key_is_what_its_text_says) {
    const JobKey key{.cluster = "alps", .id = 4711, .restart = 0, .seconds = 1'764'412'345};
    EXPECT_EQ(to_text(key), "alps-4711-0-1764412345");
    EXPECT_EQ(parse_job_key("alps-4711-0-1764412345").value(), key);
    EXPECT_EQ(month_of(key), "2025-11");
    const JobKey second{.cluster = "a-b.c_1-2", .id = 1, .restart = 3, .seconds = 0, .number = 2};
    EXPECT_EQ(to_text(second), "a-b.c_1-2-1-3-0.2");
    EXPECT_EQ(parse_job_key(to_text(second)).value(), second);
    EXPECT_EQ(month_of(second), "1970-01");
}

TEST(server_records, a_name_of_a_cluster_becomes_one_of_a_directory) {
    EXPECT_EQ(cluster_in_key("alps"), "alps");
    EXPECT_EQ(cluster_in_key(""), "unnamed");
    EXPECT_EQ(cluster_in_key(".."), "_.");
    EXPECT_EQ(cluster_in_key("a/b c\n"), "a_b_c_");
    EXPECT_EQ(cluster_in_key(std::string(1000, 'x')).size(), kLongestCluster);
}

TEST(server_records, what_is_not_a_key_is_refused) {
    for (const char* text :
         {"", "alps", "alps-1-2", "-1-2-3", "alps-1-2-", "alps-1-2-3.1", "alps-1-2-3.", "alps-01-2-3",
          "alps-1-2--3", "../alps-1-2-3", "a/b-1-2-3", ".alps-1-2-3", "alps-1-2-99999999999999",
          "alps-1-2-3 ", "alps-1-2-3.02", "alps-x-2-3", "alps-1-2-3.2.3", "\n-1-2-3"})
        EXPECT_FALSE(parse_job_key(text)) << text;
    const auto refused = parse_job_key("a\x1b[2Jb");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(refused.error().message().find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace belay::server
