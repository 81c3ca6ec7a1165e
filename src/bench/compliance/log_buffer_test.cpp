#include "bench/compliance/log_buffer.h"

#include "bench/compliance/check.h"
#include "core/file.h"

#include <fstream>

#include <gtest/gtest.h>

namespace belay::bench {
namespace {

TEST(bench_check, a_log_is_read_whole_after_a_larger_one_and_after_a_smaller_one) {
    const auto directory = core::TemporaryDirectory::create().value();
    LogBuffer buffer;
    for (const size_t size : {0, 5, 100'000, 7, 200'001}) {
        const auto path = directory.path() / "run.log";
        std::ofstream(path) << std::string(size, 'x');
        EXPECT_EQ(buffer.read(path).value(), std::string(size, 'x'));
    }
}

TEST(bench_check, a_file_that_is_too_large_for_a_log_is_refused) {
    const auto directory = core::TemporaryDirectory::create().value();
    const auto path = directory.path() / "run.log";
    std::ofstream(path) << "x";
    std::filesystem::resize_file(path, kMostLogBytes + 1);
    LogBuffer buffer;
    const auto refused = buffer.read(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_NE(refused.error().message().find("more than 268435456 bytes"), std::string::npos);
}

}  // namespace
}  // namespace belay::bench
