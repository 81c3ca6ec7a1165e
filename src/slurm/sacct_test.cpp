#include "slurm/sacct.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Printed by sacct 22.05.8 for a job that needed more memory than it had asked for.
constexpr std::string_view kOutOfMemory =
    "3|mini-1f|1000|OUT_OF_MEMORY|0:125|2026-11-21T10:09:46|2026-11-21T10:09:47|2026-11-21T10:09:52|10|100M||"
    "n1\n"
    "3.batch|mini-1f||OUT_OF_MEMORY|0:125|2026-11-21T10:09:47|2026-11-21T10:09:47|2026-11-21T10:09:52|||"
    "5120000|n1\n"
    "3.0|mini-1f||OUT_OF_MEMORY|0:125|2026-11-21T10:09:47|2026-11-21T10:09:47|2026-11-21T10:09:52|||98000K|"
    "n1\n";

// A job that was requeued, and cancelled while it waited.
constexpr std::string_view kRequeued =
    "4|mini-1f|1000|REQUEUED|0:0|2026-11-21T10:09:46|2026-11-21T10:09:47|2026-11-21T10:09:52|UNLIMITED|200M||"
    "n[1-2]\n"
    "4.batch|mini-1f||CANCELLED|0:15|2026-11-21T10:09:47|2026-11-21T10:09:47|2026-11-21T10:09:52|||5120000|"
    "n1\n"
    "4|mini-1f|1000|CANCELLED by 0|0:0|2026-11-21T10:09:53|Unknown|2026-11-21T10:10:52|UNLIMITED|100Mn||None "
    "assigned\n";

std::string changed(std::string_view text, std::string_view what, std::string_view with) {
    std::string out(text);
    const size_t at = out.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return out.replace(at, what.size(), with);
}

TEST(slurm, sacct_tells_an_end_and_the_memory_of_its_steps) {
    const auto runs = parse_sacct(kOutOfMemory);
    ASSERT_TRUE(runs) << runs.error().render();
    ASSERT_EQ(runs->size(), 1U);
    const JobEnd& job = runs->front();
    EXPECT_EQ(job.job_id, 3U);
    EXPECT_EQ(job.cluster, "mini-1f");
    EXPECT_EQ(job.uid, 1000U);
    EXPECT_EQ(job.state, "OUT_OF_MEMORY");
    EXPECT_TRUE(job.is_over());
    EXPECT_EQ(job.exit_code, 0);
    EXPECT_EQ(job.exit_signal, 125);
    EXPECT_EQ(core::format_time(job.submit), "2026-11-21T10:09:46.000000Z");
    EXPECT_EQ(core::format_time(job.start.value()), "2026-11-21T10:09:47.000000Z");
    EXPECT_EQ(core::format_time(job.end.value()), "2026-11-21T10:09:52.000000Z");
    EXPECT_EQ(job.time_limit, std::chrono::minutes(10));
    EXPECT_EQ(job.memory, (MemoryRequest{{100 << 20}, ""}));
    EXPECT_EQ(job.most_memory, core::ByteSize{98'000ULL << 10});
    EXPECT_EQ(job.out_of_memory_step, "batch");
    EXPECT_THAT(job.nodes, ElementsAre("n1"));
    EXPECT_EQ(job.restarts, std::nullopt);
}

TEST(slurm, sacct_tells_every_run_of_a_job) {
    const auto runs = parse_sacct(kRequeued);
    ASSERT_TRUE(runs) << runs.error().render();
    ASSERT_EQ(runs->size(), 2U);
    EXPECT_FALSE((*runs)[0].is_over());
    EXPECT_THAT((*runs)[0].nodes, ElementsAre("n1", "n2"));
    EXPECT_EQ((*runs)[0].most_memory, core::ByteSize{5'120'000});
    const JobEnd& last = (*runs)[1];
    EXPECT_EQ(last.state, "CANCELLED");
    EXPECT_EQ(last.cancelled_by, 0U);
    EXPECT_EQ(last.start, std::nullopt);
    EXPECT_EQ(last.time_limit, std::nullopt);
    EXPECT_EQ(last.memory, (MemoryRequest{{100 << 20}, "a node"}));
    EXPECT_EQ(last.most_memory, std::nullopt);
    EXPECT_THAT(last.nodes, IsEmpty());
    EXPECT_EQ(last.out_of_memory_step, std::nullopt);
    EXPECT_THAT(parse_sacct("").value(), IsEmpty());
    EXPECT_THAT(parse_sacct("\n").value(), IsEmpty());
}

TEST(slurm, sacct_names_what_it_does_not_understand) {
    const std::array<const char*, 3> cases[] = {
        {"3|", "x|", "JobIDRaw=x: not a number"},
        {"|OUT_OF_MEMORY|", "||", "no State"},
        {"|0:125|", "|:125|", "ExitCode=:125: not STATUS:SIGNAL"},
        {"|2026-11-21T10:09:46|", "|10:09:46|", "Submit=10:09:46: not a time"},
        {"|2026-11-21T10:09:46|", "|Unknown|", "no Submit"},
        {"|n1", "|n[1", "NodeList=n[1"},
        {"|n1", "", "a line with 11 fields"},
        {"|n1", "|n1|", "a line with 13 fields"},
    };
    for (const auto& [what, with, message] : cases) {
        const auto runs = parse_sacct(changed(kOutOfMemory, what, with));
        ASSERT_FALSE(runs) << with;
        EXPECT_EQ(runs.error().kind(), core::ErrorKind::kSystem) << with;
        EXPECT_THAT(runs.error().message(), HasSubstr(message));
    }
}

TEST(slurm, memory_as_slurm_prints_it) {
    EXPECT_EQ(parse_memory("100M"), core::ByteSize{100 << 20});
    EXPECT_EQ(parse_memory("1.50G"), core::ByteSize{3ULL << 29});
    EXPECT_EQ(parse_memory("4096K"), core::ByteSize{4 << 20});
    EXPECT_EQ(parse_memory("4096"), core::ByteSize{4096});
    for (std::string_view text : {"", "M", "-1M", "x", "1e300G", "nan", "inf", "5Q", "1 M"})
        EXPECT_EQ(parse_memory(text), std::nullopt) << text;
}

}  // namespace
}  // namespace belay::slurm
