#include "server/records/job_follower.h"

#include "server/records/follower_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(server_records, a_job_without_slurm_is_cut_when_it_is_quiet) {
    Follower f;
    f.at(10);
    f.step_told({.told = 10, .t0 = 9.5});
    EXPECT_THAT(f.acts(), ElementsAre("known 7-0-00009"));
    EXPECT_THAT(f.acts(), IsEmpty());
    f.at(100);
    f.step_told({.told = 100, .t0 = 9.5, .t1 = 99});
    f.rows(95, 100);
    EXPECT_THAT(f.acts_until(159), IsEmpty());
    f.rows(150, 155);
    EXPECT_THAT(f.acts_until(170), ElementsAre("160: cut 7-0-00009"));
    EXPECT_TRUE(f.follower.cut_done("alps-7-0-1764000009"));
    EXPECT_THAT(f.acts_until(2000), IsEmpty());
    const FollowedJob job = f.jobs().at(0);
    EXPECT_EQ(job.stage, JobStage::kCut);
    EXPECT_EQ(job.begin(), after(9.5));
    EXPECT_EQ(job.end(), after(99));
    const JobToCut cut = to_cut(job);
    EXPECT_EQ(cut.cluster, "alps");
    EXPECT_EQ(cut.id, 7);
    EXPECT_THAT(cut.nodes, ElementsAre("n1"));
    EXPECT_EQ(cut.range.begin, after(9.5));
    EXPECT_EQ(cut.range.end, after(99));
    EXPECT_TRUE(cut.is_over);
}

TEST(server_records, a_job_of_slurm_is_cut_when_all_of_it_has_come) {
    Follower f;
    const SlurmSaid said = running(5, 10, {"n1", "n2"});
    f.at(11);
    f.follower.take(said);
    EXPECT_THAT(f.acts(), ElementsAre("known 7-0-00005"));
    for (const char* node : {"n1", "n2"}) f.step_told({.told = 11, .t0 = 10, .node = node});
    f.at(50);
    for (const char* node : {"n1", "n2"}) f.step_told({.told = 50, .t0 = 10, .t1 = 49, .node = node});
    f.rows(10, 300, "n1");
    EXPECT_THAT(f.acts_until(300), IsEmpty()) << "Slurm says that it runs: a pause is no end";
    f.follower.take(ended(said, 299));
    f.rows(290, 310, "n1");
    f.rows(10, 303.9, "n2");
    EXPECT_THAT(f.acts_until(305), IsEmpty()) << "a node is behind";
    f.rows(303, 304.1, "n2");
    EXPECT_THAT(f.acts_until(306), ElementsAre("306: cut 7-0-00005"));
    const JobToCut cut = to_cut(f.jobs().at(0));
    EXPECT_EQ(cut.range.begin, after(10));
    EXPECT_EQ(cut.range.end, after(299));
    EXPECT_EQ(cut.told.user, "ada");
    EXPECT_EQ(cut.told.submit, after(5));
    EXPECT_THAT(cut.told.nodes, ElementsAre("n1", "n2"));
}

// Until when rows of the second node have come when the job is over, and when its record is asked for then.
TEST(server_records, what_is_missing_is_waited_for_as_long_as_it_may_come) {
    struct Case {
        std::optional<double> come;
        const char* cut;
    };
    for (const Case& given :
         {Case{{}, "231: cut 7-0-00010"}, Case{60, "1011: cut 7-0-00010"}, Case{106, "111: cut 7-0-00010"}}) {
        SCOPED_TRACE(given.cut);
        Follower f;
        f.at(110);
        f.step_told({.told = 99, .t0 = 10, .t1 = 98, .node = "n1"});
        f.rows(10, 106, "n1");
        if (given.come) f.rows(10, *given.come, "n2");
        f.follower.take(ended(running(0, 10, {"n1", "n2"}), 100));
        EXPECT_THAT(f.acts_until(1500), ElementsAre("111: known 7-0-00010", given.cut));
    }
}

TEST(server_records, an_end_that_was_not_told_is_waited_for_a_while) {
    Follower f;
    f.at(100);
    f.step_told({.told = 11, .t0 = 10});
    f.follower.take(ended(running(0, 10), 100));
    f.acts();
    f.at(110);
    f.rows(10, 108);
    EXPECT_THAT(f.acts_until(300), ElementsAre("220: cut 7-0-00010"));
}

TEST(server_records, late_blocks_make_it_anew_but_not_too_often) {
    Follower f;
    f.at(100);
    f.step_told({.told = 100, .t0 = 10, .t1 = 90});
    f.rows(10, 100, "n1", 0, {{1, 10}});
    EXPECT_THAT(f.acts_until(200), ElementsAre("101: known 7-0-00010", "160: cut 7-0-00010"));
    f.follower.cut_done("alps-7-0-1764000010");
    f.rows(101, 200, "n1", 0, {{20, 30}});  // not of its time
    f.rows(10, 100, "n1", 0, {{1, 10}});    // nothing new
    f.rows(10, 90, "n9", 0, {{1, 10}});     // not of its nodes
    EXPECT_THAT(f.acts_until(900), IsEmpty());
    f.rows(50, 60, "n1", 0, {{10, 20}});
    EXPECT_THAT(f.acts_until(902), ElementsAre("901: recut 7-0-00010"));
    f.rows(60, 70, "n1", 0, {{30, 31}});
    f.follower.cut_done("alps-7-0-1764000010");
    EXPECT_THAT(f.acts_until(1600), ElementsAre("1501: recut 7-0-00010"));
    EXPECT_THAT(f.acts_until(3000), IsEmpty()) << "no answer yet";
    EXPECT_TRUE(f.follower.cut_failed("alps-7-0-1764000010"));
    EXPECT_THAT(f.acts_until(3002), ElementsAre("3001: recut 7-0-00010"));
    f.follower.cut_done("alps-7-0-1764000010");
    f.at(160 + 86400);
    f.rows(60, 70, "n1", 0, {{31, 32}});
    EXPECT_THAT(f.acts_until(160 + 86400 + 2), SizeIs(1)) << "a day after the first";
    f.follower.cut_done("alps-7-0-1764000010");
    f.rows(60, 70, "n1", 0, {{32, 33}});
    f.step_told({.told = 100, .t0 = 10, .t1 = 92});
    EXPECT_THAT(f.acts_until(160 + 86400 + 2000), IsEmpty()) << "and not after that";
    EXPECT_EQ(f.jobs().at(0).stage, JobStage::kDone);
}

TEST(server_records, what_slurm_says_late_makes_it_anew) {
    Follower f;
    f.at(100);
    f.step_told({.told = 100, .t0 = 10, .t1 = 90});
    f.rows(10, 100);
    EXPECT_THAT(f.acts_until(200), SizeIs(2));
    f.follower.cut_done("alps-7-0-1764000010");
    f.follower.take(ended(running(3, 9), 95));
    EXPECT_THAT(f.acts_until(1000), ElementsAre("760: recut 7-0-00010")) << "by the key that was made";
    EXPECT_EQ(to_cut(f.jobs().at(0)).told.user, "ada");
    f.follower.cut_done("alps-7-0-1764000010");
    f.follower.take(ended(running(3, 9), 95));
    EXPECT_THAT(f.acts_until(3000), IsEmpty()) << "that was known";
}

TEST(server_records, steps_end_where_an_agent_that_comes_again_does_not_find_them) {
    Follower f;
    f.at(20);
    f.step_told({.told = 20, .t0 = 10, .step = "0"});
    f.step_told({.told = 20, .t0 = 10, .step = "1"});
    f.rows(10, 90);
    f.at(200);
    f.rows(151, 152, "n1", 150);
    f.step_told({.told = 152, .t0 = 10, .step = "1", .writer = 150});
    f.acts();
    f.at(220);
    f.rows(152, 215, "n1", 150);
    f.acts();
    const FollowedJob job = f.jobs().at(0);
    EXPECT_EQ(job.nodes.at(0).steps.at(0).t1, after(150));
    EXPECT_EQ(job.nodes.at(0).steps.at(1).t1, std::nullopt);
    f.at(300);
    f.step_told({.told = 300, .t0 = 10, .t1 = 299, .step = "1", .writer = 150});
    f.rows(215, 310, "n1", 150);
    f.at(310);
    f.rows(215, 310, "n1", 150);
    EXPECT_THAT(f.acts_until(400), ElementsAre("360: cut 7-0-00010"));
}

TEST(server_records, a_node_that_is_gone_keeps_no_job_for_ever) {
    Follower f;
    f.at(20);
    f.step_told({.told = 20, .t0 = 10});
    f.rows(10, 20);
    f.acts();
    f.at(20 + 86399);
    EXPECT_THAT(f.acts(), IsEmpty());
    f.at(20 + 86400);
    f.acts();
    EXPECT_EQ(f.jobs().at(0).end(), after(20));
    EXPECT_THAT(f.acts_until(20 + 86400 + 1000), SizeIs(1)) << "its record is made of what there is";
}

TEST(server_records, a_job_that_slurm_does_not_know_is_over) {
    Follower f;
    f.at(20);
    f.follower.take(running(0, 10));
    f.step_told({.told = 20, .t0 = 11});
    f.at(500);
    f.step_told({.told = 500, .t0 = 11, .t1 = 499});
    f.rows(10, 520);
    EXPECT_THAT(f.acts_until(10000), ElementsAre("501: known 7-0-00000")) << "Slurm tells what changes";
    f.follower.slurm_forgot("alps", 8);
    f.follower.slurm_forgot("eiger", 7);
    EXPECT_THAT(f.acts_until(10010), IsEmpty());
    f.follower.slurm_forgot("alps", 7);
    EXPECT_THAT(f.acts_until(10020), ElementsAre("10011: cut 7-0-00000"));
    EXPECT_EQ(f.jobs().at(0).end(), after(499));
}

TEST(server_records, a_job_that_ended_while_nobody_followed_is_over) {
    FollowerState state;
    {
        Follower f;
        f.at(20);
        f.follower.take(running(0, 10));
        f.step_told({.told = 20, .t0 = 11});
        f.acts();
        state = f.follower.state();
    }
    Follower f({}, state);
    f.at(5000);
    f.step_told({.told = 500, .t0 = 11, .t1 = 499});
    f.rows(10, 520);
    EXPECT_THAT(f.acts_until(10000), IsEmpty()) << "Slurm has not been heard";
    f.follower.take(running(9990, 9991, {"n2"}, 8));
    EXPECT_THAT(f.acts_until(12000), ElementsAre("10001: known 8-0-09990", "10900: cut 7-0-00000"));
    f.follower.cut_done("alps-7-0-1764000000");
    // It was not asked in time, and the job went on.
    f.at(13000);
    f.follower.take(running(0, 10));
    f.step_told({.told = 13000, .t0 = 12900, .step = "1"});
    EXPECT_THAT(f.acts(), ElementsAre("changed 7-0-00000"));
    EXPECT_THAT(f.jobs(), SizeIs(2));
    EXPECT_EQ(f.follower.find("alps-7-0-1764000000")->over_since, std::nullopt);
    f.at(13100);
    f.step_told({.told = 13100, .t0 = 12900, .t1 = 13090, .step = "1"});
    f.follower.take(ended(running(0, 10), 13091));
    f.rows(520, 13100);
    EXPECT_THAT(f.acts_until(13200), ElementsAre("13101: recut 7-0-00000"));
}

TEST(server_records, a_job_of_which_slurm_is_silent_is_over_after_half_a_day) {
    Follower f;
    f.at(20);
    f.follower.take(running(0, 10));
    f.step_told({.told = 20, .t0 = 11, .t1 = 15});
    f.rows(10, 21);
    f.at(43219);
    EXPECT_THAT(f.acts(), ElementsAre("known 7-0-00000"));
    EXPECT_THAT(f.acts_until(43225), ElementsAre("43220: cut 7-0-00000"));
}

TEST(server_records, a_job_is_forgotten_a_week_after_it_is_done) {
    Follower f;
    f.at(100);
    f.step_told({.told = 100, .t0 = 10, .t1 = 90});
    f.rows(10, 100);
    EXPECT_THAT(f.acts_until(200), SizeIs(2));
    f.follower.cut_done("alps-7-0-1764000010");
    f.at(7.0 * 86400);
    f.acts();
    EXPECT_EQ(f.follower.jobs(), 1U);
    f.step_told({.told = 100, .t0 = 10, .t1 = 90});
    EXPECT_THAT(f.acts(), IsEmpty()) << "that is no other job";
    f.at(15.0 * 86400);
    f.acts();
    EXPECT_EQ(f.follower.jobs(), 0U);
    f.step_told({.told = 100, .t0 = 10, .t1 = 90});
    EXPECT_EQ(f.follower.jobs(), 0U);
}

TEST(server_records, what_was_asked_for_without_an_answer_is_asked_for_again) {
    Follower f;
    f.at(100);
    f.step_told({.told = 100, .t0 = 10, .t1 = 90});
    f.rows(10, 100);
    EXPECT_THAT(f.acts_until(200), SizeIs(2));
    const FollowerState state = f.follower.state();
    EXPECT_EQ(state.jobs.at(0).stage, JobStage::kCutting);
    Follower next({}, state);
    next.at(200);
    EXPECT_THAT(next.acts(), ElementsAre("cut 7-0-00010"));
    EXPECT_TRUE(next.follower.cut_done("alps-7-0-1764000010"));
    EXPECT_FALSE(next.follower.cut_done("alps-9-0-1764000010"));
}

TEST(server_records, uploads_are_taken_whether_they_were_before_or_not) {
    Follower f;
    f.at(100);
    Accepted accepted{
        .stream = {.cluster = "alps", .node = "n1", .began = after(0)},
        .new_runs = {{5, 9}},
        .first_time = after(10),
        .last_time = after(100),
        .shares = {{.told = after(99), .job_id = 7, .step_id = "0", .t0 = after(10), .t1 = after(90)}}};
    f.follower.take(accepted);
    EXPECT_THAT(f.acts_until(200), ElementsAre("101: known 7-0-00010", "160: cut 7-0-00010"));
    f.follower.cut_done("alps-7-0-1764000010");
    Upload upload{.session = {.node = "n1", .cluster = "alps", .began = after(0)},
                  .blocks = {{.number = 7, .first_time = after(20), .last_time = after(30)}},
                  .shares = accepted.shares};
    f.follower.take(upload);
    EXPECT_THAT(f.acts_until(900), IsEmpty());
    upload.blocks[0].number = 9;
    f.follower.take(upload);
    EXPECT_THAT(f.acts_until(1000), ElementsAre("901: recut 7-0-00010"));
}

}  // namespace
}  // namespace belay::server
