#include "server/records/job_follower.h"

#include "server/records/follower_testing.h"
#include "server/records/job_key.h"

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

TEST(server_records, what_is_missing_is_waited_for_as_long_as_it_may_come) {
    const SlurmSaid said = ended(running(0, 10, {"n1", "n2"}), 100);
    for (const auto& [until, cut] : {std::pair(-1, 221), {60, 1001}, {200, 101}}) {
        SCOPED_TRACE(until);
        Follower f;
        f.at(100);
        f.step_told({.told = 99, .t0 = 10, .t1 = 98, .node = "n1"});
        f.rows(10, 200, "n1");  // as far as the clock
        f.clock.advance(seconds(1));
        f.rows(10, 106, "n1");
        if (until >= 0) f.rows(10, until, "n2");
        if (until > 100) f.rows(10, 107, "n2");
        f.follower.take(said);
        std::vector<std::string> acts = f.acts();
        EXPECT_EQ(acts.at(0), "known 7-0-00000");
        if (acts.size() > 1) EXPECT_EQ(cut, 101);
        const std::vector<std::string> later = f.acts_until(1500);
        if (cut == 101)
            EXPECT_THAT(later, IsEmpty());
        else
            EXPECT_THAT(later, ElementsAre(std::to_string(cut) + ": cut 7-0-00000"));
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
    EXPECT_THAT(f.acts_until(300), ElementsAre("220: cut 7-0-00000"));
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
    EXPECT_THAT(f.acts(), ElementsAre("known 7-0-05900", "changed 7-0-04990")) << "the one before is over";
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
    Accepted accepted{.stream = {.cluster = "alps", .node = "n1", .began = after(0)},
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
