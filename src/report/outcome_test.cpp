// How a job ended, from how its tasks did.
#include "report/query.h"
#include "report/testing/record_builder.h"

#include <stdexcept>

#include <gtest/gtest.h>

namespace belay::report {
namespace {

using schema::kAllocation;
using schema::kEvent;

record::Manifest manifest() {
    record::Manifest manifest;
    manifest.job = {.cluster = "alps", .id = 4711, .array_task = 3, .nodes = {"n1"}};
    manifest.created = core::time_from_nanoseconds(1'772'366'400'000'000'000);
    return manifest;
}

Job facts_of(RecordBuilder& record) {
    auto archive = record::Archive::open(record.write());
    if (!archive) throw std::runtime_error(archive.error().message());
    auto data = measure(*archive);
    if (!data) throw std::runtime_error(data.error().message());
    return data->job;
}

struct Ending {
    const char* severity;
    const char* message;
    int64_t code = 0;
};

Job job_that_ended(const std::vector<Ending>& endings, int tasks) {
    RecordBuilder record(manifest());
    record.row(kAllocation, "n1", 0).set("t0", record.at(0)).set("tasks", tasks);
    for (size_t i = 0; i < endings.size(); ++i)
        record.row(kEvent, "n1", 5.0 + static_cast<double>(i))
            .set("kind", "task_end")
            .set("task", static_cast<int64_t>(i))
            .set("severity", endings[i].severity)
            .set("source", "recorder")
            .set("code", endings[i].code)
            .set("message", endings[i].message);
    return facts_of(record);
}

TEST(report, outcome_follows_from_how_the_tasks_ended) {
    Job good = job_that_ended({{"info", "done"}, {"info", "done"}}, 2);
    EXPECT_EQ(good.outcome, "completed");
    EXPECT_EQ(good.exit_status, 0);
    EXPECT_EQ(record::id_text(good), "4711_3");

    Job bad = job_that_ended({{"critical", "it stopped, of 3 reasons", 7}, {"critical", "stopped", -15}}, 2);
    EXPECT_EQ(bad.outcome, "failed");
    EXPECT_EQ(bad.exit_status, 7) << "whatever the words are";
    EXPECT_EQ(bad.failure, "rank 0 on n1: it stopped, of 3 reasons");

    Job killed = job_that_ended({{"critical", "killed: exit status 9", -9}}, 1);
    EXPECT_EQ(killed.outcome, "failed");
    EXPECT_FALSE(killed.exit_status);

    EXPECT_EQ(job_that_ended({{"info", "done"}}, 2).outcome, "unknown") << "one of two";
    EXPECT_EQ(job_that_ended({}, 1).outcome, "unknown");
}

// What records of 0.1.0 and 0.2.0 hold: nothing but words.
TEST(report, an_older_record_tells_how_its_tasks_ended_in_words) {
    auto ended = [](const char* message) {
        RecordBuilder record(manifest());
        record.row(kAllocation, "n1", 0).set("t0", record.at(0)).set("tasks", int64_t{1});
        record.row(kEvent, "n1", 5)
            .set("kind", "task_end")
            .set("severity", "critical")
            .set("message", message);
        return facts_of(record);
    };
    EXPECT_EQ(ended("python ended with exit status 7").exit_status, 7);
    EXPECT_EQ(ended("exit status 3 ended with exit status 7").exit_status, 7) << "a program of that name";
    EXPECT_FALSE(ended("python ended with signal 15 (SIGTERM)").exit_status);
}

}  // namespace
}  // namespace belay::report
