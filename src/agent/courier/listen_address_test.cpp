#include "agent/courier/listen_address.h"

#include <gtest/gtest.h>

namespace belay::agent {
namespace {

struct AddressRow {
    std::string_view text;
    std::string_view as;  // empty: it is refused
};

TEST(agent_courier, addresses_to_listen_at) {
    const AddressRow rows[] = {
        {"127.0.0.1:9101", "127.0.0.1:9101"},
        {":9101", "127.0.0.1:9101"},
        {"9101", "127.0.0.1:9101"},
        {"localhost:9101", "127.0.0.1:9101"},
        {"0.0.0.0:0", "0.0.0.0:0"},
        {"[::1]:9101", "[::1]:9101"},
        {"[::]:9101", "[::]:9101"},
        {"::1:9101", ""},
        {"[127.0.0.1]:9101", ""},
        {"n1:9101", ""},
        {std::string_view("127.0.0.1\0:80", 13), ""},
        {"127.0.0.1", ""},
        {"127.0.0.1:", ""},
        {"127.0.0.1:65536", ""},
        {"127.0.0.1:-1", ""},
        {"127.1:80", ""},
        {"", ""},
        {"[]:80", ""},
    };
    for (const AddressRow& row : rows) {
        auto address = parse_listen_address(row.text);
        EXPECT_EQ(address.has_value(), !row.as.empty()) << row.text;
        if (address) {
            EXPECT_EQ(to_text(*address), row.as);
        }
    }
}

TEST(agent_courier, one_address_has_one_listener) {
    auto first = open_listen_socket({.host = "127.0.0.1", .port = 0});
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_NE(first->address.port, 0);
    auto second = open_listen_socket(first->address);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind(), core::ErrorKind::kSystem);
    EXPECT_NE(second.error().message().find(to_text(first->address)), std::string::npos);
}

}  // namespace
}  // namespace belay::agent
