#include "core/user.h"

#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using testing::HasSubstr;

TEST(core, user_names_and_numbers_belong_together) {
    EXPECT_EQ(user_name(0), "root");
    EXPECT_EQ(user_id("root").value(), 0U);
    EXPECT_EQ(user_name(4000000000), "4000000000") << "whom nobody knows";
    const auto nobody = user_id("a-name-that-no-system-has");
    EXPECT_EQ(nobody.error().kind(), ErrorKind::kBadInput);
    EXPECT_THAT(nobody.error().message(), HasSubstr("there is no user a-name-that-no-system-has"));
}

TEST(core, user_entries_may_be_longer_than_any_guess) {
    size_t held = 0;
    EXPECT_EQ(ask_with_room([&](char* buffer, size_t bytes) {
                  if (bytes < 100'000) return ERANGE;
                  buffer[bytes - 1] = 'x';  // all of it may be written to
                  held = bytes;
                  return 0;
              }),
              0);
    EXPECT_GE(held, 100'000U);
    int calls = 0;
    EXPECT_EQ(ask_with_room([&](char*, size_t) { return ++calls, ERANGE; }), ERANGE);
    EXPECT_LT(calls, 20) << "not for ever";
    EXPECT_EQ(ask_with_room([](char*, size_t) { return ENOENT; }), ENOENT);
}

}  // namespace
}  // namespace belay::core
