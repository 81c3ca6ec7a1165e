#include "agent/courier/block_post.h"

#include "core/file.h"

#include <cerrno>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

namespace fs = std::filesystem;
using metrics::remote::PostAnswer;
using metrics::remote::PostRequest;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using Answered = ShipAnswer::Verdict;

const core::Time kThen = core::time_from_nanoseconds(1'700'000'000'000'000'000);
const stream::Cursor kSent{
    .stream = {.cluster = "c", .node = "n1", .boot = "b", .source = "agent", .began = kThen},
    .next_block = 8};

std::string acknowledgement(uint64_t next, stream::Cursor cursor = kSent) {
    cursor.next_block = next;
    return fmt::format(R"({{"next_block":{},"new_blocks":3,"known_blocks":2,"stream":"{}"}})", next,
                       stream::to_text(cursor));
}
ShipAnswer judged(const PostAnswer& answer) {
    return judge_upload(answer, kSent, "belayd:8443", kThen);
}

TEST(agent_courier, an_acknowledgement_says_what_belayd_has) {
    const ShipAnswer answer = judged({.status = 200, .body = acknowledgement(9)});
    EXPECT_EQ(answer.verdict, Answered::kStored);
    EXPECT_EQ(answer.next_block, 9U);
    EXPECT_EQ(answer.blocks, 5U);
    EXPECT_EQ(answer.why, "");
}

TEST(agent_courier, what_does_not_acknowledge_the_piece_is_no_acknowledgement) {
    stream::Cursor other = kSent;
    other.stream.node = "n2";
    for (const std::string& body :
         {std::string(), std::string("<html>welcome</html>"), std::string("{}"), std::string("[1]"),
          acknowledgement(7), acknowledgement(9, other), std::string(R"({"next_block":9})"),
          std::string(R"({"next_block":-9,"stream":"x"})"),
          std::string(R"({"next_block":"9","stream":9})")}) {
        const ShipAnswer answer = judged({.status = 200, .body = body});
        EXPECT_EQ(answer.verdict, Answered::kLater) << body;
        EXPECT_THAT(answer.why, HasSubstr("does not acknowledge"));
    }
}

struct StatusCase {
    PostAnswer answer;
    Answered verdict;
    core::Duration after;
    std::string_view says;
};

TEST(agent_courier, statuses_mean_what_the_contract_says) {
    const StatusCase rows[] = {
        {{.status = 400, .body = "bad"}, Answered::kRefused, {}, "belayd:8443 refuses blocks with 400: bad"},
        {{.status = 413}, Answered::kRefused, {}, "413"},
        {{.status = 422}, Answered::kRefused, {}, "422"},
        {{.status = 409}, Answered::kNotOurs, {}, "from another writer: 409"},
        {{.status = 401}, Answered::kLater, minutes(5), "--token-file is read again"},
        {{.status = 403}, Answered::kLater, minutes(5), "does not accept the token: 403"},
        {{.status = 404}, Answered::kLater, minutes(5), "is --server the address of belayd?"},
        {{.status = 429, .retry_after = "7"}, Answered::kLater, seconds(7), "belayd:8443 answers 429"},
        {{.status = 503, .retry_after = "90"}, Answered::kLater, seconds(90), "answers 503"},
        {{.status = 503, .retry_after = "86400"}, Answered::kLater, minutes(10), "answers 503"},
        {{.status = 503, .retry_after = "soon"}, Answered::kLater, {}, "answers 503"},
        {{.status = 507}, Answered::kLater, {}, "answers 507"},
        {{.status = 500, .body = "line\nanother"}, Answered::kLater, {}, "answers 500: line"},
        {{.status = 302}, Answered::kLater, {}, "answers 302"},
        {{.status = 204}, Answered::kLater, {}, "answers 204"},
    };
    for (const StatusCase& row : rows) {
        const ShipAnswer answer = judged(row.answer);
        EXPECT_EQ(answer.verdict, row.verdict) << row.answer.status;
        EXPECT_EQ(answer.after, row.after) << row.answer.status;
        EXPECT_THAT(answer.why, HasSubstr(std::string(row.says)));
        EXPECT_EQ(answer.why.find('\n'), std::string::npos);
    }
}

TEST(agent_courier, pieces_go_to_the_api_below_the_address) {
    EXPECT_EQ(upload_url("https://belayd:8443"), "https://belayd:8443/api/v1/blocks");
    EXPECT_EQ(upload_url("https://site/belay/"), "https://site/belay/api/v1/blocks");
}

// A transport that notes requests and gives one answer.
class Post {
  public:
    metrics::remote::Transport transport() {
        return [this](const PostRequest& request) {
            requests.push_back(request);
            bodies.emplace_back(request.body);
            return answer;
        };
    }
    std::vector<PostRequest> requests;
    std::vector<std::string> bodies;
    core::Result<PostAnswer> answer = PostAnswer{.status = 200, .body = acknowledgement(8)};
};

// A sender whose requests go nowhere, and the file of its token.
class Posting {
  public:
    void write_token(const std::string& text,
                     fs::perms mode = fs::perms::owner_read | fs::perms::owner_write) {
        fs::remove(token());
        std::ofstream(token()) << text << "\n";
        fs::permissions(token(), mode);
    }
    fs::path token() const { return place_.path() / "token"; }
    BlockPost sender() {
        return {{.server = "https://belayd:8443/", .token_file = token()}, post.transport(), clock_};
    }
    Post post;
    const stream::Piece piece{.bytes = std::string("a\0b", 3), .next = kSent};

  private:
    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("block_post").value();
    core::ManualClock clock_{kThen};
};

TEST(agent_courier, a_piece_is_sent_with_the_token_of_the_file_as_it_is_now) {
    Posting posting;
    BlockPost sender = posting.sender();
    posting.write_token("first");
    EXPECT_EQ(sender.send(posting.piece).verdict, Answered::kStored);
    posting.write_token("second");
    sender.send(posting.piece);
    ASSERT_EQ(posting.post.requests.size(), 2U);
    EXPECT_EQ(posting.post.requests[0].url, "https://belayd:8443/api/v1/blocks");
    EXPECT_EQ(posting.post.requests[0].authorization, "Bearer first");
    EXPECT_EQ(posting.post.requests[1].authorization, "Bearer second");
    EXPECT_EQ(posting.post.bodies[0], posting.piece.bytes);
}

TEST(agent_courier, a_token_that_others_can_read_is_not_sent) {
    Posting posting;
    BlockPost sender = posting.sender();
    posting.write_token("secret", fs::perms::owner_read | fs::perms::others_read);
    const ShipAnswer answer = sender.send(posting.piece);
    EXPECT_EQ(answer.verdict, Answered::kLater);
    EXPECT_THAT(answer.why, HasSubstr("others may use it"));
    EXPECT_EQ(answer.why.find("secret"), std::string::npos);
    EXPECT_TRUE(posting.post.requests.empty());
    EXPECT_FALSE(sender.has_other_token());
    posting.write_token("secret");
    EXPECT_TRUE(sender.has_other_token());
}

TEST(agent_courier, a_new_token_is_seen_after_one_that_was_not_accepted) {
    Posting posting;
    BlockPost sender = posting.sender();
    posting.write_token("old");
    posting.post.answer = PostAnswer{.status = 401};
    sender.send(posting.piece);
    EXPECT_FALSE(sender.has_other_token());
    fs::remove(posting.token());
    EXPECT_FALSE(sender.has_other_token());
    posting.write_token("new");
    EXPECT_TRUE(sender.has_other_token());
    posting.post.answer = PostAnswer{.status = 503};
    sender.send(posting.piece);
    EXPECT_FALSE(sender.has_other_token()) << "it was not the token that kept it";
}

TEST(agent_courier, what_cannot_be_reached_is_tried_again) {
    Posting posting;
    BlockPost sender = posting.sender();
    posting.write_token("t");
    posting.post.answer = std::unexpected(core::system_error("cannot reach belayd:8443: Connection refused")
                                              .because_of_errno(ECONNREFUSED)
                                              .hint("is it running?")
                                              .error());
    const ShipAnswer answer = sender.send(posting.piece);
    EXPECT_EQ(answer.verdict, Answered::kLater);
    EXPECT_EQ(answer.why, "cannot reach belayd:8443: Connection refused; is it running?");
    EXPECT_EQ(answer.errno_value, ECONNREFUSED);
}

}  // namespace
}  // namespace belay::agent
