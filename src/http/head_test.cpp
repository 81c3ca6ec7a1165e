#include "http/head.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::http {
namespace {

using ::testing::HasSubstr;

std::string head_with(std::string_view lines) {
    return "POST /a HTTP/1.1\r\nHost: h\r\n" + std::string(lines) + "\r\n";
}

int head_status(std::string_view text) {
    const auto head = parse_head(text);
    return head ? 200 : head.error().status;
}

TEST(http, a_head_gives_method_target_and_fields) {
    const auto head =
        parse_head("GET /a/b?c=d HTTP/1.1\r\nHost: h:80\r\nX-Thing:  two words \t\r\nx-thing:\r\n\r\n");
    ASSERT_TRUE(head) << head.error().message;
    EXPECT_EQ(head->method, Method::kGet);
    EXPECT_EQ(head->target, "/a/b?c=d");
    EXPECT_EQ(head->headers.find("host"), "h:80");
    EXPECT_EQ(head->headers.all("x-thing"), (std::vector<std::string_view>{"two words", ""}));
    EXPECT_FALSE(head->content_length);
    EXPECT_FALSE(head->chunked);
    EXPECT_TRUE(head->keep_alive);
}

TEST(http, what_a_head_says_of_the_body_and_the_connection) {
    const auto head =
        parse_head(head_with("Content-Length: 5\r\nConnection: a, Close\r\nExpect: 100-Continue\r\n"));
    ASSERT_TRUE(head);
    EXPECT_EQ(head->content_length, 5u);
    EXPECT_FALSE(head->keep_alive);
    EXPECT_TRUE(head->expects_continue);
    EXPECT_TRUE(parse_head(head_with("Transfer-Encoding: Chunked\r\n"))->chunked);
}

struct RefusedHead {
    std::string text;
    int status;
};

TEST(http, heads_that_are_refused) {
    const RefusedHead table[] = {
        {"GET /  HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400},
        {" GET / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"GET /\r\nHost: h\r\n\r\n", 400},
        {"G(T / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"GET / HTTP/1.0\r\nHost: h\r\n\r\n", 505},
        {"GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505},
        {"GET / http/1.1\r\nHost: h\r\n\r\n", 400},
        {"get / HTTP/1.1\r\nHost: h\r\n\r\n", 501},
        {"TRACE / HTTP/1.1\r\nHost: h\r\n\r\n", 501},
        {"CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n", 501},
        {"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"GET h:80 HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"GET /" + std::string(kLongestTarget, 'a') + " HTTP/1.1\r\nHost: h\r\n\r\n", 414},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: h\r\nX: a\r\n b\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost : h\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: h\r\nX\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: h\r\n: x\r\n\r\n", 400},
        {"GET / HTTP/1.1\nHost: h\n\n", 400},
        {"GET / HTTP/1.1\r\nHost: h\nX: y\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: h\rX: y\r\n\r\n", 400},
        {std::string("GET / HTTP/1.1\r\nHost: h\r\nX: a\0b\r\n\r\n", 35), 400},
        {"\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: h\r\n\r\nmore", 400},
        {"GET / HTTP/1.1\r\nHost: h\r\n", 400},
        {"", 400},
    };
    for (const RefusedHead& row : table)
        EXPECT_EQ(head_status(row.text), row.status) << row.text.substr(0, 80);
}

TEST(http, framings_that_two_servers_could_read_differently_are_refused) {
    const RefusedHead table[] = {
        {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Content-Length: 5\r\nContent-Length: 5\r\n", 400},
        {"Content-Length: 5, 5\r\n", 400},
        {"Content-Length: +5\r\n", 400},
        {"Content-Length: -5\r\n", 400},
        {"Content-Length: 0x5\r\n", 400},
        {"Content-Length: 5 5\r\n", 400},
        {"Content-Length:\r\n", 400},
        {"Content-Length: 9223372036854775808\r\n", 400},
        {"Content-Length: 99999999999999999999\r\n", 400},
        {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
        {"Transfer-Encoding: gzip, chunked\r\n", 501},
        {"Transfer-Encoding: chunked, gzip\r\n", 501},
        {"Transfer-Encoding: gzip\r\n", 501},
        {"Transfer-Encoding: xchunked\r\n", 501},
        {"Transfer-Encoding:\r\n", 501},
        {"Expect: 200-ok\r\n", 417},
        {"Authorization: a\r\nAuthorization: b\r\n", 400},
    };
    for (const RefusedHead& row : table) EXPECT_EQ(head_status(head_with(row.text)), row.status) << row.text;
}

TEST(http, the_number_of_fields_is_bounded) {
    std::string lines;
    for (size_t i = 1; i < kMostFields; ++i) lines += "X: y\r\n";
    EXPECT_EQ(head_status(head_with(lines)), 200);
    EXPECT_EQ(head_status(head_with(lines + "X: y\r\n")), 431);
}

TEST(http, the_end_of_a_head_is_found_however_it_comes) {
    const std::string text = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    HeadScanner scanner;
    for (size_t have = 0; have < text.size(); ++have) {
        const auto end = scanner.scan(std::string_view(text).substr(0, have));
        ASSERT_TRUE(end);
        EXPECT_FALSE(*end) << have;
    }
    EXPECT_EQ(scanner.scan(text + "body\n").value(), std::optional(text.size()));
}

TEST(http, who_speaks_another_protocol_is_not_waited_for) {
    HeadScanner tls;
    const auto hello = tls.scan("\x16\x03\x01");
    ASSERT_FALSE(hello);
    EXPECT_THAT(hello.error().hint, HasSubstr("https"));
    HeadScanner lines;
    EXPECT_FALSE(lines.scan("GET /\n"));
}

}  // namespace
}  // namespace belay::http
