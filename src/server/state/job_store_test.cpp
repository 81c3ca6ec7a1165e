#include "server/state/job_store.h"

#include "server/state/testing.h"

#include <gmock/gmock.h>

namespace belay::server {
namespace {

using database::soon;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const core::Time kLater = kStateTime + std::chrono::hours(2);

Job full_job() {
    return {.key = "c/7/2023-11-14/0",
            .cluster = "c",
            .id = 7,
            .array_job = 5,
            .array_task = 2,
            .restart = 1,
            .submit = kStateTime,
            .start = kStateTime + std::chrono::seconds(3),
            .end = kStateTime + std::chrono::seconds(9),
            .user = "ann",
            .account = "qcd",
            .name = "träin it's \"%_!",
            .partition = "gpu",
            .slurm_state = "COMPLETED",
            .nodes = {"n1", "n2"},
            .is_over = true,
            .phase = RecordPhase::kCutting,
            .sharing = Sharing::kProject,
            .shares_last_words = true,
            .origin = JobOrigin::kSlurm};
}

TEST_P(OnState, a_job_comes_back_as_it_was) {
    put(full_job());
    const Job job = found("c/7/2023-11-14/0");
    EXPECT_EQ(job.cluster, "c");
    EXPECT_EQ(job.id, 7);
    EXPECT_EQ(job.array_job, 5);
    EXPECT_EQ(job.array_task, 2);
    EXPECT_EQ(job.restart, 1);
    EXPECT_EQ(job.submit, kStateTime);
    EXPECT_EQ(job.start, kStateTime + std::chrono::seconds(3));
    EXPECT_EQ(job.end, kStateTime + std::chrono::seconds(9));
    EXPECT_EQ(job.user, "ann");
    EXPECT_EQ(job.account, "qcd");
    EXPECT_EQ(job.name, "träin it's \"%_!");
    EXPECT_EQ(job.partition, "gpu");
    EXPECT_EQ(job.slurm_state, "COMPLETED");
    EXPECT_THAT(job.nodes, ElementsAre("n1", "n2"));
    EXPECT_TRUE(job.is_over);
    EXPECT_EQ(job.phase, RecordPhase::kCutting);
    EXPECT_EQ(job.sharing, Sharing::kProject);
    EXPECT_TRUE(job.shares_last_words);
    EXPECT_EQ(job.origin, JobOrigin::kSlurm);
    EXPECT_EQ(job.first_seen, kStateTime);
    EXPECT_FALSE(got(find_job(state(), "c/8", soon())));
    EXPECT_EQ(facts_of(job).owner, "ann");
    EXPECT_EQ(facts_of(job).sharing, Sharing::kProject);
}

TEST_P(OnState, an_update_knows_no_less_than_before) {
    put(full_job());
    put({.key = "c/7/2023-11-14/0", .cluster = "c", .id = 7, .slurm_state = "NODE_FAIL"}, kLater);
    const Job job = found("c/7/2023-11-14/0");
    EXPECT_EQ(job.slurm_state, "NODE_FAIL");
    EXPECT_EQ(job.user, "ann") << "what is not known leaves what was";
    EXPECT_THAT(job.nodes, ElementsAre("n1", "n2"));
    EXPECT_EQ(job.submit, kStateTime);
    EXPECT_TRUE(job.is_over) << "a job that is over stays over";
    EXPECT_EQ(job.phase, RecordPhase::kCutting) << "of those who cut it";
    EXPECT_EQ(job.sharing, Sharing::kProject) << "of its owner";
    EXPECT_EQ(job.origin, JobOrigin::kSlurm);
    EXPECT_EQ(job.first_seen, kStateTime);
    EXPECT_EQ(job.changed, kLater);
}

TEST_P(OnState, nodes_of_a_job_can_change_and_be_many) {
    Job job = job_number(1, "ann");
    for (int i = 0; i < 1234; ++i) job.nodes.push_back("n" + std::to_string(i));
    job.nodes.emplace_back("n0");  // twice
    put(job);
    EXPECT_EQ(count("SELECT count(*) FROM job_node WHERE job_key = 'c/1'"), 1234);
    EXPECT_EQ(found("c/1").nodes.size(), 1235U);
    job.nodes = {"n5"};
    put(job);
    EXPECT_EQ(count("SELECT count(*) FROM job_node"), 1);
    job.nodes.clear();
    put(job);
    EXPECT_THAT(found("c/1").nodes, ElementsAre("n5"));
}

TEST_P(OnState, what_cannot_be_a_job_is_refused) {
    const auto refuse = [&](const Job& job) {
        const auto done = put_job(state(), job, kStateTime, soon());
        EXPECT_FALSE(done) << job.key;
        if (!done) {
            EXPECT_EQ(done.error().kind(), core::ErrorKind::kBadInput) << done.error().render();
        }
    };
    refuse({});
    refuse({.key = "a\nb"});
    refuse({.key = std::string(600, 'k')});
    refuse({.key = "c/1", .user = "a b"});
    refuse({.key = "c/1", .nodes = {"n1,n2"}});
    refuse({.key = "c/1", .nodes = {""}});
    refuse({.key = "c/1", .name = std::string("a\0b", 3)});
    EXPECT_EQ(count("SELECT count(*) FROM job"), 0);
    put({.key = "c/1", .name = "a\xff"});
    EXPECT_EQ(found("c/1").name, "a\xEF\xBF\xBD");
}

TEST_P(OnState, jobs_are_found_by_number) {
    put(job_number(1, "ann"));
    put({.key = "d/1", .cluster = "d", .id = 1, .submit = kLater});
    put({.key = "c/9", .cluster = "c", .id = 9, .array_job = 1, .submit = kStateTime});
    const auto keys = [&](std::string_view cluster, int64_t number) {
        std::vector<std::string> found;
        for (const Job& job : got(find_jobs_by_number(state(), cluster, number, soon())))
            found.push_back(job.key);
        return found;
    };
    EXPECT_THAT(keys("", 1), ElementsAre("d/1", "c/1", "c/9"));
    EXPECT_THAT(keys("c", 1), ElementsAre("c/1", "c/9"));
    EXPECT_THAT(keys("c", 2), IsEmpty());
}

TEST_P(OnState, open_jobs_are_those_that_run_or_are_not_cut) {
    for (int i = 1; i <= 6; ++i) put(job_number(i, "ann"));
    const auto end = [&](int number, RecordPhase phase) {
        Job job = job_number(number, "ann");
        job.is_over = true;
        put(job);
        EXPECT_TRUE(got(set_phase(state(), job.key, phase, "", kLater, soon())));
    };
    end(2, RecordPhase::kNone);
    end(3, RecordPhase::kCutting);
    end(4, RecordPhase::kSealed);
    end(5, RecordPhase::kFailed);
    EXPECT_TRUE(got(set_phase(state(), "c/6", RecordPhase::kErased, "", kLater, soon())));
    const auto keys = [&](std::string_view after, size_t most) {
        std::vector<std::string> found;
        for (const Job& job : got(list_open_jobs(state(), after, most, soon()))) found.push_back(job.key);
        return found;
    };
    EXPECT_THAT(keys("", 10), ElementsAre("c/1", "c/2", "c/3"));
    EXPECT_THAT(keys("", 2), ElementsAre("c/1", "c/2"));
    EXPECT_THAT(keys("c/2", 10), ElementsAre("c/3"));
}

TEST_P(OnState, phases_and_sharing_are_set_and_an_erased_job_stays_erased) {
    put(job_number(1, "ann"));
    EXPECT_TRUE(got(set_phase(state(), "c/1", RecordPhase::kFailed, "no blocks", kLater, soon())));
    EXPECT_EQ(found("c/1").phase_why, "no blocks");
    EXPECT_TRUE(got(set_sharing(state(), "c/1", {Sharing::kProject, true}, kLater, soon())));
    EXPECT_EQ(found("c/1").sharing, Sharing::kProject);
    EXPECT_TRUE(found("c/1").shares_last_words);
    EXPECT_FALSE(got(set_sharing(state(), "c/2", {}, kLater, soon())));
    EXPECT_FALSE(got(set_phase(state(), "c/2", RecordPhase::kSealed, "", kLater, soon())));

    EXPECT_TRUE(got(set_phase(state(), "c/1", RecordPhase::kErased, "", kLater, soon())));
    EXPECT_FALSE(got(set_phase(state(), "c/1", RecordPhase::kCutting, "", kLater, soon())));
    EXPECT_FALSE(got(set_sharing(state(), "c/1", {Sharing::kProject, false}, kLater, soon())));
    Job again = job_number(1, "bob");
    again.nodes = {"n1"};
    put(again);
    EXPECT_EQ(found("c/1").user, "ann") << "Slurm says it again, but it is not stored";
    EXPECT_THAT(found("c/1").nodes, IsEmpty());
    EXPECT_EQ(count("SELECT count(*) FROM job_node"), 0);
}

}  // namespace
}  // namespace belay::server
