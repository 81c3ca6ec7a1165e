#include "core/program.h"

#include <cerrno>
#include <filesystem>
#include <new>
#include <system_error>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using ::testing::HasSubstr;

struct Ended {
    int status;
    std::string shown;
};

Ended end_of(const std::function<Result<int>()>& function) {
    testing::internal::CaptureStderr();
    const int status = run_program("belay", function);
    return {status, testing::internal::GetCapturedStderr()};
}

TEST(core, a_program_ends_with_the_kind_of_what_failed) {
    EXPECT_EQ(end_of([] { return Result<int>(7); }).status, 7);
    for (ErrorKind kind : {ErrorKind::kNegative, ErrorKind::kBadInput, ErrorKind::kSystem}) {
        Ended ended =
            end_of([&]() -> Result<int> { return Failure(Error(kind, "it failed")).hint("do that"); });
        EXPECT_EQ(ended.status, static_cast<int>(kind));
        EXPECT_EQ(ended.shown, "belay: it failed\nhint: do that\n");
    }
}

TEST(core, an_exception_of_a_library_is_a_failure_of_the_system) {
    Ended memory = end_of([]() -> Result<int> { throw std::bad_alloc(); });
    EXPECT_EQ(memory.status, 3);
    EXPECT_EQ(memory.shown, "belay: out of memory\n");
    EXPECT_EQ(exception_of([] { throw std::bad_alloc(); })->errno_value(), ENOMEM);
    Ended thread = end_of([]() -> Result<int> { throw std::system_error(EAGAIN, std::generic_category()); });
    EXPECT_EQ(thread.status, 3);
    EXPECT_EQ(thread.shown, "belay: a call of the system failed: Resource temporarily unavailable\n")
        << "not about the output, which can be written";
    EXPECT_EQ(exception_of([] { throw std::runtime_error("no such operator\nframe #0: 0x7f\n"); })->message(),
              "internal error: no such operator");
    auto gone = without_exceptions([]() -> Result<int> {
        (void)std::filesystem::read_symlink("/no/such/link");
        return 0;
    });
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().cause(), Cause::kNotFound);
    EXPECT_EQ(gone.error().errno_value(), ENOENT);
    EXPECT_THAT(gone.error().message(), HasSubstr("/no/such/link"));
}

}  // namespace
}  // namespace belay::core
