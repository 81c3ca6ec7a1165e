#include "database/testing/fixture.h"
#include "schema/tables/allocation.h"
#include "schema/tables/host.h"
#include "server/blocks/testing.h"
#include "server/keeper/follower_json.h"
#include "server/keeper/job_keeper.h"
#include "server/state/job_store.h"
#include "server/state/schema.h"
#include "stream/block_encoder.h"

#include <deque>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using database::soon;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kBegan;
using testing::session_of;

constexpr auto s = [](int64_t seconds) { return std::chrono::seconds(seconds); };

// The first, second … upload of an agent, each a file of its own: a job on its node from 10 s on, ended at 60 s where `has_ended`, and a sample of the node at `at`.
std::string upload_of(const std::string& node, uint64_t file, int64_t job, int64_t at, bool has_ended) {
    stream::Batch shares(schema::kAllocation);
    shares.add_row(kBegan + s(at), node);
    shares.set(column(schema::kAllocation, "job_id"), job);
    shares.set(column(schema::kAllocation, "step_id"), std::string("0"));
    shares.set(column(schema::kAllocation, "restart"), int64_t{0});
    shares.set(column(schema::kAllocation, "t0"), kBegan + s(10));
    if (has_ended) shares.set(column(schema::kAllocation, "t1"), kBegan + s(60));
    stream::Batch host(schema::kHost);
    host.add_row(kBegan + s(at), node);
    std::string bytes = stream::encode_head(session_of(node, 3 * (file - 1)));
    uint32_t sequence = 0;
    for (const stream::Batch* batch : {&shares, &host})
        for (const stream::RowsPayload& part : stream::encode_rows(*batch))
            bytes += stream::encode_rows_block(part, ++sequence);
    return bytes;
}

class JobKeeping : public database::OnEngine {
  protected:
    void SetUp() override {
        OnEngine::SetUp();
        if (IsSkipped()) return;
        database_ = std::make_unique<database::Database>(open_state(place(), soon()).value());
        open_all();
    }
    void open_all() {
        intake_ = Intake::open(directory_.path() / "blocks", "a", {}, clock_).value();
        records_ = std::make_unique<RecordStore>(
            RecordStore::open(directory_.path() / "records", {.belay = BELAY_PROGRAM}, clock_).value());
    }
    std::unique_ptr<JobKeeper> keeper(std::string name = "a") {
        return std::make_unique<JobKeeper>(KeeperParts{.database = database_.get(),
                                                       .intake = intake_.get(),
                                                       .records = records_.get(),
                                                       .hub = &hub_,
                                                       .clock = &clock_},
                                           KeeperOptions{.name = std::move(name), .cluster = ""});
    }
    Accepted uploaded(const std::string& bytes) const {
        auto accepted = intake_->accept(bytes);
        EXPECT_TRUE(accepted) << (accepted ? "" : accepted.error().render());
        return accepted.value_or(Accepted{});
    }
    void turn(JobKeeper& keeper) const {
        const auto done = keeper.round();
        EXPECT_TRUE(done) << (done ? "" : done.error().render());
    }
    std::vector<Job> jobs(int64_t number) const {
        return find_jobs_by_number(*database_, "", number, soon()).value();
    }

    core::ManualClock clock_{kBegan};
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
    std::unique_ptr<database::Database> database_;
    std::unique_ptr<Intake> intake_;
    std::unique_ptr<RecordStore> records_;
    LiveHub hub_;
};

TEST_P(JobKeeping, a_job_is_known_when_its_first_rows_come_and_has_a_record_when_it_is_over) {
    auto keeper = this->keeper();
    turn(*keeper);
    clock_.advance(s(20));
    keeper->saw(uploaded(upload_of("n1", 1, 7, 20, false)));
    turn(*keeper);
    ASSERT_EQ(jobs(7).size(), 1u);
    const Job running = jobs(7).front();
    EXPECT_FALSE(running.is_over);
    EXPECT_EQ(running.phase, RecordPhase::kNone);
    EXPECT_THAT(running.nodes, ElementsAre("n1"));
    clock_.advance(kBegan + s(70) - clock_.now());
    keeper->saw(uploaded(upload_of("n1", 2, 7, 70, true)));
    turn(*keeper);
    clock_.advance(s(600));
    turn(*keeper);
    EXPECT_TRUE(keeper->make_one());
    turn(*keeper);
    const Job over = jobs(7).front();
    EXPECT_EQ(over.key, running.key);
    EXPECT_TRUE(over.is_over);
    EXPECT_EQ(over.phase, RecordPhase::kSealed) << over.phase_why;
    EXPECT_EQ(over.end, kBegan + s(60));
    const auto place = records_->path_of(over.key).value();
    EXPECT_TRUE(std::filesystem::exists(place / kRecordName / "record.json"));
    EXPECT_TRUE(std::filesystem::exists(place / kSummaryName))
        << core::read_file(place / kJudgedName, 10'000).value_or("");
    EXPECT_FALSE(keeper->make_one());
}

TEST_P(JobKeeping, one_that_takes_over_knows_what_came_meanwhile) {
    auto first = keeper("first");
    turn(*first);
    clock_.advance(s(20));
    first->saw(uploaded(upload_of("n1", 1, 7, 20, false)));
    turn(*first);
    const std::string key = jobs(7).front().key;
    // Acknowledged, and the first one ends before it has seen it, without a word.
    clock_.advance(kBegan + s(70) - clock_.now());
    uploaded(upload_of("n1", 2, 7, 70, true));
    auto second = keeper("second");
    turn(*second);
    EXPECT_FALSE(second->counts().is_keeper);
    clock_.advance(s(60));  // the lease runs out by the database's clock: it is given back here
    first.reset();
    turn(*second);
    EXPECT_TRUE(second->counts().is_keeper);
    clock_.advance(s(600));
    turn(*second);
    ASSERT_EQ(jobs(7).size(), 1u);
    EXPECT_EQ(jobs(7).front().key, key);
    EXPECT_TRUE(jobs(7).front().is_over);
    EXPECT_TRUE(second->make_one());
    EXPECT_EQ(jobs(7).front().phase, RecordPhase::kSealed);
}

TEST_P(JobKeeping, what_was_erased_is_not_made_again) {
    auto keeper = this->keeper();
    turn(*keeper);
    clock_.advance(kBegan + s(70) - clock_.now());
    keeper->saw(uploaded(upload_of("n1", 1, 7, 70, true)));
    turn(*keeper);
    const std::string key = jobs(7).front().key;
    ASSERT_TRUE(set_phase(*database_, key, RecordPhase::kErased, "", clock_.now(), soon()).value());
    clock_.advance(s(600));
    turn(*keeper);
    EXPECT_TRUE(keeper->make_one());
    EXPECT_FALSE(records_->has(key).value());
}

TEST_P(JobKeeping, the_end_of_a_job_ends_its_readers) {
    auto keeper = this->keeper();
    turn(*keeper);
    clock_.advance(kBegan + s(20) - clock_.now());
    keeper->saw(uploaded(upload_of("n1", 1, 7, 20, false)));
    turn(*keeper);
    const auto reader = hub_.join(jobs(7).front().key, "").value();
    clock_.advance(kBegan + s(70) - clock_.now());
    keeper->saw(uploaded(upload_of("n1", 2, 7, 70, true)));
    turn(*keeper);
    clock_.advance(s(600));
    turn(*keeper);
    const auto taken = reader->take();
    EXPECT_TRUE(taken.ended);
    EXPECT_THAT(taken.bytes, HasSubstr("event: end"));
}

INSTANTIATE_TEST_SUITE_P(server_keeper, JobKeeping,
                         ::testing::Values(database::Engine::kSqlite, database::Engine::kPostgres),
                         [](const auto& engine) {
                             return engine.param == database::Engine::kSqlite ? "sqlite" : "postgres";
                         });

TEST(follower_json, a_job_comes_back_as_it_was) {
    FollowedJob job{.key = "alps-7-0-1",
                    .made = 3,
                    .cluster = "alps",
                    .id = 7,
                    .restart = 1,
                    .stage = JobStage::kCutting,
                    .is_told = true};
    job.slurm = SlurmSaid{.cluster = "alps",
                          .id = 7,
                          .submit = kBegan,
                          .state = "RUNNING",
                          .user = "anna",
                          .account = "p1",
                          .name = "a \"name\"\n",
                          .array_job = 5,
                          .start = kBegan + s(1),
                          .nodes = {"n1", "n2"}};
    job.nodes = {
        {.node = "n1", .steps = {{.step = "0", .t0 = kBegan, .told = kBegan + s(2), .writer = kBegan}}}};
    job.over_since = kBegan + s(9);
    const auto back = followed_job_from_json(to_json(job));
    ASSERT_TRUE(back) << back.error().render();
    EXPECT_EQ(*back, job);
}

TEST(follower_json, other_text_is_refused) {
    FollowedJob job{.key = "k"};
    const std::string text = to_json(job);
    EXPECT_TRUE(followed_job_from_json(text));
    for (size_t end = 0; end < text.size(); end += 7)
        EXPECT_FALSE(followed_job_from_json(text.substr(0, end)));
    for (const char* other : {"", "[]", "{}", "null", "{\"key\":1}"})
        EXPECT_FALSE(followed_job_from_json(other)) << other;
}

}  // namespace
}  // namespace belay::server
