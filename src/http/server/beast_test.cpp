// Our reading of a head compared with Beast's: what we take, Beast takes too, and as the same. What Beast alone takes is listed,
// since it is why heads are not read by Beast.
#include "http/head.h"

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace belay::http {
namespace {

namespace beast_http = boost::beast::http;
using BeastParser = beast_http::request_parser<beast_http::empty_body>;

std::optional<Head> beast_head(std::string_view text) {
    BeastParser parser;
    parser.body_limit(boost::none);
    boost::system::error_code error;
    parser.put(boost::asio::buffer(text.data(), text.size()), error);
    if (!parser.is_header_done() || (error && error != beast_http::error::need_more)) return std::nullopt;
    Head head;
    head.method =
        method_of(std::string_view(parser.get().method_string().data(), parser.get().method_string().size()))
            .value_or(Method::kOptions);
    head.target = std::string(parser.get().target());
    head.chunked = parser.chunked();
    if (parser.content_length()) head.content_length = *parser.content_length();
    head.keep_alive = parser.keep_alive();
    return head;
}

TEST(http_server, what_we_take_is_the_same_to_beast) {
    for (const std::string_view lines :
         {"", "Content-Length: 5\r\n", "Content-Length: 0\r\n", "Transfer-Encoding: chunked\r\n",
          "Transfer-Encoding: CHUNKED\r\n", "Connection: close\r\n", "Connection: keep-alive\r\n",
          "Connection: Close, x\r\n", "X:\r\n", "X: \t a b\t\r\n", "Content-Length: 9223372036854775807\r\n",
          "Expect: 100-continue\r\n", "Upgrade: x\r\n", "X: \xc3\xa4\r\n"}) {
        const std::string text = "POST /a/%20?b=c HTTP/1.1\r\nHost: h\r\n" + std::string(lines) + "\r\n";
        const auto ours = parse_head(text);
        const auto theirs = beast_head(text);
        ASSERT_TRUE(ours) << lines << ours.error().message;
        ASSERT_TRUE(theirs) << lines;
        EXPECT_EQ(ours->method, theirs->method);
        EXPECT_EQ(ours->target, theirs->target);
        EXPECT_EQ(ours->chunked, theirs->chunked) << lines;
        EXPECT_EQ(ours->content_length, theirs->content_length) << lines;
        EXPECT_EQ(ours->keep_alive, theirs->keep_alive) << lines;
    }
}

TEST(http_server, what_beast_takes_and_we_refuse) {
    for (const std::string_view lines :
         {"Content-Length: 5\r\nContent-Length: 5\r\n", "Content-Length: 5, 5\r\n",
          "Transfer-Encoding: gzip\r\n", "Transfer-Encoding: chunked, gzip\r\n", "X: a\r\n b\r\n",
          "Host: other\r\n"}) {
        const std::string text = "POST / HTTP/1.1\r\nHost: h\r\n" + std::string(lines) + "\r\n";
        EXPECT_TRUE(beast_head(text)) << lines;
        EXPECT_FALSE(parse_head(text)) << lines;
    }
}

}  // namespace
}  // namespace belay::http
