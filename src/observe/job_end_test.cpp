#include "observe/job_end.h"

#include <gtest/gtest.h>

namespace belay::observe {
namespace {

using std::chrono::seconds;

const core::Time kSubmit = core::time_from_nanoseconds(1'780'000'000'000'000'000);

slurm::ScontrolJob job(const std::string& state) {
    slurm::ScontrolJob job;
    job.job_id = 7;
    job.state = state;
    job.submit = kSubmit;
    job.start = kSubmit + seconds(10);
    job.end = kSubmit + seconds(75);
    job.nodes = {"n1", "n2"};
    return job;
}

TEST(observe, the_end_of_a_job_says_what_was_exceeded) {
    slurm::ScontrolJob late = job("TIMEOUT");
    late.time_limit = seconds(60);
    late.exit_signal = 15;
    const stream::Event event = job_end_event(late);
    EXPECT_EQ(event.message, "Slurm ended job 7 after 1m05s: TIMEOUT, its time limit is 1m00s");
    EXPECT_EQ(event.severity, "critical");
    EXPECT_EQ(event.subject, "TIMEOUT");
    EXPECT_EQ(event.code, -15);
    EXPECT_EQ(event.value, 65);
    slurm::ScontrolJob large = job("OUT_OF_MEMORY");
    large.memory = "4G a node";
    EXPECT_EQ(job_end_event(large).message,
              "Slurm ended job 7 after 1m05s: OUT_OF_MEMORY, it had asked for 4G a node");
    slurm::ScontrolJob failed = job("FAILED");
    failed.exit_code = 3;
    EXPECT_EQ(job_end_event(failed).message, "Slurm ended job 7 after 1m05s: FAILED, with exit status 3");
    EXPECT_EQ(job_end_event(failed).code, 3);
    EXPECT_EQ(job_end_event(job("COMPLETED")).severity, "info");
}

TEST(observe, an_id_that_was_given_anew_is_another_job) {
    record::JobFacts recorded;
    recorded.id = 7;
    recorded.submit = kSubmit;
    recorded.nodes = {"n1"};
    EXPECT_TRUE(is_same_run(job("FAILED"), recorded));
    recorded.submit = kSubmit - seconds(1);
    EXPECT_FALSE(is_same_run(job("FAILED"), recorded));
    recorded.submit.reset();
    EXPECT_TRUE(is_same_run(job("FAILED"), recorded)) << "by its nodes";
    recorded.nodes = {"n3"};
    EXPECT_FALSE(is_same_run(job("FAILED"), recorded));
    recorded.nodes = {"n1"};
    recorded.restart = 1;
    EXPECT_FALSE(is_same_run(job("FAILED"), recorded)) << "an earlier run of a job that was requeued";
}

}  // namespace
}  // namespace belay::observe
