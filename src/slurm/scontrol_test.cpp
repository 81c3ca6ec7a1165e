#include "slurm/scontrol.h"

#include "core/file.h"
#include "core/process.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Printed by scontrol 22.05.8 for an array of three tasks, two at a time, while the first ran.
constexpr std::string_view kArray =
    R"(JobId=2 ArrayJobId=1 ArrayTaskId=1 ArrayTaskThrottle=2 JobName=my job name=x
   UserId=ada(1000) GroupId=ada(1000) MCS_label=N/A
   Priority=4294901759 Nice=0 Account=(null) QOS=(null)
   JobState=RUNNING Reason=None Dependency=(null)
   Requeue=1 Restarts=3 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:00:01 TimeLimit=00:10:00 TimeMin=N/A
   SubmitTime=2026-11-21T10:09:46 EligibleTime=2026-11-21T10:09:46
   AccrueTime=Unknown
   StartTime=2026-11-21T10:09:47 EndTime=2026-11-21T10:19:47 Deadline=N/A
   SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-11-21T10:09:46 Scheduler=Backfill
   Partition=main AllocNode:Sid=localhost:9923
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList=n[1-2]
   BatchHost=n1
   NumNodes=1 NumCPUs=2 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   TRES=cpu=2,node=1,billing=2
   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*
   MinCPUsNode=1 MinMemoryNode=0 MinTmpDiskNode=0
   Features=(null) DelayBoot=00:00:00
   OverSubscribe=OK Contiguous=0 Licenses=(null) Network=(null)
   Command=/home/ada/train.sh arg UserId=mallory(0)
   WorkDir=/home/ada
   Comment=hello world=3 
   StdErr=/home/ada/out 1.txt
   StdIn=/dev/null
   StdOut=/home/ada/out 1.txt
   Power=
   

JobId=1 ArrayJobId=1 ArrayTaskId=2-3%2 ArrayTaskThrottle=2 JobName=my job name=x
   UserId=ada(1000) GroupId=ada(1000) MCS_label=N/A
   Priority=4294901759 Nice=0 Account=(null) QOS=(null)
   JobState=PENDING Reason=Resources Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0
   RunTime=00:00:00 TimeLimit=00:10:00 TimeMin=N/A
   SubmitTime=2026-11-21T10:09:46 EligibleTime=2026-11-21T10:09:46
   AccrueTime=2026-11-21T10:09:46
   StartTime=2026-11-21T10:29:00 EndTime=2026-11-21T10:39:00 Deadline=N/A
   SuspendTime=None SecsPreSuspend=0 LastSchedEval=2026-11-21T10:09:46 Scheduler=Main
   Partition=main AllocNode:Sid=localhost:9923
   ReqNodeList=(null) ExcNodeList=(null)
   NodeList= SchedNodeList=n1
   NumNodes=1 NumCPUs=2 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:*
   Command=/home/ada/train.sh arg
   WorkDir=/home/ada
   Power=
   

)";

// Of a step that a signal ended, with accounting.
constexpr std::string_view kFailed = R"(JobId=3 JobName=sleep
   UserId=ada(1000) GroupId=ada(1000) MCS_label=N/A
   Priority=4294901757 Nice=0 Account=physics QOS=normal
   JobState=FAILED Reason=JobLaunchFailure Dependency=(null)
   Requeue=1 Restarts=0 BatchFlag=0 Reboot=0 ExitCode=2:9
   SubmitTime=2026-11-21T09:40:10 EligibleTime=2026-11-21T09:40:10
   StartTime=2026-11-21T09:40:10 EndTime=2026-11-21T09:40:11 Deadline=N/A
   Partition=main AllocNode:Sid=localhost:9923
   NodeList=n1
   Command=sleep
   Power=

)";

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
    std::string out(text);
    size_t at = out.find(what);
    EXPECT_NE(at, std::string::npos) << what;
    return out.replace(at, what.size(), with);
}

TEST(slurm, scontrol_running_task_of_an_array) {
    auto jobs = parse_scontrol_jobs(kArray);
    ASSERT_TRUE(jobs) << jobs.error().render();
    ASSERT_EQ(jobs->size(), 2U);
    const ScontrolJob& job = (*jobs)[0];
    EXPECT_EQ(job.job_id, 2U);
    EXPECT_EQ(job.array_job_id, 1U);
    EXPECT_EQ(job.array_task, 1U);
    EXPECT_EQ(job.name, "my job name=x");
    EXPECT_EQ(job.user, "ada");
    EXPECT_EQ(job.uid, 1000U);
    EXPECT_EQ(job.account, std::nullopt);
    EXPECT_EQ(job.partition, "main");
    EXPECT_EQ(job.state, "RUNNING");
    EXPECT_EQ(job.reason, std::nullopt);
    EXPECT_EQ(job.restarts, 3U);
    EXPECT_EQ(core::format_time(job.submit), "2026-11-21T10:09:46.000000Z");
    EXPECT_EQ(core::format_time(job.start.value()), "2026-11-21T10:09:47.000000Z");
    EXPECT_EQ(core::format_time(job.end.value()), "2026-11-21T10:19:47.000000Z");
    EXPECT_THAT(job.nodes, ElementsAre("n1", "n2"));
    EXPECT_EQ(job.exit_code, std::nullopt);
}

TEST(slurm, scontrol_waiting_rest_of_an_array) {
    auto jobs = parse_scontrol_jobs(kArray);
    ASSERT_TRUE(jobs);
    const ScontrolJob& job = (*jobs)[1];
    EXPECT_EQ(job.job_id, 1U);
    EXPECT_EQ(job.array_task, std::nullopt);
    EXPECT_EQ(job.state, "PENDING");
    EXPECT_EQ(job.reason, "Resources");
    EXPECT_EQ(job.start, std::nullopt);  // what stands there is the scheduler's guess
    EXPECT_EQ(job.end, std::nullopt);
    EXPECT_THAT(job.nodes, IsEmpty());
}

TEST(slurm, scontrol_failed_job) {
    auto jobs = parse_scontrol_jobs(kFailed);
    ASSERT_TRUE(jobs) << jobs.error().render();
    ASSERT_EQ(jobs->size(), 1U);
    EXPECT_EQ((*jobs)[0].account, "physics");
    EXPECT_EQ((*jobs)[0].exit_code, 2);
    EXPECT_EQ((*jobs)[0].exit_signal, 9);
    EXPECT_EQ((*jobs)[0].array_job_id, std::nullopt);
}

TEST(slurm, scontrol_one_line_per_job) {  // scontrol --oneliner
    std::string line(kFailed.substr(0, kFailed.find("   Command")));
    for (char& c : line)
        if (c == '\n') c = ' ';
    auto jobs = parse_scontrol_jobs(replaced(line, "JobName=sleep ", "") + "\n");
    ASSERT_TRUE(jobs) << jobs.error().render();
    EXPECT_EQ((*jobs)[0].state, "FAILED");
    EXPECT_EQ((*jobs)[0].name, "");
}

TEST(slurm, scontrol_empty_answer_has_no_jobs) {
    EXPECT_THAT(parse_scontrol_jobs("").value(), IsEmpty());
    EXPECT_THAT(parse_scontrol_jobs("No jobs in the system\n").value(), IsEmpty());
}

TEST(slurm, scontrol_line_break_in_a_name_is_not_believed) {
    auto jobs = parse_scontrol_jobs(replaced(kFailed, "JobName=sleep", "JobName=evil\n   UserId=root(0)"));
    ASSERT_FALSE(jobs);
    EXPECT_EQ(jobs.error().kind(), core::ErrorKind::kSystem);
    EXPECT_THAT(jobs.error().message(), HasSubstr("UserId stands twice"));
    EXPECT_THAT(jobs.error().hint_text(), HasSubstr("line break"));
}

TEST(slurm, scontrol_names_what_it_does_not_understand) {
    const std::array<const char*, 3> cases[] = {
        {"JobId=3", "JobId=x3", "JobId=x3: not a whole number"},
        {"SubmitTime=2026-11-21T09:40:10", "SubmitTime=09:40:10", "SubmitTime=09:40:10: not a time"},
        {"SubmitTime=2026-11-21T09:40:10", "SubmitTime=Unknown", "no SubmitTime"},
        {"SubmitTime=2026-11-21T09:40:10", "SubmitTime=1013-11-21T09:40:10", "not a time"},
        {"SubmitTime=2026-11-21T09:40:10", "SubmitTime=9999-11-21T09:40:10", "not a time"},
        {"UserId=ada(1000)", "UserId=ada", "UserId=ada: not NAME(ID)"},
        {"JobState=FAILED", "JobStatus=FAILED", "no JobState"},
        {"NodeList=n1", "NodeList=n[1", "NodeList=n[1: \"[\" without"},
        {"ExitCode=2:9", "ExitCode=:9", "ExitCode=:9: not STATUS:SIGNAL"},
    };
    for (const auto& [what, with, message] : cases) {
        auto jobs = parse_scontrol_jobs(replaced(kFailed, what, with));
        ASSERT_FALSE(jobs) << with;
        EXPECT_EQ(jobs.error().kind(), core::ErrorKind::kSystem) << with;
        EXPECT_THAT(jobs.error().message(), HasSubstr(message));
    }
}

// As scontrol prints a node; what an administrator wrote of it comes last.
TEST(slurm, scontrol_tells_where_a_node_is) {
    constexpr std::string_view node =
        "NodeName=n1 Arch=x86_64 CoresPerSocket=1 \n   CPUAlloc=0 CPUEfctv=2 CPUTot=2 CPULoad=14.20\n"
        "   AvailableFeatures=(null)\n   ActiveFeatures=(null)\n   Gres=(null)\n"
        "   NodeAddr=10.1.2.3 NodeHostName=localhost Port=17001 Version=22.05.8\n"
        "   OS=Linux 6.18.0 #1 SMP PREEMPT_DYNAMIC \n   RealMemory=1 AllocMem=0 FreeMem=812 Sockets=2 "
        "Boards=1\n"
        "   Comment=moved from NodeAddr=10.9.9.9\n\n";
    EXPECT_EQ(parse_scontrol_node_address(node).value(), "10.1.2.3");
    EXPECT_EQ(parse_scontrol_node_address("Node n9 not found\n").value(), std::nullopt);
    EXPECT_EQ(parse_scontrol_node_address("NodeName=n1 NodeAddr=(null)\n").value(), std::nullopt);
    EXPECT_FALSE(parse_scontrol_node_address("NodeAddr=a\nNodeAddr=b\n"));
}

// A scontrol of the test's own stands first in PATH.
core::Result<std::optional<std::string>> address_by(const std::string& script) {
    auto directory = core::TemporaryDirectory::create().value();
    auto program = directory.path() / "scontrol";
    EXPECT_TRUE(core::replace_file(program, "#!/bin/sh\n" + script));
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const std::string path = core::environment_variable("PATH").value_or("");
    setenv("PATH", (directory.path().string() + ":" + path).c_str(), 1);
    auto address = query_node_address("n9", core::Deadline::after(std::chrono::seconds(60)));
    setenv("PATH", path.c_str(), 1);
    return address;
}

TEST(slurm, a_scontrol_that_fails_is_not_a_node_that_slurm_does_not_know) {
    EXPECT_EQ(address_by("echo 'NodeName=n9 NodeAddr=10.1.2.3'").value(), "10.1.2.3");
    EXPECT_EQ(address_by("echo 'Node n9 not found'; exit 1").value(), std::nullopt);
    auto failed = address_by("echo 'slurm_load_node error: Unable to contact slurm controller' >&2; exit 1");
    ASSERT_FALSE(failed);
    EXPECT_EQ(
        failed.error().message(),
        "scontrol show node n9: exit status 1: slurm_load_node error: Unable to contact slurm controller");
}

TEST(slurm, scontrol_says_what_a_job_asked_for) {
    auto with = [](std::string_view limit, std::string_view memory) {
        std::string text(kArray.substr(0, kArray.find("\n\n")));
        text.replace(text.find("TimeLimit=00:10:00"), 18, fmt::format("TimeLimit={}", limit));
        text.replace(text.find("MinMemoryNode=0"), 15, memory);
        return parse_scontrol_jobs(text + "\n");
    };
    EXPECT_EQ(with("00:10:00", "MinMemoryNode=4G").value()[0].time_limit, std::chrono::minutes(10));
    EXPECT_EQ(with("00:10:00", "MinMemoryNode=4G").value()[0].memory,
              (MemoryRequest{{4ULL << 30}, "a node"}));
    EXPECT_EQ(with("2-01:00:05", "MinMemoryCPU=500M").value()[0].time_limit, std::chrono::seconds(176'405));
    EXPECT_EQ(with("2-01:00:05", "MinMemoryCPU=500M").value()[0].memory,
              (MemoryRequest{{500ULL << 20}, "a CPU"}));
    EXPECT_FALSE(with("UNLIMITED", "MinMemoryNode=0").value()[0].time_limit);
    EXPECT_FALSE(with("UNLIMITED", "MinMemoryNode=0").value()[0].memory);
    EXPECT_THAT(with("00:x0:00", "MinMemoryNode=0").error().message(), HasSubstr("TimeLimit=00:x0:00"));
    EXPECT_THAT(with("9999999999999-00:10:00", "MinMemoryNode=0").error().message(), HasSubstr("TimeLimit"));
}

}  // namespace
}  // namespace belay::slurm
