#include "observe/cgroup/cgroup.h"

#include "observe/cgroup/fake_cgroups.h"
#include "observe/cgroup/member_job.h"
#include "schema/tables/cgroup.h"

#include <memory>
#include <string>
#include <sys/stat.h>
#include <vector>

#include <gmock/gmock.h>

namespace belay::observe::cgroup {
namespace {

using namespace testing;
using collect::testing::integer;
using collect::testing::is_null;
using collect::testing::real;
using collect::testing::row_where;
using collect::testing::text;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kUnifiedTop = "system.slice/slurmstepd.scope";

// A host that is sampled once a second.
class Sampled {
  public:
    stream::Batch sample() {
        if (!collector_) {
            CgroupOptions given = options ? *options : host.options();
            given.on_event = [this](const stream::Event& event) { told.push_back(event.message); };
            collector_ = make_cgroup_collector(given);
        }
        return collect::testing::sampled(*collector_, at_second(++second_));
    }
    bool is_expected() const { return collector_->is_expected(); }

    FakeCgroups host;
    std::optional<CgroupOptions> options;
    std::vector<std::string> told;

  private:
    std::unique_ptr<collect::Collector> collector_;
    int64_t second_ = 0;
};

// "job", "step 0", "task 0.3"
std::vector<std::string> names(const stream::Batch& rows) {
    std::vector<std::string> names;
    for (size_t row = 0; row < rows.rows(); ++row) {
        std::string name = text(rows, row, "level").value();
        if (const auto step = text(rows, row, "step_id")) name += " " + *step;
        if (const auto task = integer(rows, row, "task")) name += fmt::format(".{}", *task);
        names.push_back(name);
    }
    return names;
}

TEST(observe_cgroup, each_job_step_and_task_has_a_row) {
    Sampled node;
    node.host.mount_unified();
    for (const char* below :
         {"job_7", "job_7/step_batch", "job_7/step_batch/slurm", "job_7/step_batch/user/task_0",
          "job_7/step_extern", "job_7/step_extern/user/task_special", "job_7/step_0",
          "job_7/step_0/user/task_3"})
        node.host.add_unified(fs::path(kUnifiedTop) / below);
    const stream::Batch rows = node.sample();
    EXPECT_THAT(names(rows), ElementsAre("job", "step 0", "task 0.3", "step batch", "task batch.0",
                                         "step extern", "task extern"));
    EXPECT_TRUE(node.is_expected());
    for (size_t row = 0; row < rows.rows(); ++row) {
        EXPECT_EQ(integer(rows, row, "job_id"), 7);
        EXPECT_EQ(integer(rows, row, "cgroup_version"), 2);
    }
    EXPECT_EQ(text(rows, 2, "path"), kUnifiedTop + "/job_7/step_0/user/task_3");
    struct ::stat status{};
    ASSERT_EQ(stat((node.host.root() / text(rows, 2, "path").value()).c_str(), &status), 0);
    EXPECT_EQ(integer(rows, 2, "cgroup_id"), static_cast<int64_t>(status.st_ino));
    EXPECT_THAT(node.told, IsEmpty());
}

TEST(observe_cgroup, a_row_holds_every_quantity_of_version_2) {
    Sampled node;
    node.host.mount_unified();
    node.host.add_unified(kUnifiedTop + "/job_7");
    node.sample();
    node.host.add_unified(kUnifiedTop + "/job_8");
    const stream::Batch rows = node.sample();
    const size_t row = row_where(rows, "job_id", 8).value();
    EXPECT_EQ(integer(rows, row, "start_time"), core::to_nanoseconds(at_second(2)));
    EXPECT_TRUE(is_null(rows, row_where(rows, "job_id", 7).value(), "start_time"));
    for (const schema::Quantity& quantity : schema::kCgroupQuantities)
        EXPECT_FALSE(is_null(rows, row, quantity.name)) << quantity.name;
    EXPECT_EQ(real(rows, row, "cpu_seconds_total"), 412.345678);
    EXPECT_EQ(real(rows, row, "cpu_user_seconds_total"), 400.111222);
    EXPECT_EQ(real(rows, row, "cpu_system_seconds_total"), 12.234456);
    EXPECT_EQ(integer(rows, row, "cpu_periods_total"), 5000);
    EXPECT_EQ(integer(rows, row, "cpu_throttled_periods_total"), 17);
    EXPECT_EQ(real(rows, row, "cpu_throttled_seconds_total"), 1.234567);
    EXPECT_EQ(integer(rows, row, "memory_bytes"), 34'359'738'368);
    EXPECT_EQ(integer(rows, row, "memory_peak_bytes"), 51'539'607'552);
    EXPECT_EQ(integer(rows, row, "memory_anonymous_bytes"), 21'474'836'480);
    EXPECT_EQ(integer(rows, row, "memory_file_bytes"), 10'737'418'240);
    EXPECT_EQ(integer(rows, row, "memory_shared_bytes"), 8'589'934'592);
    EXPECT_EQ(integer(rows, row, "memory_limit_bytes"), 68'719'476'736);
    EXPECT_EQ(integer(rows, row, "memory_high_events_total"), 2);
    EXPECT_EQ(integer(rows, row, "memory_max_events_total"), 31);
    EXPECT_EQ(integer(rows, row, "memory_oom_events_total"), 4);
    EXPECT_EQ(integer(rows, row, "oom_kills_total"), 3);
    EXPECT_EQ(integer(rows, row, "io_read_bytes_total"), 1'073'741'825);
    EXPECT_EQ(integer(rows, row, "io_written_bytes_total"), 4098);
    EXPECT_EQ(integer(rows, row, "io_reads_total"), 262'147);
    EXPECT_EQ(integer(rows, row, "io_writes_total"), 5);
    EXPECT_EQ(real(rows, row, "pressure_cpu_some_seconds_total"), 7.000001);
    EXPECT_EQ(real(rows, row, "pressure_cpu_full_seconds_total"), 6.000002);
    EXPECT_EQ(real(rows, row, "pressure_memory_some_seconds_total"), 5.000003);
    EXPECT_EQ(real(rows, row, "pressure_memory_full_seconds_total"), 4.000004);
    EXPECT_EQ(real(rows, row, "pressure_io_some_seconds_total"), 3.000005);
    EXPECT_EQ(real(rows, row, "pressure_io_full_seconds_total"), 2.000006);
    EXPECT_EQ(integer(rows, row, "processes"), 2);
    EXPECT_EQ(integer(rows, row, "cpus"), 8);
    EXPECT_EQ(text(rows, row, "cpuset"), "0-3,64-67");
}

TEST(observe_cgroup, on_a_hybrid_host_version_1_has_the_rows) {
    Sampled node;
    node.host.mount_unified("unified");
    node.host.add_legacy("slurm_n1/uid_7/job_3");
    node.host.add_legacy("slurm_n1/uid_7/job_3/step_batch/task_0");
    const stream::Batch rows = node.sample();
    EXPECT_THAT(names(rows), ElementsAre("job", "step batch", "task batch.0"));
    EXPECT_EQ(integer(rows, 0, "cgroup_version"), 1);
    EXPECT_EQ(integer(rows, 0, "job_id"), 3);
    EXPECT_EQ(real(rows, 0, "cpu_seconds_total"), 1673.659831152);
    EXPECT_EQ(integer(rows, 0, "memory_limit_bytes"), 4'294'967'296);
    for (const char* unknown : {"pressure_cpu_some_seconds_total", "pressure_io_full_seconds_total",
                                "memory_high_events_total", "memory_oom_events_total"})
        EXPECT_TRUE(is_null(rows, 0, unknown)) << unknown;
    EXPECT_TRUE(is_null(rows, 1, "memory_bytes")) << "the step's directories have no files here";
    EXPECT_TRUE(is_null(rows, 1, "processes"));
}

TEST(observe_cgroup, a_job_that_is_named_by_its_sluid_is_known_by_its_slurmstepd) {
    Sampled node;
    node.host.mount_unified();
    const std::string job = kUnifiedTop + "/s5K1KKYAYG5D00";
    node.host.add_unified(job + "/step_0/user/task_0");
    node.host.write(job + "/step_0/slurm/cgroup.procs", "0\n41\n");
    node.host.process(41, "cmdline", "slurmstepd: [12.0]");
    node.host.process(4711, "environ", std::string("SLURM_JOB_ID=99\0", 16));
    const stream::Batch rows = node.sample();
    EXPECT_THAT(names(rows), ElementsAre("job", "step 0", "task 0.0"));
    for (size_t row = 0; row < rows.rows(); ++row)
        EXPECT_EQ(integer(rows, row, "job_id"), 12) << "whatever a task says";
}

TEST(observe_cgroup, without_its_slurmstepd_a_member_tells_the_job) {
    Sampled node;
    node.host.mount_unified();
    const std::string job = kUnifiedTop + "/s5K1KKYAYG5D00";
    node.host.add_unified(job + "/step_0/user/task_0");
    node.host.process(4711, "environ", std::string("A=1\0", 4));
    EXPECT_TRUE(is_null(node.sample(), 0, "job_id")) << "it has not got its own environment yet";
    node.host.process(4712, "environ", std::string("SECRET=1\0SLURM_JOB_ID=12\0", 25));
    EXPECT_EQ(integer(node.sample(), 2, "job_id"), 12);
    node.host.remove(job + "/step_0/user/task_0");
    EXPECT_EQ(integer(node.sample(), 1, "job_id"), 12) << "what was known is known";
    EXPECT_THAT(node.told, IsEmpty());
}

TEST(observe_cgroup, a_title_of_another_step_and_a_number_that_is_none_tell_nothing) {
    Sampled node;
    node.host.mount_unified();
    const std::string job = kUnifiedTop + "/s5K1KKYAYG5D00";
    node.host.add_unified(job + "/step_0/user/task_0");
    node.host.write(job + "/step_0/slurm/cgroup.procs", "41\n");
    node.host.process(41, "cmdline", "slurmstepd: [12.1]");
    node.host.process(4711, "environ", std::string("SLURM_JOB_ID=-4\0", 16));
    node.host.process(4712, "environ", std::string("SLURM_JOB_ID=99999999999999999999\0", 34));
    EXPECT_TRUE(is_null(node.sample(), 0, "job_id"));
}

TEST(observe_cgroup, where_one_job_is_asked_for_others_and_unknown_ones_have_no_rows) {
    Sampled node;
    node.host.mount_unified();
    for (const char* below : {"job_7/step_0", "sAAAAAAAAAAAAA/step_0", "sBBBBBBBBBBBBB/step_0", "system"})
        node.host.add_unified(fs::path(kUnifiedTop) / below);
    node.host.write(kUnifiedTop + "/sAAAAAAAAAAAAA/step_0/slurm/cgroup.procs", "41\n");
    node.host.process(41, "cmdline", "slurmstepd: [12.0]");
    node.options = node.host.options();
    node.options->live.job_id = 12;
    const stream::Batch rows = node.sample();
    EXPECT_THAT(names(rows), ElementsAre("job", "step 0"));
    EXPECT_EQ(text(rows, 0, "path"), kUnifiedTop + "/sAAAAAAAAAAAAA");
}

TEST(observe_cgroup, a_directory_without_steps_is_a_job_only_where_its_name_says_so) {
    Sampled node;
    node.host.mount_unified();
    for (const char* below : {"job_7", "sAAAAAAAAAAAAA", "system"})
        node.host.add_unified(fs::path(kUnifiedTop) / below);
    const stream::Batch rows = node.sample();
    ASSERT_EQ(rows.rows(), 1U);
    EXPECT_EQ(integer(rows, 0, "job_id"), 7);
}

TEST(observe_cgroup, cgroups_beyond_the_limit_are_said_once) {
    Sampled node;
    node.host.mount_unified();
    for (int job = 1; job <= 5; ++job) node.host.add_unified(fmt::format("{}/job_{}", kUnifiedTop, job));
    node.options = node.host.options();
    node.options->live.cgroups_limit = 3;
    EXPECT_EQ(node.sample().rows(), 2U);
    EXPECT_EQ(node.sample().rows(), 2U);
    ASSERT_EQ(node.told.size(), 1U);
    EXPECT_THAT(node.told[0], HasSubstr("more than 3 cgroups"));
    EXPECT_THAT(node.told[0], HasSubstr("3 directories are not followed"));
}

TEST(observe_cgroup, without_slurm_no_rows_are_owed) {
    Sampled node;
    EXPECT_EQ(node.sample().rows(), 0U);
    EXPECT_FALSE(node.is_expected());
    node.host.mount_unified();
    node.host.add_unified("system.slice/sshd.service");
    EXPECT_EQ(node.sample().rows(), 0U);
    EXPECT_FALSE(node.is_expected());
    node.host.add_unified(kUnifiedTop);
    EXPECT_EQ(node.sample().rows(), 0U);
    EXPECT_TRUE(node.is_expected()) << "jobs may come";
    EXPECT_THAT(node.told, IsEmpty());
}

TEST(observe_cgroup, ids_of_processes_are_read_up_to_a_number) {
    EXPECT_THAT(parse_processes("1\n0\n-3\nx\n99999999999\n7\n8\n9\n", 3), ElementsAre(1, 7, 8));
    EXPECT_THAT(parse_processes("12\n34", 8), ElementsAre(12)) << "what is cut could be another one";
    EXPECT_THAT(parse_processes("", 8), IsEmpty());
}

}  // namespace
}  // namespace belay::observe::cgroup
