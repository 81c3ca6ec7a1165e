// Which of what is told is of which job.
#include "server/records/follower_testing.h"
#include "server/records/job_follower.h"
#include "server/records/job_key.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(server_records, a_number_that_is_used_again_is_another_job) {
    Follower f;
    f.at(100);
    f.step_told({.told = 100, .t0 = 10, .t1 = 90});
    f.rows(10, 100);
    EXPECT_THAT(f.acts_until(200), ElementsAre("101: known 7-0-00010", "160: cut 7-0-00010"));
    f.at(5000);
    f.step_told({.told = 5000, .t0 = 4990});
    EXPECT_THAT(f.acts(), ElementsAre("known 7-0-04990"));
    EXPECT_THAT(f.jobs(), SizeIs(2));
    // Of the one that Slurm knows, another that was submitted anew.
    f.follower.take(running(4980, 4985));
    f.acts();
    EXPECT_THAT(f.jobs(), SizeIs(2)) << "it is the one that the agent saw";
    f.at(6000);
    f.follower.take(running(5900, 5950));
    EXPECT_THAT(f.acts(), ElementsAre("changed 7-0-04990", "known 7-0-05900")) << "the one before is over";
    f.step_told({.told = 6000, .t0 = 5990, .step = "1"});
    EXPECT_THAT(f.jobs(), SizeIs(3));
    EXPECT_EQ(f.follower.find("alps-7-0-1764005900")->nodes.at(0).first, after(5990));
    EXPECT_EQ(f.follower.find("alps-7-0-1764004990")->end(), after(5900)) << "its end was not told";
}

TEST(server_records, each_run_of_a_job_is_one) {
    Follower f;
    f.at(20);
    f.follower.take(running(0, 10));
    f.step_told({.told = 20, .t0 = 11});
    f.at(50);
    f.step_told({.told = 50, .t0 = 11, .t1 = 49});
    f.acts();
    // Requeued: it waits, as Slurm says of it from then on.
    SlurmSaid waits = running(52, 0, {}, 7, 1);
    waits.state = "PENDING";
    waits.start.reset();
    f.at(60);
    f.follower.take(waits);
    f.rows(10, 60);
    EXPECT_THAT(f.acts(), ElementsAre("changed 7-0-00000", "cut 7-0-00000"));
    EXPECT_EQ(f.jobs().at(0).end(), after(49));
    f.at(100);
    f.follower.take(running(52, 90, {"n1"}, 7, 1));
    f.step_told({.told = 100, .t0 = 91, .restart = 1});
    EXPECT_THAT(f.acts(), ElementsAre("known 7-1-00052"));
    EXPECT_THAT(f.jobs(), SizeIs(2));
}

TEST(server_records, three_jobs_share_a_node) {
    Follower f;
    f.at(20);
    for (int64_t job : {1, 2, 3}) f.step_told({.told = 20, .t0 = 10, .job = job});
    f.rows(10, 20);
    EXPECT_THAT(f.acts(), ElementsAre("known 1-0-00010", "known 2-0-00010", "known 3-0-00010"));
    f.at(100);
    f.step_told({.told = 100, .t0 = 10, .t1 = 99, .job = 2});
    f.rows(90, 150);
    EXPECT_THAT(f.acts_until(300), ElementsAre("160: cut 2-0-00010"));
    EXPECT_THAT(f.jobs(), SizeIs(3));
}

TEST(server_records, jobs_that_turn_out_to_be_one_become_one) {
    Follower f;
    f.at(100);
    f.step_told({.told = 100, .t0 = 10, .t1 = 50, .step = "0"});
    f.step_told({.told = 100, .t0 = 10, .t1 = 60, .job = 8});
    f.at(400);
    f.step_told({.told = 400, .t0 = 390, .t1 = 395, .step = "1"});
    f.rows(10, 400);
    EXPECT_THAT(f.acts(), ::testing::Contains("known 7-0-00390"));
    EXPECT_THAT(f.acts_until(470), ::testing::Contains("460: cut 7-0-00390"));
    EXPECT_THAT(f.jobs(), SizeIs(3));
    // Another node had a step all the time, and was late to say so.
    f.at(500);
    f.step_told({.told = 399, .t0 = 20, .t1 = 398, .node = "n2", .step = "batch"});
    EXPECT_THAT(f.acts().front(), "merged 7-0-00390 into 7-0-00010");
    EXPECT_THAT(f.jobs(), SizeIs(2));
    EXPECT_FALSE(f.follower.cut_done("alps-7-0-1764000390")) << "its record is to go";
    const FollowedJob job = *f.follower.find("alps-7-0-1764000010");
    EXPECT_EQ(job.begin(), after(10));
    EXPECT_EQ(job.end(), after(398));
    EXPECT_THAT(job.node_names(), ElementsAre("n1", "n2"));
    EXPECT_THAT(job.nodes.at(0).steps, SizeIs(2));
}

TEST(server_records, what_slurm_says_makes_one_job_of_its_steps) {
    Follower f;
    f.at(1000);
    f.step_told({.told = 1000, .t0 = 100, .t1 = 110, .step = "0"});
    f.step_told({.told = 1000, .t0 = 500, .t1 = 510, .step = "1"});
    EXPECT_THAT(f.acts(), ElementsAre("known 7-0-00100", "known 7-0-00500"));
    f.follower.take(running(90, 99));
    EXPECT_THAT(f.acts(), ElementsAre("merged 7-0-00500 into 7-0-00100", "changed 7-0-00100"));
    f.step_told({.told = 1000, .t0 = 900, .t1 = 910, .step = "2"});
    EXPECT_THAT(f.jobs(), SizeIs(1));
    f.step_told({.told = 1000, .t0 = 50, .t1 = 60, .step = "0"});
    EXPECT_THAT(f.jobs(), SizeIs(2)) << "before it was started that was another";
}

TEST(server_records, what_an_agent_says_of_the_past_and_the_future_is_not_believed) {
    Follower f;
    f.at(8.0 * 86400);
    f.step_told({.told = 20, .t0 = 10});
    f.step_told({.told = 10.0 * 86400, .t0 = 10.0 * 86400});
    f.step_told({.told = 8.0 * 86400, .t0 = 100, .t1 = 50});
    f.step_told({.told = 8.0 * 86400, .t0 = 100, .job = 0});
    f.step_told({.told = 8.0 * 86400, .t0 = 100, .restart = -1});
    EXPECT_EQ(f.follower.ignored(), 5U);
    EXPECT_EQ(f.follower.jobs(), 0U);
    // Rows of a clock that is wrong do not say that all has come.
    f.rows(0, 1e9);
    EXPECT_LE(f.follower.state().nodes.at(0).until, f.clock.now() + seconds(10));
}

TEST(server_records, the_number_of_jobs_is_bounded) {
    Follower f({.most_jobs = 3});
    f.at(20);
    for (int64_t job = 1; job < 10; ++job) f.step_told({.told = 20, .t0 = 10, .job = job});
    EXPECT_EQ(f.follower.jobs(), 3U);
    EXPECT_EQ(f.follower.ignored(), 6U);
    f.follower.take(running(0, 10, {"n1"}, 9));
    EXPECT_EQ(f.follower.jobs(), 4U) << "what Slurm says is believed";
}

TEST(server_records, keys_are_never_the_same) {
    Follower f({.quiet = seconds(0.01)});
    f.at(20);
    f.step_told({.told = 20, .t0 = 10.1, .t1 = 10.2});
    f.step_told({.told = 20, .t0 = 10.4, .t1 = 10.5, .step = "1"});
    f.step_told({.told = 20, .t0 = 10.7, .t1 = 10.8, .step = "2"});
    EXPECT_THAT(f.acts(), ElementsAre("known 7-0-00010", "known 7-0-00010.2", "known 7-0-00010.3"));
    SeenShare odd = share({.told = 20, .t0 = 10.1});
    odd.cluster = "../x";
    f.follower.take(odd);
    for (const FollowedJob& job : f.jobs()) EXPECT_TRUE(parse_job_key(job.key)) << job.key;
}

TEST(server_records, slurms_words_are_taken_as_they_are_meant) {
    slurm::ScontrolJob job;
    job.job_id = 4713;
    job.array_job_id = 4711;
    job.array_task = 2;
    job.restarts = 1;
    job.state = "RUNNING";
    job.user = "ada";
    job.account = "project";
    job.name = "train";
    job.submit = after(0);
    job.start = after(10);
    job.end = after(3600);  // when its time limit is over
    job.nodes = {"n1"};
    SlurmSaid said = said_by_slurm("alps", job);
    EXPECT_EQ(said.id, 4713);
    EXPECT_EQ(said.restart, 1);
    EXPECT_EQ(said.end, std::nullopt);
    EXPECT_FALSE(said.is_over);
    job.state = "TIMEOUT";
    said = said_by_slurm("alps", job);
    EXPECT_EQ(said.end, after(3600));
    EXPECT_TRUE(said.is_over);
    Follower f;
    f.at(3700);
    f.follower.take(said);
    const JobToCut cut = to_cut(f.jobs().at(0));
    EXPECT_EQ(cut.id, 4713) << "as agents know it";
    EXPECT_EQ(cut.told.id, 4711) << "as people do";
    EXPECT_EQ(cut.told.array_task, 2);
    EXPECT_EQ(cut.told.account, "project");
}

TEST(server_records, nodes_have_the_names_that_slurm_gives_them) {
    Follower f;
    f.at(20);
    f.step_told({.told = 20, .t0 = 11, .node = "n1"});
    f.step_told({.told = 20, .t0 = 11, .node = "intruder"});
    f.follower.take(running(0, 10, {"n2", "n1"}));
    EXPECT_THAT(f.jobs().at(0).node_names(), ElementsAre("n2", "n1"));
    Follower other;
    other.at(20);
    other.step_told({.told = 20, .t0 = 11, .node = "host-1"});
    other.follower.take(running(0, 10, {"n1"}));
    EXPECT_THAT(other.jobs().at(0).node_names(), ElementsAre("host-1")) << "agents may know others";
}

TEST(server_records, steps_without_end_take_bounded_room) {
    FollowedNode node{.node = "n1", .steps = {}};
    for (int i = 0; i < 5000; ++i) {
        const std::string step = std::to_string(i);
        node.take({.step = step, .t0 = after(i), .t1 = {}, .told = after(i), .writer = {}});
        node.take({.step = step, .t0 = after(i), .t1 = after(i + 1), .told = after(i + 1), .writer = {}});
    }
    EXPECT_EQ(node.steps.size(), FollowedNode::kMostSteps);
    EXPECT_FALSE(node.has_open_step());
    EXPECT_FALSE(node.take({.step = "3", .t0 = after(3), .t1 = {}, .told = after(3), .writer = {}}))
        << "that it has ended was known";
    EXPECT_FALSE(node.has_open_step());
    EXPECT_EQ(node.first, after(0));
    EXPECT_EQ(node.last, after(5000));
    for (int i = 0; i < 5000; ++i)
        node.take({.step = std::to_string(i), .t0 = after(i), .t1 = {}, .told = after(1e6), .writer = {}});
    EXPECT_LE(node.steps.size(), FollowedNode::kMostSteps);
}

}  // namespace
}  // namespace belay::server
