#include "server/belayd/own_certificate.h"

#include "core/file.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace belay::server {
namespace {

const std::vector<std::string> kNames = {"localhost", "node1.example.org", "127.0.0.1", "::1"};

std::string text_of_file(const std::filesystem::path& path) {
    return core::read_file(path, 1 << 20).value_or("");
}

TEST(own_certificate, is_made_once_and_can_be_served) {
    const auto directory = core::TemporaryDirectory::create().value();
    const auto place = directory.path() / "tls";
    const auto first = own_certificate(place, kNames, core::system_clock().now());
    ASSERT_TRUE(first) << first.error().render();
    const std::string key = text_of_file(first->key);
    const auto again = own_certificate(place, kNames, core::system_clock().now());
    ASSERT_TRUE(again);
    EXPECT_EQ(text_of_file(again->key), key);
    EXPECT_EQ(std::filesystem::status(first->key).permissions() & std::filesystem::perms::all,
              std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    EXPECT_TRUE(http::load_tls(*first));
}

TEST(own_certificate, half_a_pair_is_made_anew) {
    const auto directory = core::TemporaryDirectory::create().value();
    const auto place = directory.path() / "tls";
    const auto first = own_certificate(place, kNames, core::system_clock().now()).value();
    std::filesystem::remove(first.certificate);
    const auto again = own_certificate(place, kNames, core::system_clock().now());
    ASSERT_TRUE(again);
    EXPECT_TRUE(http::load_tls(*again));
}

}  // namespace
}  // namespace belay::server
