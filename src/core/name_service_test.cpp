#include "core/name_service.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

using namespace std::chrono_literals;

TEST(core, names_have_addresses) {
    auto until = Deadline::after(20s);
    auto knows = [](const std::string& name) { return std::optional("address of " + name); };
    EXPECT_EQ(address_of_name("n3", until, knows).value(), "address of n3");
    EXPECT_EQ(address_of_name("127.0.0.1", until).value(), "127.0.0.1");
}

TEST(core, a_name_that_is_not_known_is_not_found) {
    auto does_not = [](const std::string&) { return std::optional<std::string>(); };
    auto address = address_of_name("n3", Deadline::after(20s), does_not);
    ASSERT_FALSE(address);
    EXPECT_EQ(address.error().message(), "the name service does not know n3");
    EXPECT_EQ(address.error().cause(), Cause::kNotFound);
}

TEST(core, a_name_service_that_hangs_is_given_up) {
    auto hangs = [](const std::string&) -> std::optional<std::string> {
        for (;;) pause();
    };
    auto address = address_of_name("n3", Deadline::after(50ms), hangs);
    ASSERT_FALSE(address);
    EXPECT_EQ(address.error().message(), "the name service did not answer when asked for n3");
    EXPECT_EQ(address.error().cause(), Cause::kTimedOut);
}

}  // namespace
}  // namespace belay::core
