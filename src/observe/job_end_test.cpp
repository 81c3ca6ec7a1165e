#include "observe/job_end.h"

#include "core/file.h"
#include "core/process.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

namespace belay::observe {
namespace {

using std::chrono::seconds;

const core::Time kSubmit = core::time_from_nanoseconds(1'780'000'000'000'000'000);

slurm::JobEnd job(const std::string& state) {
    slurm::JobEnd job;
    job.job_id = 7;
    job.state = state;
    job.submit = kSubmit;
    job.start = kSubmit + seconds(10);
    job.end = kSubmit + seconds(75);
    job.nodes = {"n1", "n2"};
    job.restarts = 0;
    return job;
}

TEST(observe, the_end_of_a_job_says_what_was_asked_for) {
    slurm::JobEnd late = job("TIMEOUT");
    late.time_limit = seconds(60);
    late.exit_signal = 15;
    const stream::Event event = job_end_event(late);
    EXPECT_EQ(event.message, "Slurm ended job 7: TIMEOUT, asked for 1m00s, ran 1m05s");
    EXPECT_EQ(event.severity, "critical");
    EXPECT_EQ(event.subject, "TIMEOUT");
    EXPECT_EQ(event.code, -15);
    EXPECT_EQ(event.value, 65);
    slurm::JobEnd large = job("OUT_OF_MEMORY");
    large.memory = {{100 << 20}, "a node"};
    EXPECT_EQ(job_end_event(large).message,
              "Slurm ended job 7: OUT_OF_MEMORY, asked for 100 MiB a node, ran 1m05s");
    large.memory->per = "";
    large.most_memory = {99 << 20};
    EXPECT_EQ(
        job_end_event(large).message,
        "Slurm ended job 7: OUT_OF_MEMORY, asked for 100 MiB on 2 nodes, Slurm saw 99.0 MiB in use by a "
        "task, ran 1m05s");
    large.state = "FAILED";
    large.out_of_memory_step = "0";
    large.most_memory.reset();
    EXPECT_EQ(job_end_event(large).message,
              "Slurm ended job 7: FAILED, its step 0 OUT_OF_MEMORY, asked for 100 MiB on 2 nodes, ran 1m05s");
    EXPECT_EQ(job_end_event(large).subject, "OUT_OF_MEMORY");
    slurm::JobEnd failed = job("FAILED");
    failed.exit_code = 3;
    EXPECT_EQ(job_end_event(failed).message, "Slurm ended job 7: FAILED, with exit status 3, ran 1m05s");
    EXPECT_EQ(job_end_event(failed).code, 3);
    EXPECT_EQ(job_end_event(job("COMPLETED")).severity, "info");
}

TEST(observe, the_end_of_a_job_says_who_cancelled_it) {
    slurm::JobEnd cancelled = job("CANCELLED");
    EXPECT_EQ(job_end_event(cancelled).message, "Slurm ended job 7: CANCELLED, ran 1m05s");
    EXPECT_EQ(job_end_event(cancelled).severity, "warning") << "somebody wanted it to end";
    cancelled.cancelled_by = 0;
    cancelled.uid = 1000;
    EXPECT_EQ(job_end_event(cancelled).message, "Slurm ended job 7: CANCELLED by user 0, ran 1m05s");
    cancelled.cancelled_by = 1000;
    EXPECT_EQ(job_end_event(cancelled).message,
              "Slurm ended job 7: CANCELLED by user 1000, its owner, ran 1m05s");
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

TEST(observe, a_run_in_the_accounting_is_known_by_its_times) {
    slurm::JobEnd accounted = job("FAILED");
    accounted.restarts.reset();
    record::JobFacts recorded;
    recorded.id = 7;
    recorded.nodes = {"n1"};
    recorded.restart = 1;
    recorded.start = accounted.start;
    EXPECT_TRUE(is_same_run(accounted, recorded));
    recorded.start = *accounted.start - seconds(60);
    EXPECT_FALSE(is_same_run(accounted, recorded)) << "an earlier run";
    recorded.submit = kSubmit;
    EXPECT_TRUE(is_same_run(accounted, recorded));
    accounted.cluster = "alps";
    EXPECT_TRUE(is_same_run(accounted, recorded)) << "the record does not say of which cluster it is";
    recorded.cluster = "daint";
    EXPECT_FALSE(is_same_run(accounted, recorded));
}

// Slurm's commands of the test's own stand first in PATH.
class StandIn {
  public:
    StandIn() { setenv("PATH", (directory_.path().string() + ":" + path_).c_str(), 1); }
    StandIn(const StandIn&) = delete;
    StandIn& operator=(const StandIn&) = delete;
    ~StandIn() { setenv("PATH", path_.c_str(), 1); }
    void answer(const std::string& program, const std::string& script) {
        const auto path = directory_.path() / program;
        ASSERT_TRUE(core::replace_file(path, "#!/bin/sh\n" + script));
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }
    auto ask() {
        record::JobFacts recorded;
        recorded.id = 7;
        recorded.nodes = {"n1"};
        return ask_job_end(recorded, seconds(60));
    }
    void forget() {
        answer("scontrol", "echo 'slurm_load_jobs error: Invalid job id specified' >&2; exit 1");
    }
    void remember(const std::string& state) {
        answer("scontrol",
               "echo 'JobId=7 UserId=ada(1000) JobState=" + state +
                   " SubmitTime=2026-11-21T09:40:10 NodeList=n1 ExitCode=0:15 MinMemoryNode=100M'");
    }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
    std::string path_ = core::environment_variable("PATH").value_or("");
};

constexpr std::string_view kCancelled =
    "echo '7|mini|1000|CANCELLED by "
    "0|0:15|2026-11-21T09:40:10|2026-11-21T09:40:10|2026-11-21T09:40:20|1|100M||n1'";

TEST(observe, the_accounting_is_asked_where_slurmctld_has_forgotten_the_job) {
    StandIn slurm;
    slurm.forget();
    slurm.answer("sacct", std::string(kCancelled));
    const auto end = slurm.ask();
    ASSERT_TRUE(end) << end.error().render();
    ASSERT_TRUE(*end);
    EXPECT_EQ(job_end_event((*end)->job).message, "Slurm ended job 7: CANCELLED by user 0, ran 10.0 s");
}

TEST(observe, the_accounting_adds_what_slurmctld_does_not_tell) {
    StandIn slurm;
    slurm.remember("CANCELLED");
    slurm.answer("sacct", std::string(kCancelled));
    EXPECT_EQ(slurm.ask().value()->job.cancelled_by, 0U);
    slurm.answer("sacct", "echo 'sacct: error: Slurm accounting storage is disabled' >&2; exit 1");
    auto without = slurm.ask().value();
    ASSERT_TRUE(without);
    EXPECT_FALSE(without->job.cancelled_by);
    EXPECT_FALSE(without->unaccounted) << "nobody will know more";
    for (const char* later : {"echo 'sacct: error: cannot connect to slurmdbd' >&2; exit 1", "true"}) {
        slurm.answer("sacct", later);
        EXPECT_TRUE(slurm.ask().value()->unaccounted) << later;
    }
    slurm.remember("RUNNING");
    EXPECT_FALSE(slurm.ask().value());
}

TEST(observe, where_neither_knows_the_job_both_reasons_are_told) {
    StandIn slurm;
    slurm.forget();
    slurm.answer("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
    const auto end = slurm.ask();
    ASSERT_FALSE(end);
    EXPECT_EQ(end.error().kind(), core::ErrorKind::kSystem);
    EXPECT_EQ(
        end.error().message(),
        "job 7: Slurm does not know it; sacct --jobs=7: exit status 1: Slurm accounting storage is disabled");
    slurm.answer("sacct", "true");
    EXPECT_EQ(slurm.ask().error().message(),
              "job 7: Slurm does not know it; Slurm's accounting does not know job 7 as it was recorded");
}

TEST(observe, a_machine_without_slurm_is_not_asked) {
    StandIn slurm;
    slurm.answer("scontrol",
                 "echo 'scontrol: fatal: Could not establish a configuration source' >&2; exit 1");
    const auto end = slurm.ask();
    ASSERT_TRUE(end) << end.error().render();
    EXPECT_FALSE(*end);
}

}  // namespace
}  // namespace belay::observe
