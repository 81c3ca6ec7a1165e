#include "core/name_service.h"

#include <cerrno>
#include <netdb.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using namespace std::chrono_literals;

TEST(core, names_have_addresses) {
    auto until = Deadline::after(20s);
    auto knows = [](const std::string& name) -> Result<std::string> { return "address of " + name; };
    EXPECT_EQ(address_of_name("n3", until, knows).value(), "address of n3");
    EXPECT_EQ(address_of_name("127.0.0.1", until).value(), "127.0.0.1");
}

TEST(core, a_name_that_is_not_known_is_not_found) {
    auto does_not = [](const std::string& name) -> Result<std::string> {
        return std::unexpected(name_service_error(EAI_NONAME, 0, name));
    };
    auto address = address_of_name("n3", Deadline::after(20s), does_not);
    ASSERT_FALSE(address);
    EXPECT_EQ(address.error().message(), "the name service does not know n3");
    EXPECT_EQ(address.error().cause(), Cause::kNotFound);
}

TEST(core, a_name_service_that_fails_is_not_a_name_that_is_not_known) {
    struct Row {
        int status, errno_value;
        Cause cause;
        std::string message;
    };
    const Row rows[] = {
        {EAI_NONAME, 0, Cause::kNotFound, "the name service does not know n3"},
        {EAI_NODATA, 0, Cause::kNotFound, "the name service does not know n3"},
        {EAI_AGAIN, 0, Cause::kUnreachable,
         "the name service cannot tell the address of n3: Temporary failure in name resolution"},
        {EAI_FAIL, 0, Cause::kUnreachable,
         "the name service cannot tell the address of n3: Non-recoverable failure in name resolution"},
        {EAI_SYSTEM, ETIMEDOUT, Cause::kTimedOut,
         "the name service cannot be asked for n3: Connection timed out"},
        {EAI_SYSTEM, EMFILE, Cause::kOther, "the name service cannot be asked for n3: Too many open files"},
        {EAI_MEMORY, 0, Cause::kOther, "the name service cannot be asked for n3: Memory allocation failure"},
    };
    for (const Row& row : rows) {
        Error error = name_service_error(row.status, row.errno_value, "n3");
        EXPECT_EQ(error.message(), row.message);
        EXPECT_EQ(error.cause(), row.cause) << row.message;
    }
    auto fails = [](const std::string& name) -> Result<std::string> {
        return std::unexpected(name_service_error(EAI_AGAIN, 0, name));
    };
    auto address = address_of_name("n3", Deadline::after(20s), fails);
    ASSERT_FALSE(address);
    EXPECT_EQ(address.error(), name_service_error(EAI_AGAIN, 0, "n3")) << "out of its process whole";
}

TEST(core, a_name_service_that_hangs_is_given_up) {
    auto hangs = [](const std::string&) -> Result<std::string> {
        for (;;) pause();
    };
    auto address = address_of_name("n3", Deadline::after(50ms), hangs);
    ASSERT_FALSE(address);
    EXPECT_THAT(address.error().message(),
                testing::StartsWith("the name service, asked for n3: no answer within "));
    EXPECT_EQ(address.error().cause(), Cause::kTimedOut);
    auto says_so = [](const std::string& name) -> Result<std::string> {
        return std::unexpected(name_service_error(EAI_SYSTEM, ETIMEDOUT, name));
    };
    EXPECT_EQ(address_of_name("n3", Deadline::after(20s), says_so).error(),
              name_service_error(EAI_SYSTEM, ETIMEDOUT, "n3"))
        << "what it says itself stays";
}

}  // namespace
}  // namespace belay::core
