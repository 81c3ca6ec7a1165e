#include "record/import/gssr_meta.h"

#include "record/import/import_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(record_import, reads_what_the_recorder_writes) {
    GssrMeta meta = parse_gssr_meta(import_testing::kMeta);
    EXPECT_EQ(meta.version, "2.0");
    EXPECT_EQ(core::format_time(meta.date.value()), "2026-03-01T12:00:00.000000Z");
    EXPECT_EQ(meta.cluster, "alps");
    EXPECT_EQ(meta.job_id, 4711);
    EXPECT_EQ(meta.job_name, "train");
    EXPECT_EQ(meta.gpus, 4);
    EXPECT_EQ(meta.step_nodes, 2);
    EXPECT_THAT(meta.command, ElementsAre("python", "train.py", "--lr", "3"));
}

TEST(record_import, quotes_and_backslashes_are_not_escaped) {
    GssrMeta meta = parse_gssr_meta(R"X({
    "jobname": "my "best" run",
    "executable": "C:\tool\x",
    "arguments": "'-c' 'print("hello, world")' 'it's' "
})X");
    EXPECT_EQ(meta.job_name, "my \"best\" run");
    EXPECT_THAT(meta.command, ElementsAre("C:\\tool\\x", "-c", "print(\"hello, world\")", "it's"));
}

TEST(record_import, names_of_metadata_have_an_end) {
    const std::string longest(1 << 18, 'x');
    GssrMeta meta = parse_gssr_meta(
        fmt::format("{{\n\"jobname\": \"{0}\",\n\"cluster\": \"x{1}\",\n\"gssr-record-version\": \"{0}\"\n}}",
                    longest, "ü" + longest));
    EXPECT_EQ(meta.job_name, longest.substr(0, 255));
    EXPECT_EQ(meta.version.size(), 255U);
    EXPECT_EQ(meta.cluster.substr(0, 4), "xüx");
    EXPECT_EQ(meta.cluster.size(), 255U);
}

TEST(record_import, an_argument_may_have_lines) {
    GssrMeta meta =
        parse_gssr_meta("{\n \"executable\": \"bash\",\n \"arguments\": \"'-c' 'cd x\n run' \"\n}\n");
    EXPECT_THAT(meta.command, ElementsAre("bash", "-c", "cd x\n run"));
}

TEST(record_import, metadata_in_one_line_is_read) {
    GssrMeta meta = parse_gssr_meta(
        R"({"version": "1", "date": "2026-03-01T12:00:00Z", "cluster": "alps", "jobid": 4711})");
    EXPECT_TRUE(meta.date);
    EXPECT_EQ(meta.cluster, "alps");
    EXPECT_EQ(meta.job_id, 4711);
}

TEST(record_import, the_earliest_versions_exchange_date_and_version_repeat_ngpus_and_have_bare_numbers) {
    GssrMeta meta = parse_gssr_meta(R"({
    "gssr-record-version": "2026-01-14T09:00:00+0100",
    "date": "1.0",
    "nnodes": 2,
    "ngpus": 4,
    "ntasks": 8,
    "ngpus": 32,
    "jobid": 4711
})");
    EXPECT_EQ(meta.version, "1.0");
    EXPECT_EQ(core::format_time(meta.date.value()), "2026-01-14T08:00:00.000000Z");
    EXPECT_EQ(meta.gpus, 4);
    EXPECT_EQ(meta.job_id, 4711);
}

TEST(record_import, a_key_may_lack_its_quote) {
    EXPECT_EQ(parse_gssr_meta("{\n    \"gssr-record-version: \"2.0\",\n    \"cluster\": \"a\"\n}").version,
              "2.0");
}

TEST(record_import, outside_slurm_there_is_no_job) {
    GssrMeta meta = parse_gssr_meta(R"X({
    "cluster": "nocluster",
    "jobid": "0",
    "jobname": "nojobname",
    "ngpus": "0",
    "step_nnodes": "(null)"
})X");
    EXPECT_EQ(meta.cluster, "");
    EXPECT_EQ(meta.job_name, "");
    EXPECT_FALSE(meta.job_id || meta.gpus || meta.step_nodes);
}

TEST(record_import, whatever_it_is_it_is_read) {
    for (const char* text :
         {"", "{", "}", "\"", "\"date\"", "\"date\": ", "\"date\": \"", "\xff\n\"jobid\": \"x\""}) {
        GssrMeta meta = parse_gssr_meta(text);
        EXPECT_FALSE(meta.date || meta.job_id) << text;
        EXPECT_THAT(meta.command, IsEmpty()) << text;
    }
}

}  // namespace
}  // namespace belay::record
