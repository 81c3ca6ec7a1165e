#include "agent/courier/agent_facts.h"

#include "metrics/text_encoder.h"
#include "schema/tables/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::agent {
namespace {

using schema::column;
using schema::kCoverage;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::Not;

const core::Time kStart = core::time_from_nanoseconds(1'700'000'000'500'000'000);

std::string text_of(const AgentFacts& facts) {
    auto text =
        metrics::encode_text(families_of(facts, kStart + seconds(90)), metrics::TextForm::kPrometheus);
    if (!text) ADD_FAILURE() << text.error().message();
    return text.value_or("");
}

stream::Batch coverage_rows(const std::string& table, int64_t expected, int64_t received) {
    stream::Batch rows(kCoverage);
    rows.add_row(kStart + seconds(received), "n1");
    rows.set(column(kCoverage, "table_name"), table);
    rows.set(column(kCoverage, "expected"), expected);
    rows.set(column(kCoverage, "received"), received);
    return rows;
}

TEST(agent_courier, an_agent_tells_what_it_knows_of_itself_and_nothing_else) {
    const std::string text = text_of({.node = "n1", .version = "0.7.0", .began = kStart});
    EXPECT_THAT(text, HasSubstr("belay_agent_info{node=\"n1\",version=\"0.7.0\"} 1\n"));
    EXPECT_THAT(text, HasSubstr("belay_agent_start_time_seconds{node=\"n1\"} 1700000000.5\n"));
    for (const char* unknown : {"samples_total", "spool", "shipped", "waiting", "remote_write", "newest"})
        EXPECT_THAT(text, Not(HasSubstr(unknown)));
}

TEST(agent_courier, samples_are_counted_from_the_rows_of_coverage) {
    AgentFacts facts{.node = "n1", .version = "0.7.0", .began = kStart};
    count_rows(facts, coverage_rows("host", 4, 4));
    count_rows(facts, coverage_rows("host", 3, 0));
    count_rows(facts, coverage_rows("gpu", 2, 2));
    const std::string text = text_of(facts);
    EXPECT_THAT(text, HasSubstr("belay_agent_samples_total{node=\"n1\",table=\"host\"} 4\n"));
    EXPECT_THAT(text, HasSubstr("belay_agent_missed_samples_total{node=\"n1\",table=\"host\"} 3\n"));
    EXPECT_THAT(text, HasSubstr("belay_agent_samples_total{node=\"n1\",table=\"gpu\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("belay_agent_newest_row_time_seconds{node=\"n1\"} 1700000004.5\n"));
}

TEST(agent_courier, what_is_sent_and_what_waits_is_told_where_something_is_sent) {
    AgentFacts facts{.node = "n1", .version = "0.7.0", .began = kStart};
    facts.spool = SpoolUse{.files = 2, .bytes = 300, .waiting_bytes = 120, .oldest = kStart};
    EXPECT_THAT(text_of(facts), Not(HasSubstr("waiting")));
    facts.delivery =
        DeliveryCounts{.pieces = 3, .blocks = 40, .bytes = 180, .failures = 2, .refused_pieces = 1};
    facts.remote_write = metrics::remote::SenderCounts{.delivered = 7, .dropped = 5, .waiting = 6};
    const std::string text = text_of(facts);
    for (const char* line :
         {"belay_agent_spool_bytes{node=\"n1\"} 300", "belay_agent_waiting_bytes{node=\"n1\"} 120",
          "belay_agent_waiting_age_seconds{node=\"n1\"} 90",
          "belay_agent_shipped_blocks_total{node=\"n1\"} 40",
          "belay_agent_upload_failures_total{node=\"n1\"} 2",
          "belay_agent_refused_pieces_total{node=\"n1\"} 1",
          "belay_agent_remote_write_samples_total{node=\"n1\",outcome=\"delivered\"} 7",
          "belay_agent_remote_write_samples_total{node=\"n1\",outcome=\"dropped\"} 5",
          "belay_agent_remote_write_waiting_samples{node=\"n1\"} 6"})
        EXPECT_THAT(text, HasSubstr(std::string(line) + "\n"));
    EXPECT_THAT(text, Not(HasSubstr("server_up"))) << "nothing was tried yet";
    facts.delivery->is_up = false;
    EXPECT_THAT(text_of(facts), HasSubstr("belay_agent_server_up{node=\"n1\"} 0\n"));
}

}  // namespace
}  // namespace belay::agent
