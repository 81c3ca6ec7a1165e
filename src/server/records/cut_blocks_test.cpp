#include "server/records/cut_blocks.h"

#include "record/place.h"
#include "server/records/testing.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
namespace fs = std::filesystem;

record::CutDone cut(Intake& intake, const JobToCut& job, const fs::path& path) {
    auto done = cut_from_blocks(intake, job, path, at(1000));
    if (!done) ADD_FAILURE() << done.error().message();
    return done.value_or(record::CutDone());
}

record::CutDone cut_spool(const Site& site, int64_t job, const fs::path& path) {
    auto planned = record::SpoolCut::plan({site.spool()}, {.job_id = job});
    if (!planned) ADD_FAILURE() << planned.error().message();
    auto done = planned->write(path, at(1000));
    if (!done) ADD_FAILURE() << done.error().message();
    return done.value_or(record::CutDone());
}

// Three jobs on two nodes: at the same time, with slices of a GPU, with a pause, and one that spans both nodes.
std::vector<GivenStep> three_jobs(const std::string& node) {
    if (node == "n2")
        return {{.job = 7, .step = "0", .from = 20.5, .to = 60.5, .devices = {"MIG-3"}, .cpus = 1}};
    return {{.job = 7, .step = "batch", .from = 10.5, .to = 60.5, .cpus = 1},
            {.job = 7, .step = "0", .from = 20.5, .to = 60.5, .devices = {"MIG-1"}, .cpus = 2},
            {.job = 8, .step = "0", .from = 30.5, .to = 40.5, .devices = {"MIG-2"}, .cpus = 3},
            {.job = 8, .step = "1", .from = 50.5, .to = 80.5, .devices = {"MIG-2", "MIG-1"}, .cpus = 1},
            {.job = 9, .step = "batch", .from = 15.5, .to = 90.5, .cpus = 4}};
}

void write_three_jobs(const Site& site) {
    const std::vector<std::string> devices{"MIG-1", "MIG-2"};
    site.write({.node = "n1", .missed = {33, 34, 70}}, three_jobs("n1"), devices);
    site.write({.node = "n2", .missed = {25}}, three_jobs("n2"), {"MIG-3"});
}

const std::vector<JobToCut> kThreeJobs{job_at(7, 10, 61, {"n1", "n2"}), job_at(8, 30, 81, {"n1"}),
                                       job_at(9, 15, 91, {"n1"})};

TEST(server_records, a_cut_from_blocks_is_the_one_from_spools) {
    const Site site;
    write_three_jobs(site);
    auto intake = site.open();
    Site::upload(*intake, uploads_of(site.spool()));
    for (const JobToCut& job : kThreeJobs) {
        SCOPED_TRACE(job.id);
        const std::string name = std::to_string(job.id);
        const auto from_blocks = cut(*intake, job, site.path("blocks-" + name));
        const auto from_spool = cut_spool(site, job.id, site.path("spool-" + name));
        EXPECT_EQ(from_blocks.rows, from_spool.rows);
        EXPECT_GT(from_blocks.rows, 10U);
        EXPECT_EQ(from_blocks.nodes, from_spool.nodes);
        EXPECT_THAT(from_blocks.lost, IsEmpty());
        const TableRows rows = rows_of(site.path("blocks-" + name));
        EXPECT_EQ(rows, rows_of(site.path("spool-" + name)));
        EXPECT_THAT(rows.at("coverage"), Not(IsEmpty()));
        const auto a = record::read_manifest(site.path("blocks-" + name));
        const auto b = record::read_manifest(site.path("spool-" + name));
        EXPECT_EQ(record::to_json(*a), record::to_json(*b));
    }
}

TEST(server_records, blocks_in_any_order_and_more_than_once_make_the_same_record) {
    const Site site;
    write_three_jobs(site);
    std::vector<std::string> uploads = uploads_of(site.spool(), 8000);
    ASSERT_GT(uploads.size(), 10U);
    cut_spool(site, 7, site.path("expected"));
    const TableRows expected = rows_of(site.path("expected"));
    std::mt19937_64 random(5);
    for (int round = 0; round < 3; ++round) {
        std::vector<std::string> shuffled = uploads;
        shuffled.insert(shuffled.end(), uploads.begin(), uploads.begin() + 9);
        std::ranges::shuffle(shuffled, random);
        auto intake = site.open("a", fmt::format("log-{}", round));
        Site::upload(*intake, shuffled);
        const fs::path record = site.path(fmt::format("record-{}", round));
        cut(*intake, kThreeJobs[0], record);
        EXPECT_EQ(rows_of(record), expected);
    }
}

TEST(server_records, blocks_of_two_belayd_make_one_record) {
    const Site site;
    write_three_jobs(site);
    const std::vector<std::string> uploads = uploads_of(site.spool(), 8000);
    auto first = site.open("a"), second = site.open("b");
    for (size_t i = 0; i < uploads.size(); ++i) {
        if (i % 3 != 0) Site::upload(*first, {uploads[i]});
        if (i % 3 != 1) Site::upload(*second, {uploads[i]});  // some are stored by both
    }
    cut_spool(site, 7, site.path("expected"));
    cut(*first, kThreeJobs[0], site.path("first"));
    cut(*second, kThreeJobs[0], site.path("second"));
    EXPECT_EQ(rows_of(site.path("first")), rows_of(site.path("expected")));
    EXPECT_EQ(rows_of(site.path("second")), rows_of(site.path("expected")));
}

// Nine tenths of the rows of host, counted: what a gap costs.
int64_t coverage_of(const fs::path& record, const std::string& column) {
    auto archive = record::Archive::open(record);
    if (!archive) ADD_FAILURE() << archive.error().message();
    auto answer =
        archive->query("SELECT sum(" + column + ")::BIGINT FROM coverage WHERE table_name = 'host'");
    return std::get<int64_t>(answer->rows.at(0).at(0));
}

TEST(server_records, a_gap_in_the_jobs_time_is_told_and_costs_coverage) {
    const Site site;
    site.write({}, {{.job = 7, .step = "0", .from = 10.5, .to = 90.5}});
    const std::vector<std::string> uploads = uploads_of(site.spool(), 1500);
    auto intake = site.open();
    // Of two uploads in the midst nothing comes.
    const size_t middle = uploads.size() / 2;
    for (size_t i = 0; i < uploads.size(); ++i)
        if (i != middle && i != middle + 1) Site::upload(*intake, {uploads[i]});
    const auto done = cut(*intake, job_at(7, 10, 91), site.path("record"));
    ASSERT_THAT(done.lost, SizeIs(1));
    EXPECT_THAT(done.lost[0].reason, HasSubstr("blocks are missing: "));
    EXPECT_THAT(record::read_manifest(site.path("record"))->lost, SizeIs(1));
    EXPECT_EQ(coverage_of(site.path("record"), "expected"), 80);
    const auto rows = static_cast<int64_t>(rows_of(site.path("record")).at("host").size());
    EXPECT_EQ(coverage_of(site.path("record"), "received"), rows);
    EXPECT_LT(rows, 80);
    EXPECT_GT(rows, 40);
    EXPECT_THAT(rows_of(site.path("record")).at("event"), Contains(HasSubstr("stream_lost")));

    // Once it has come there is nothing to tell.
    Site::upload(*intake, {uploads[middle], uploads[middle + 1]});
    EXPECT_THAT(cut(*intake, job_at(7, 10, 91), site.path("again")).lost, IsEmpty());
    EXPECT_EQ(coverage_of(site.path("again"), "received"), 80);
}

TEST(server_records, a_gap_outside_of_the_jobs_time_is_none_of_its_losses) {
    const Site site;
    site.write({.last = 1000}, {{.job = 7, .step = "0", .from = 10.5, .to = 90.5},
                                {.job = 8, .step = "0", .from = 600.5, .to = 990.5}});
    const std::vector<std::string> uploads = uploads_of(site.spool(), 3000);
    auto intake = site.open();
    for (size_t i = 0; i < uploads.size(); ++i)
        if (i != uploads.size() / 5) Site::upload(*intake, {uploads[i]});  // at some 200 s
    EXPECT_THAT(cut(*intake, job_at(7, 10, 91), site.path("before")).lost, IsEmpty());
    EXPECT_THAT(cut(*intake, job_at(8, 600, 991), site.path("behind")).lost, IsEmpty());
    EXPECT_EQ(coverage_of(site.path("behind"), "received"), 390);
}

TEST(server_records, each_job_of_a_number_that_was_used_again_gets_its_own) {
    const Site site;
    const std::vector<GivenStep> steps{
        {.job = 7, .step = "0", .from = 10.5, .to = 40.5, .devices = {"GPU-1"}, .cpus = 1},
        {.job = 7, .step = "0", .from = 2000.5, .to = 2050.5, .devices = {"GPU-2"}, .cpus = 2}};
    site.write({.last = 2200}, steps, {"GPU-1", "GPU-2"});
    auto intake = site.open();
    Site::upload(*intake, uploads_of(site.spool()));
    for (const auto& [from, to, device, samples] :
         {std::tuple(10.0, 41.0, "GPU-1", 30U), std::tuple(2000.0, 2051.0, "GPU-2", 50U)}) {
        SCOPED_TRACE(device);
        const fs::path record = site.path(device);
        cut(*intake, job_at(7, from, to), record);
        const TableRows rows = rows_of(record);
        EXPECT_THAT(rows.at("host"), SizeIs(samples));
        EXPECT_THAT(rows.at("process"), SizeIs(samples));
        EXPECT_THAT(rows.at("gpu_device"), ElementsAre(HasSubstr(device))) << "told hours before the job";
        EXPECT_THAT(rows.at("allocation"), SizeIs(2));
        EXPECT_EQ(coverage_of(record, "expected"), samples);
        EXPECT_EQ(coverage_of(record, "received"), samples);
    }
}

TEST(server_records, streams_of_other_clusters_do_not_count) {
    const Site site;
    site.write({}, {{.job = 7, .step = "0", .from = 10.5, .to = 30.5}});
    site.write({.node = "n1", .began = 0.5}, {{.job = 7, .step = "1", .from = 10.5, .to = 80.5}}, {},
               "eiger");
    auto intake = site.open();
    Site::upload(*intake, uploads_of(site.spool()));
    cut(*intake, job_at(7, 10, 31), site.path("record"));
    EXPECT_THAT(rows_of(site.path("record")).at("host"), SizeIs(20));
    JobToCut other = job_at(7, 10, 81);
    other.cluster = "eiger";
    cut(*intake, other, site.path("other"));
    EXPECT_THAT(rows_of(site.path("other")).at("host"), SizeIs(70));
    EXPECT_EQ(record::read_manifest(site.path("other"))->job.cluster, "eiger");
    other.cluster = "daint";
    const auto none = cut_from_blocks(*intake, other, site.path("none"), at(1000));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().cause(), core::Cause::kNotFound);
    EXPECT_FALSE(fs::exists(site.path("none")));
}

TEST(server_records, what_slurm_says_stands_in_the_manifest) {
    const Site site;
    site.write({}, {{.job = 7, .step = "0", .from = 10.5, .to = 30.5}});
    auto intake = site.open();
    Site::upload(*intake, uploads_of(site.spool()));
    JobToCut job = job_at(7, 10, 31, {"n2", "n1"});
    job.told = {.id = 5,
                .array_task = 2,
                .submit = at(-100),
                .account = "project",
                .name = "train",
                .user = "ada",
                .nodes = {"n2", "n1"},
                .start = at(10),
                .end = at(31)};
    const auto done = cut(*intake, job, site.path("record"));
    EXPECT_THAT(done.nodes, ElementsAre("n1"));
    ASSERT_THAT(done.lost, SizeIs(1));
    EXPECT_EQ(done.lost[0].file, "n2");
    const record::Manifest manifest = record::read_manifest(site.path("record")).value();
    record::JobFacts expected = job.told;
    expected.cluster = "alps";
    EXPECT_EQ(manifest.job, expected);
    // What it does not say is as the streams say.
    job.told = {.user = "ada"};
    cut(*intake, job, site.path("less"));
    const record::JobFacts less = record::read_manifest(site.path("less"))->job;
    EXPECT_EQ(less.user, "ada");
    EXPECT_EQ(less.id, 7);
    EXPECT_EQ(less.start, at(10.5));
    EXPECT_EQ(less.end, at(30.5));
    EXPECT_THAT(less.nodes, ElementsAre("n1"));
    job.is_over = false;
    cut(*intake, job, site.path("running"));
    EXPECT_EQ(record::read_manifest(site.path("running"))->job.end, std::nullopt);
}

// Its agent was killed, and another one did not come.
TEST(server_records, a_step_whose_end_nobody_saw_ended_with_its_job) {
    const Site site;
    site.write({.last = 60}, {{.job = 7, .step = "0", .from = 10.5, .to = 200}});
    auto intake = site.open();
    Site::upload(*intake, uploads_of(site.spool()));
    cut(*intake, job_at(7, 10, 40), site.path("record"));
    EXPECT_THAT(rows_of(site.path("record")).at("host"), SizeIs(29));
    EXPECT_EQ(record::read_manifest(site.path("record"))->job.end, at(40));
}

TEST(server_records, a_job_that_cannot_be_is_refused) {
    const Site site;
    auto intake = site.open();
    JobToCut job = job_at(7, 10, 31);
    job.nodes.clear();
    EXPECT_FALSE(cut_from_blocks(*intake, job, site.path("record"), at(1)));
    EXPECT_FALSE(cut_from_blocks(*intake, job_at(0, 10, 31), site.path("record"), at(1)));
    EXPECT_FALSE(cut_from_blocks(*intake, job_at(7, 31, 10), site.path("record"), at(1)));
    job = job_at(7, 10, 31);
    job.range = {};
    const auto refused = cut_from_blocks(*intake, job, site.path("record"), at(1));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_FALSE(fs::exists(site.path("record")));
}

}  // namespace
}  // namespace belay::server
