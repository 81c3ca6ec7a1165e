#include "server/api/block_routes.h"

#include "core/file.h"
#include "http/server/testing/server.h"
#include "server/blocks/testing.h"

#include <memory>
#include <mutex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::piece_of;

// A belayd of this one route; what it stores can be made to fail.
struct BlockServer {
    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
    std::unique_ptr<Intake> intake = Intake::open(directory.path() / "blocks", "a1", {}).value();
    std::mutex mutex;
    std::optional<core::Error> failure;
    http::Server server = start();

    http::Server start() {
        http::Route route =
            block_route({.accept = [this](const Upload& upload) -> core::Result<Accepted> {
                             const std::lock_guard lock(mutex);
                             if (failure) return std::unexpected(*failure);
                             return intake->accept(upload);
                         },
                         .may_bring = [](const http::Request&, std::string_view,
                                         std::string_view node) { return node != "stranger"; }});
        route.needs_identity = false;
        return http::testing::start_server(std::move(route));
    }
    http::testing::Answer post(const std::string& piece) const {
        http::testing::RawClient client(server.port());
        return client.ask(http::testing::post_request("/api/v1/blocks", piece));
    }
    nlohmann::json stored(const std::string& piece) const {
        const auto answer = post(piece);
        EXPECT_EQ(answer.status, 200) << answer.body;
        return nlohmann::json::parse(answer.body);
    }
};

TEST(block_routes, a_piece_is_stored_once_and_acknowledged_again) {
    BlockServer server;
    const auto first = server.stored(piece_of(1, 4));
    EXPECT_EQ(first.at("next_block"), 4);
    EXPECT_EQ(first.at("new_blocks"), 3);
    const auto again = server.stored(piece_of(1, 4));
    EXPECT_EQ(again.at("new_blocks"), 0);
    EXPECT_EQ(again.at("known_blocks"), 3);
    EXPECT_EQ(server.intake->received(testing::session_of().stream()).end(), 4u);
}

TEST(block_routes, gaps_are_told) {
    BlockServer server;
    const auto answer = server.stored(piece_of(5, 7));
    EXPECT_EQ(answer.at("next_block"), 7);
    EXPECT_EQ(answer.at("gaps"), nlohmann::json::parse("[[1,5]]"));
}

TEST(block_routes, a_damaged_piece_is_refused_for_good) {
    BlockServer server;
    std::string piece = piece_of(1, 4);
    piece[piece.size() - 3] ^= 1;
    EXPECT_EQ(server.post(piece).status, 400);
    EXPECT_EQ(server.post("not a piece").status, 400);
    EXPECT_TRUE(server.intake->received(testing::session_of().stream()).runs().empty());
}

TEST(block_routes, the_blocks_of_a_node_come_from_those_who_may_bring_them) {
    BlockServer server;
    const auto answer = server.post(piece_of(1, 4, "stranger"));
    EXPECT_EQ(answer.status, 403);
    EXPECT_THAT(answer.body, HasSubstr("role node"));
    EXPECT_TRUE(server.intake->received(testing::session_of("stranger").stream()).runs().empty());
}

TEST(block_routes, a_second_writer_of_a_stream_is_told_apart) {
    BlockServer server;
    server.stored(piece_of(1, 3));
    // The same numbers with other rows.
    std::string other = stream::encode_head(testing::session_of());
    for (const stream::RowsPayload& part : stream::encode_rows(testing::row_of(77)))
        other += stream::encode_rows_block(part, 1);
    EXPECT_EQ(server.post(other).status, 409);
}

TEST(block_routes, what_cannot_be_stored_now_stays_with_the_agent) {
    BlockServer server;
    server.failure =
        core::system_error("/var/lib/belay: No space left").because(core::Cause::kNoSpace).error();
    const auto full = server.post(piece_of(1, 4));
    EXPECT_EQ(full.status, 507);
    EXPECT_TRUE(full.headers.contains("retry-after"));
    EXPECT_THAT(full.body, Not(HasSubstr("/var/lib")));
    server.failure = core::system_error("cannot sync").error();
    EXPECT_EQ(server.post(piece_of(1, 4)).status, 503);
    server.failure.reset();
    EXPECT_EQ(server.stored(piece_of(1, 4)).at("new_blocks"), 3);
}

}  // namespace
}  // namespace belay::server
