#include "http/response.h"

#include "core/json.h"
#include "http/response_head.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::http {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(const Response& response) {
    return std::get<std::string>(response.body);
}

TEST(http, errors_have_one_shape) {
    const Response response = response_to(Refusal{404, "no \"job\" \xff", "look", {}});
    EXPECT_EQ(response.status, 404);
    const auto json = core::parse_json(text_of(response));
    EXPECT_EQ(json["error"]["status"], 404);
    EXPECT_EQ(json["error"]["message"], "no \"job\" \xef\xbf\xbd");
    EXPECT_EQ(json["error"]["hint"], "look");
    EXPECT_TRUE(core::parse_json(text_of(response_to(Refusal{404, "x"})))["error"]["hint"].is_null());
    EXPECT_EQ(response_to(Refusal{503, "x"}).header("retry-after"), "1");
    EXPECT_EQ(response_to(Refusal{401, "x"}).header("www-authenticate"), "Bearer");
    EXPECT_EQ(response_to(Refusal{405, "x", "", "GET"}).header("allow"), "GET");
}

TEST(http, errors_of_belay_become_statuses) {
    using core::Cause;
    auto status = [](core::Failure failure) { return response_to(std::move(failure).error()).status; };
    EXPECT_EQ(status(core::bad_input("x")), 400);
    EXPECT_EQ(status(core::negative("x")), 409);
    EXPECT_EQ(status(core::system_error("x").because(Cause::kNotFound)), 404);
    EXPECT_EQ(status(core::bad_input("x").because(Cause::kDenied)), 403);
    EXPECT_EQ(status(core::system_error("x").because(Cause::kNoSpace)), 507);
    EXPECT_EQ(status(core::system_error("x").because(Cause::kTimedOut)), 504);
    EXPECT_EQ(status(core::system_error("x").because(Cause::kUnreachable)), 503);
    const Response internal = response_to(core::system_error("a secret path").error());
    EXPECT_EQ(internal.status, 500);
    EXPECT_THAT(text_of(internal), Not(HasSubstr("secret")));
}

TEST(http, a_head_tells_browsers_to_be_careful) {
    const std::string head =
        encode_head(Response::json("{}"), {.keep_alive = true,
                                           .needed_identity = true,
                                           .now = core::time_from_nanoseconds(784111777'000'000'000)});
    EXPECT_TRUE(head.starts_with("HTTP/1.1 200 OK\r\n")) << head;
    EXPECT_TRUE(head.ends_with("\r\n\r\n"));
    EXPECT_THAT(
        head,
        AllOf(HasSubstr("content-type: application/json; charset=utf-8\r\n"),
              HasSubstr("content-length: 2\r\n"), HasSubstr("x-content-type-options: nosniff\r\n"),
              HasSubstr("content-security-policy: default-src 'none'"),
              HasSubstr("cache-control: no-store\r\n"), HasSubstr("date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
              Not(HasSubstr("server:")), Not(HasSubstr("connection:"))));
    const std::string page =
        encode_head(Response::bytes("x", "text/html").with("content-security-policy", "default-src 'self'"),
                    {.keep_alive = false});
    EXPECT_THAT(page,
                AllOf(HasSubstr("content-security-policy: default-src 'self'\r\n"), Not(HasSubstr("'none'")),
                      HasSubstr("connection: close\r\n"), Not(HasSubstr("no-store"))));
}

TEST(http, the_framing_follows_from_the_body) {
    EXPECT_THAT(encode_head(Response::empty(204), {}),
                AllOf(Not(HasSubstr("content-length")), Not(HasSubstr("transfer-encoding"))));
    EXPECT_THAT(encode_head(Response::text(""), {}), HasSubstr("content-length: 0\r\n"));
    EXPECT_THAT(encode_head(Response::file({.length = 1234567890123}, "x/y"), {}),
                HasSubstr("content-length: 1234567890123\r\n"));
    EXPECT_THAT(encode_head(Response::events(std::make_shared<EventQueue>()), {}),
                HasSubstr("transfer-encoding: chunked\r\n"));
    EXPECT_EQ(encode_chunk("hello, chunked world"), "14\r\nhello, chunked world\r\n");
}

TEST(http, a_handler_cannot_write_what_it_must_not) {
    EXPECT_TRUE(check_response(Response::text("x").with("x-thing", "a b")));
    EXPECT_TRUE(check_response(Response::text("x").with("x-thing", "")));
    EXPECT_FALSE(check_response(Response::text("x").with("x-thing", "a\r\nset-cookie: b")));
    EXPECT_FALSE(check_response(Response::text("x").with("x thing", "a")));
    EXPECT_FALSE(check_response(Response::text("x").with("", "a")));
    for (const char* name : {"connection", "content-length", "transfer-encoding", "server", "date"})
        EXPECT_FALSE(check_response(Response::text("x").with(name, "1"))) << name;
    EXPECT_FALSE(check_response(Response::text("x", 100)));
    EXPECT_FALSE(check_response(Response::text("x", 600)));
}

}  // namespace
}  // namespace belay::http
