#include "spank/plain/plan.h"

#include "spank/plain/wire.h"

#include <string>

#include <gtest/gtest.h>

namespace belay::spank {

TEST(spank, tasks_wait_as_long_as_the_plan_says) {
    EXPECT_EQ(plan_seconds("61 {\"secret\":\"\"}"), 61);
    EXPECT_EQ(plan_seconds("0 {}"), 0);
    EXPECT_EQ(plan_seconds("007 {}"), 7);
}

TEST(spank, tasks_wait_a_bounded_time_whatever_the_plan_says) {
    for (const char* plan :
         {"", "{}", "-1 {}", "+5 {}", " 5 {}", "604801 {}", "99999999999999999999999999 {}"})
        EXPECT_EQ(plan_seconds(plan), kMostSeconds) << plan;
}

TEST(spank, a_plan_is_known_by_its_first_bytes) {
    EXPECT_TRUE(begins_like_plan("61 {\"secret\":\"x"));
    EXPECT_TRUE(begins_like_plan("604800 {"));
    for (const char* text : {"", "61", "61 ", "61{", "{}", " 61 {", "garbage", "-1 {", "99999999999999"})
        EXPECT_FALSE(begins_like_plan(text)) << text;
}

TEST(spank, a_plan_of_a_record_says_so) {
    EXPECT_TRUE(is_plan_of_record("61r {\"secret\":\"x"));
    EXPECT_TRUE(begins_like_plan("61r {"));
    EXPECT_EQ(plan_seconds("61r {}"), 61);
    for (const char* text : {"", "61 {", "none", "r {", "61rr {", "61 r{", "61r{"})
        EXPECT_FALSE(is_plan_of_record(text)) << text;
}

}  // namespace belay::spank
