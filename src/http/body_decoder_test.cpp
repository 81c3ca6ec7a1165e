#include "http/body_decoder.h"

#include <string>

#include <gtest/gtest.h>

namespace belay::http {
namespace {

// What comes out of a stream that is given in pieces of that size, and what is left of it; or the status.
struct Decoded {
    std::string body;
    std::string rest;
    bool done = false;
    int status = 0;
};

Decoded decode_body(BodyDecoder decoder, std::string_view stream, size_t piece) {
    Decoded out;
    while (!stream.empty() && !decoder.is_done()) {
        const auto step = decoder.take(stream.substr(0, piece));
        if (!step) {
            out.status = step.error().status;
            return out;
        }
        out.body += step->data;
        stream.remove_prefix(step->consumed);
    }
    out.rest = stream;
    out.done = decoder.is_done();
    return out;
}

Decoded decode_chunks(std::string_view stream, uint64_t limit = 1000, size_t piece = 1000) {
    Head head;
    head.chunked = true;
    return decode_body(BodyDecoder(head, limit), stream, piece);
}

TEST(http, chunks_are_joined_however_they_come) {
    const std::string stream = "5\r\nhello\r\n00000A\r\n, chunk\r\n!\r\n0\r\n\r\nGET";
    for (size_t piece = 1; piece <= stream.size(); ++piece) {
        const Decoded out = decode_chunks(stream, 1000, piece);
        EXPECT_EQ(out.status, 0) << piece;
        EXPECT_TRUE(out.done);
        EXPECT_EQ(out.body, "hello, chunk\r\n!");
        EXPECT_EQ(out.rest, "GET");
    }
}

TEST(http, chunks_that_are_refused) {
    for (const std::string_view stream :
         {"\r\n", "x", "-5", "+5", "0x5\r\n", " 5", "5 \r\n", "5\n", "5\rh", "5\r\r", "5;a=b\r\n",
          "0\r\nX: y\r\n\r\n", "0\r\n\n", "0\n", "5\r\nhelloX", "5\r\nhello\n", "5\r\nhello\r0"})
        EXPECT_EQ(decode_chunks(stream).status, 400) << stream;
}

TEST(http, a_chunk_that_was_cut_is_not_done) {
    for (const std::string_view stream :
         {"5\r\nhel", "5\r\nhello", "5\r\nhello\r\n", "5\r\nhello\r\n0", "5\r\nhello\r\n0\r\n\r"}) {
        const Decoded out = decode_chunks(stream);
        EXPECT_EQ(out.status, 0);
        EXPECT_FALSE(out.done) << stream;
    }
}

TEST(http, a_size_of_more_than_fifteen_digits_is_refused) {
    EXPECT_EQ(decode_chunks("000000000000005\r\nhello\r\n0\r\n\r\n").body, "hello");
    EXPECT_EQ(decode_chunks("0000000000000005\r\nhello\r\n0\r\n\r\n").status, 400);
    EXPECT_EQ(decode_chunks("FFFFFFFFFFFFFFF\r\n").status, 413);
}

TEST(http, chunks_beyond_the_limit_are_refused_when_they_are_announced) {
    EXPECT_EQ(decode_chunks("5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n", 10).body, "helloworld");
    EXPECT_EQ(decode_chunks("5\r\nhello\r\n6\r\n", 10).status, 413);
    EXPECT_EQ(decode_chunks("B\r\n", 10).status, 413);
    EXPECT_EQ(decode_chunks("0\r\n\r\n", 0).status, 0);
    EXPECT_EQ(decode_chunks("1\r\n", 0).status, 413);
}

TEST(http, a_body_of_a_length_ends_there) {
    Head head;
    head.content_length = 5;
    for (size_t piece : {1, 3, 100}) {
        const Decoded out = decode_body(BodyDecoder(head, 5), "helloGET", piece);
        EXPECT_EQ(out.body, "hello");
        EXPECT_EQ(out.rest, "GET");
        EXPECT_TRUE(out.done);
    }
    EXPECT_EQ(BodyDecoder(head, 4).check_announced().error().status, 413);
    EXPECT_EQ(decode_body(BodyDecoder(head, 4), "hello", 100).status, 413);
    EXPECT_TRUE(BodyDecoder(Head{}, 0).is_done());
}

}  // namespace
}  // namespace belay::http
