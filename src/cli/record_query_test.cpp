#include "cli/testing.h"
#include "core/file.h"
#include "score/digest_store.h"
#include "score/digest_testing.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::cli {
namespace {

using cli::testing::belay;
using cli::testing::Outcome;
using score::testing::RecordOfGpus;
using ::testing::HasSubstr;

void fill(RecordOfGpus& record) {
    record.held("n1", "GPU-0", 0, 100);
    record.samples("n1", "GPU-0", 0, 100, 0.5);
    record.counted(1);
    record.seal();
    EXPECT_TRUE(score::keep_digest(record.path()).value());
}

TEST(cli, record_query_reads_the_digest_however_it_is_written) {
    RecordOfGpus record;
    fill(record);
    for (const char* sql :
         {"SELECT observed_seconds AS n FROM gpu_summary", "SELECT observed_seconds AS n FROM GPU_SUMMARY",
          "SELECT count(*) AS n FROM Job_Series"})
        EXPECT_THAT(belay({"record", "query", record.path(), sql}).out, HasSubstr("100")) << sql;
}

TEST(cli, record_query_answers_nothing_of_what_cannot_be_read) {
    RecordOfGpus record;
    fill(record);
    const auto host = record.path() / "tables/host.parquet";
    std::filesystem::resize_file(host, std::filesystem::file_size(host) / 2);
    for (const char* sql : {"SELECT count(*) FROM host", "SELECT count(*) FROM HOST", "FROM \"Host\""}) {
        const Outcome refused = belay({"record", "query", record.path(), sql});
        EXPECT_EQ(refused.status, 2) << sql;
        EXPECT_THAT(refused.err, HasSubstr("host.parquet cannot be read")) << sql;
    }
    EXPECT_EQ(belay({"record", "query", record.path(), "SELECT count(*) FROM gpu"}).status, 0);
    const Outcome series = belay({"record", "query", record.path(), "SELECT count(*) FROM host_series"});
    EXPECT_EQ(series.status, 2) << "it is made of host";
    EXPECT_THAT(series.err, HasSubstr("host.parquet cannot be read"));
    const Outcome plots = belay({"record", "query", record.path(), "SELECT count(*) FROM Plot_Summary"});
    EXPECT_EQ(plots.status, 2) << "so is it";
    EXPECT_THAT(plots.err, HasSubstr("no table plot_summary"));
}

TEST(cli, record_query_answers_nothing_of_a_table_whose_annex_cannot_be_read) {
    RecordOfGpus record;
    fill(record);
    const auto rows = record.path() / "rows.json";
    ASSERT_TRUE(core::replace_file(
        rows, R"([{"time": "2026-03-01T12:00:00Z", "node": "n1", "kind": "node_repaired"}])"));
    const Outcome added = belay({"record", "annex", record.path(), "health", "--rows", rows});
    EXPECT_EQ(added.status, 0) << added.err;
    const char* sql = "SELECT count(*) AS n FROM event WHERE kind = 'node_repaired'";
    EXPECT_THAT(belay({"record", "query", record.path(), sql}).out, HasSubstr("1"));
    std::filesystem::resize_file(record.path() / "annexes/health.event.parquet", 10);
    const Outcome refused = belay({"record", "query", record.path(), sql});
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("annexes/health.event.parquet cannot be read"));
    EXPECT_EQ(belay({"record", "query", record.path(), "SELECT count(*) FROM gpu"}).status, 0);
}

TEST(cli, record_query_makes_series_and_reads_those_that_are_kept) {
    RecordOfGpus record;
    fill(record);
    const char* sql =
        "SELECT count(*) AS n FROM gpu_series, (SELECT count(*) FROM host_series), (SELECT count(*) FROM "
        "plot_series), (SELECT count(*) FROM plot_summary)";
    const Outcome made = belay({"record", "query", record.path(), sql});
    EXPECT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(belay({"record", "seal", record.path()}).err, "");
    EXPECT_EQ(belay({"record", "query", record.path(), sql}).out, made.out);
}

TEST(cli, without_samples_there_is_what_the_digest_tells) {
    RecordOfGpus record;
    fill(record);
    std::filesystem::remove(record.path() / "tables/gpu.parquet");
    const std::string path = record.path();
    const Outcome refused = belay({"record", "query", path, "SELECT count(*) FROM GPU"});
    EXPECT_EQ(refused.status, 2);
    EXPECT_THAT(refused.err, HasSubstr("gpu.parquet is not there: its samples were thrown away"));
    EXPECT_EQ(belay({"record", "query", path, "FROM gpu_summary"}).status, 0);
    EXPECT_THAT(belay({"score", path}).out, HasSubstr("50.0"));
    const Outcome found = belay({"findings", path});
    EXPECT_NE(found.status, 2) << found.err;
    EXPECT_EQ(found.err, "");
    EXPECT_THAT(belay({"record", "info", path}).out,
                HasSubstr("lost: gpu.parquet: is missing; its digest is there"));
    EXPECT_EQ(belay({"record", "seal", path}).err, "");
    EXPECT_EQ(belay({"score", "--by", "step", path}).status, 2);

    auto manifest = record::read_manifest(path).value();
    manifest.sealed = *manifest.sealed + std::chrono::seconds(1);  // then the digest is of another sealing
    ASSERT_TRUE(core::replace_file(record::manifest_path(path), record::to_json(manifest)));
    EXPECT_EQ(belay({"findings", path}).status, 2);
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"score", path}, {"record", "query", path, "FROM gpu"}}) {
        const Outcome outcome = belay(words);
        EXPECT_EQ(outcome.status, 2) << words[0];
        EXPECT_THAT(outcome.err, HasSubstr("thrown away")) << words[0];
    }
    const Outcome query = belay({"record", "query", path, "FROM gpu_summary"});
    EXPECT_EQ(query.status, 2);
    EXPECT_THAT(query.err, HasSubstr("has no valid table gpu_summary"));
    EXPECT_THAT(query.err, HasSubstr("thrown away"));
}

}  // namespace
}  // namespace belay::cli
