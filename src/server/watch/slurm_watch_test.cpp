#include "server/watch/slurm_watch.h"

#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A Slurm of this test.
struct FakeSlurm {
    std::vector<QueuedJob> queue;
    std::map<uint64_t, core::Error> failing;
    std::vector<uint64_t> asked;

    SlurmSources sources() {
        return {.queue = [this]() -> core::Result<std::vector<QueuedJob>> { return queue; },
                .job = [this](uint64_t id) -> core::Result<slurm::ScontrolJob> {
                    asked.push_back(id);
                    if (const auto error = failing.find(id); error != failing.end())
                        return std::unexpected(error->second);
                    slurm::ScontrolJob job;
                    job.job_id = id;
                    return job;
                }};
    }
};

std::vector<uint64_t> polled_ids(SlurmWatch& watch) {
    std::vector<uint64_t> ids;
    auto polled = watch.poll();
    EXPECT_TRUE(polled) << (polled ? "" : polled.error().render());
    if (polled)
        for (const slurm::ScontrolJob& job : polled->changed) ids.push_back(job.job_id);
    return ids;
}

TEST(slurm_watch, the_queue_is_read) {
    const auto queue = parse_queue("17|RUNNING|2026-11-29T08:00:00\n  18|PENDING|2026-11-29T08:00:01\n");
    ASSERT_TRUE(queue) << queue.error().render();
    EXPECT_THAT(*queue, ElementsAre(QueuedJob{17, "RUNNING", "2026-11-29T08:00:00"},
                                    QueuedJob{18, "PENDING", "2026-11-29T08:00:01"}));
    EXPECT_THAT(parse_queue("").value(), IsEmpty());
}

TEST(slurm_watch, lines_of_another_form_are_refused) {
    for (const char* text : {"17|RUNNING\n", "x|RUNNING|t\n", "0|RUNNING|t\n", "17||t\n", "17|RUNNING|\n",
                             "17|RUNNING|t|u\n", "-1|RUNNING|t\n", "slurm_load_jobs error\n"})
        EXPECT_FALSE(parse_queue(text)) << text;
}

TEST(slurm_watch, the_cluster_has_a_name) {
    EXPECT_EQ(
        cluster_name_in(
            "Configuration data as of x\nClusterName             = alps\nCommunicationParameters = (null)\n"),
        "alps");
    EXPECT_EQ(cluster_name_in("MyClusterName = x\n"), std::nullopt);
    EXPECT_EQ(cluster_name_in("ClusterName = \n"), std::nullopt);
}

TEST(slurm_watch, a_job_is_asked_for_when_it_is_new_and_when_it_changes) {
    FakeSlurm slurm{.queue = {{1, "RUNNING", "a"}, {2, "PENDING", "b"}}};
    SlurmWatch watch(slurm.sources());
    EXPECT_THAT(polled_ids(watch), ElementsAre(1, 2));
    EXPECT_THAT(polled_ids(watch), IsEmpty());
    slurm.queue[1].state = "RUNNING";
    EXPECT_THAT(polled_ids(watch), ElementsAre(2));
    slurm.queue[0].submit = "later";  // requeued, or another job of this number
    EXPECT_THAT(polled_ids(watch), ElementsAre(1));
    slurm.queue.clear();
    EXPECT_THAT(polled_ids(watch), IsEmpty());
    slurm.queue = {{1, "RUNNING", "later"}};
    EXPECT_THAT(polled_ids(watch), ElementsAre(1));
}

TEST(slurm_watch, what_runs_is_asked_for_before_what_waits) {
    FakeSlurm slurm{
        .queue = {{1, "PENDING", "a"}, {2, "PENDING", "a"}, {3, "RUNNING", "a"}, {4, "COMPLETED", "a"}}};
    SlurmWatch watch(slurm.sources(), 2);
    EXPECT_THAT(polled_ids(watch), ElementsAre(3, 4));
    EXPECT_THAT(polled_ids(watch), ElementsAre(1, 2));
    EXPECT_THAT(polled_ids(watch), IsEmpty());
}

TEST(slurm_watch, a_job_that_slurm_did_not_tell_of_is_asked_for_again) {
    FakeSlurm slurm{.queue = {{1, "RUNNING", "a"}, {2, "RUNNING", "a"}}};
    slurm.failing.emplace(1, core::system_error("no answer").because(core::Cause::kTimedOut).error());
    SlurmWatch watch(slurm.sources());
    const auto polled = watch.poll();
    ASSERT_TRUE(polled);
    EXPECT_EQ(polled->failed, 1u);
    EXPECT_EQ(polled->why, "no answer");
    EXPECT_EQ(polled->changed.size(), 1u);
    slurm.failing.clear();
    EXPECT_THAT(polled_ids(watch), ElementsAre(1));
    // One that it has forgotten meanwhile is not a failure.
    slurm.queue.push_back({3, "COMPLETED", "a"});
    slurm.failing.emplace(3, core::bad_input("unknown").because(core::Cause::kNotFound).error());
    EXPECT_EQ(watch.poll().value().failed, 0u);
}

}  // namespace
}  // namespace belay::server
