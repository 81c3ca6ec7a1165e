#include "http/gate.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace belay::http {
namespace {

TEST(http, the_name_in_a_host_field) {
    EXPECT_EQ(host_name_of("Node1.Example.org:8443"), "node1.example.org");
    EXPECT_EQ(host_name_of("h"), "h");
    EXPECT_EQ(host_name_of("127.0.0.1:1"), "127.0.0.1");
    EXPECT_EQ(host_name_of("[::1]:80"), "::1");
    EXPECT_EQ(host_name_of("[::1]"), "::1");
    for (const std::string_view host : {"", ":80", "h:", "h:x", "h:65536", "h:80:80", "a b", "a/b", "u@h",
                                        "[::1", "[]", "[::1]x", "::1", "h,i"})
        EXPECT_EQ(host_name_of(host), std::nullopt) << host;
}

TEST(http, a_host_must_be_known) {
    const std::vector<std::string> names = {"localhost", "::1"};
    EXPECT_TRUE(check_host("LOCALHOST:80", names));
    EXPECT_TRUE(check_host("[::1]:80", names));
    EXPECT_EQ(check_host("evil.example", names).error().status, 421);
    EXPECT_EQ(check_host("localhost.evil.example", names).error().status, 421);
    EXPECT_EQ(check_host("localhost:", names).error().status, 400);
}

struct OriginRow {
    Method method;
    std::string_view origin, site;  // empty: not sent
    bool tls;
    int status;
};

TEST(http, what_changes_something_comes_from_our_pages_or_from_no_page) {
    const std::vector<std::string> origins = {"https://ui.example.org"};
    const OriginRow table[] = {
        {Method::kPost, "", "", false, 200},
        {Method::kPost, "http://h:8080", "", false, 200},
        {Method::kPost, "HTTP://H:8080", "cross-site", false, 200},  // Origin says more
        {Method::kPost, "https://h:8080", "", true, 200},
        {Method::kPost, "https://ui.example.org", "cross-site", false, 200},
        {Method::kPost, "http://h", "", false, 403},
        {Method::kPost, "https://h:8080", "", false, 403},
        {Method::kPost, "http://h:8080", "", true, 403},
        {Method::kPost, "null", "", false, 403},
        {Method::kPost, "", "cross-site", false, 403},
        {Method::kPost, "", "same-site", false, 403},
        {Method::kPost, "", "same-origin", false, 200},
        {Method::kPost, "", "none", false, 200},
        {Method::kPut, "http://evil.example", "", false, 403},
        {Method::kPatch, "http://evil.example", "", false, 403},
        {Method::kDelete, "http://evil.example", "", false, 403},
        {Method::kGet, "http://evil.example", "cross-site", false, 200},
        {Method::kHead, "http://evil.example", "cross-site", false, 200},
    };
    for (const OriginRow& row : table) {
        Headers headers;
        headers.add("host", "h:8080");
        if (!row.origin.empty()) headers.add("origin", row.origin);
        if (!row.site.empty()) headers.add("sec-fetch-site", row.site);
        const auto checked = check_origin(row.method, headers, row.tls, origins);
        EXPECT_EQ(checked ? 200 : checked.error().status, row.status)
            << row.origin << " " << row.site << " " << row.tls;
    }
}

TEST(http, an_origin_leaves_the_usual_port_away) {
    Headers headers;
    headers.add("host", "h:443");
    headers.add("origin", "https://h");
    EXPECT_TRUE(check_origin(Method::kPost, headers, true, {}));
    EXPECT_FALSE(check_origin(Method::kPost, headers, false, {}));
}

TEST(http, a_network_of_ipv6_counts_as_one_peer) {
    EXPECT_EQ(peer_group("2001:db8::1"), peer_group("2001:db8::2:3:4:5"));
    EXPECT_NE(peer_group("2001:db8::1"), peer_group("2001:db8:0:1::1"));
    EXPECT_NE(peer_group("10.0.0.1"), peer_group("10.0.0.2"));
}

}  // namespace
}  // namespace belay::http
