#include "record/cut/cut_spools.h"

#include "core/file.h"
#include "record/cut/cut_testing.h"
#include "record/place.h"
#include "stream/block_encoder.h"
#include "stream/spool.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

using namespace testing;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace fs = std::filesystem;

stream::Session session_of(const std::string& node = "n1") {
    return {.node = node,
            .start = at(0),
            .interval = std::chrono::seconds(1),
            .flush = std::chrono::seconds(2),
            .source = "agent",
            .began = at(0)};
}

// A spool with job 7 on node n1, sampled from second 1 to 100, in files of some blocks.
class Fixture {
  public:
    fs::path spool() const { return place_.path() / "spool"; }
    fs::path record() const { return place_.path() / "record"; }
    void write(uint64_t file_bytes = uint64_t{16} << 20) const {
        const StreamMaker maker({}, {{.job = 7, .step = "0", .from = 10.5, .to = 30.5}}, {});
        auto writer = stream::SpoolWriter::open(spool(), session_of(), {.file_bytes = file_bytes}).value();
        for (const stream::Batch& batch : maker.batches()) ASSERT_TRUE(writer.append(batch));
        ASSERT_TRUE(writer.finish(at(100)));
    }
    void put(const stream::Session& session, const std::string& more = "") const {
        fs::create_directories(spool());
        std::ofstream(spool() / stream::spool_file_name(session.stream(), 0))
            << stream::encode_head(session) << more;
    }
    core::Result<SpoolCut> plan() const { return SpoolCut::plan({spool()}, {.job_id = 7}); }
    CutDone cut() const {
        auto planned = plan();
        if (!planned) ADD_FAILURE() << planned.error().message();
        if (!planned) return {};
        auto done = planned->write(record(), at(200));
        if (!done) ADD_FAILURE() << done.error().message();
        return done.value_or(CutDone());
    }

  private:
    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("cut_spools_test").value();
};

std::vector<std::string> reasons(const std::vector<stream::Lost>& lost) {
    std::vector<std::string> reasons;
    for (const stream::Lost& one : lost) reasons.push_back(one.reason);
    return reasons;
}

std::string block_of(const stream::Batch& rows, uint32_t sequence) {
    return stream::encode_rows_block(stream::encode_rows(rows).at(0), sequence);
}

TEST(record_cut, a_spool_that_loses_files_between_the_two_passes_is_refused) {
    Fixture fixture;
    fixture.write(1);
    auto planned = fixture.plan();
    ASSERT_TRUE(planned) << planned.error().message();
    auto files = core::files_with_suffix(fixture.spool(), ".seg").value();
    ASSERT_GT(files.size(), 10U);
    for (size_t i = 0; i < 5; ++i) fs::remove(files[i]);
    const auto written = planned->write(fixture.record(), at(200));
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error().kind(), core::ErrorKind::kSystem);
    EXPECT_THAT(written.error().message(), HasSubstr("lost blocks while it was read"));
    EXPECT_FALSE(fs::exists(fixture.record())) << "what was made goes again";
    fs::create_directory(fixture.record());
    ASSERT_FALSE(planned->write(fixture.record(), at(200)));
    EXPECT_TRUE(fs::is_empty(fixture.record())) << "what was there stays";
}

TEST(record_cut, streams_that_no_agent_can_have_written_are_left_out_and_told) {
    Fixture fixture;
    fixture.write();
    stream::Session early = session_of();
    early.began = core::Time::min();
    stream::Session slow = session_of("n3");
    slow.interval = core::Duration::max();
    const StreamMaker maker({.node = "n3"}, {{.job = 7, .step = "0", .from = 10.5, .to = 30.5}}, {});
    fixture.put(session_of(std::string("n\0", 2)));
    fixture.put(session_of(".."));
    fixture.put(session_of("a/b"));
    fixture.put(early);
    fixture.put(slow, block_of(maker.batches().front(), 1));
    const CutDone done = fixture.cut();
    EXPECT_THAT(done.nodes, ::testing::ElementsAre("n1"));
    EXPECT_THAT(reasons(done.lost), SizeIs(4));
    EXPECT_THAT(reasons(done.lost), Contains(HasSubstr("the name of its node")).Times(2));
    EXPECT_THAT(reasons(done.lost), Contains(HasSubstr("the time of its beginning")));
    EXPECT_THAT(reasons(done.lost), Contains(HasSubstr("its periods")));
    EXPECT_TRUE(read_manifest(fixture.record()));
}

TEST(record_cut, rows_of_times_that_cannot_be_are_left_out_and_told) {
    Fixture fixture;
    fixture.write();
    stream::Batch rows(schema::kAllocation);
    for (core::Time time : {core::Time::max(), core::Time::min(), at(20)}) {
        rows.add_row(time, "n2");
        rows.set(column(schema::kAllocation, "job_id"), 7);
        rows.set(column(schema::kAllocation, "t0"), core::Time::max());
    }
    fixture.put(session_of("n2"), block_of(rows, 1));
    const CutDone done = fixture.cut();
    EXPECT_THAT(done.nodes, ::testing::ElementsAre("n1"));
    EXPECT_THAT(reasons(done.lost), ::testing::ElementsAre("2 rows have times that cannot be"));
}

TEST(record_cut, a_long_name_of_a_node_makes_a_record) {
    Fixture fixture;
    const std::string node(stream::kMaxStreamName, 'n');
    const StreamMaker maker({.node = node}, {{.job = 7, .step = "0", .from = 10.5, .to = 30.5}}, {});
    std::string blocks;
    uint32_t sequence = 0;
    for (const stream::Batch& batch : maker.batches()) blocks += block_of(batch, ++sequence);
    fixture.put(session_of(node), blocks);
    EXPECT_THAT(fixture.cut().nodes, ::testing::ElementsAre(node));
}

TEST(record_cut, damage_at_the_end_of_a_stream_is_told) {
    Fixture fixture;
    fixture.write();
    const fs::path file = core::files_with_suffix(fixture.spool(), ".seg").value().at(0);
    fs::resize_file(file, fs::file_size(file) - 3);
    const CutDone done = fixture.cut();
    ASSERT_THAT(done.lost, SizeIs(1));
    EXPECT_EQ(done.lost[0].file, file.filename());
    EXPECT_THAT(done.lost[0].reason, HasSubstr("at the end of the stream"));
    EXPECT_THAT(read_manifest(fixture.record())->lost, SizeIs(1));
}

TEST(record_cut, places_that_are_lost_without_end_are_counted) {
    LostPlaces lost;
    for (size_t i = 0; i < stream::kMaxLost; ++i) lost.add({"a.seg", i, 1, "damaged"});
    EXPECT_THAT(lost.list(), SizeIs(stream::kMaxLost));
    lost.add(std::vector<stream::Lost>(200, {"b.seg", 0, 1, "damaged"}));
    EXPECT_EQ(lost.count(), stream::kMaxLost + 200);
    EXPECT_THAT(lost.list(), SizeIs(stream::kMaxLost + 1));
    EXPECT_EQ(lost.list().back().reason, "and 200 more places");
}

TEST(record_cut, a_spool_that_is_not_there_or_empty_is_the_persons_mistake) {
    Fixture fixture;
    for (const char* how : {"absent", "empty"}) {
        SCOPED_TRACE(how);
        const auto planned = fixture.plan();
        ASSERT_FALSE(planned);
        EXPECT_EQ(planned.error().kind(), core::ErrorKind::kBadInput);
        EXPECT_FALSE(planned.error().hint_text().empty());
        fs::create_directory(fixture.spool());
    }
}

TEST(record_cut, what_a_stream_says_of_devices_and_shares_is_held_within_bounds) {
    FactsRoom room(100'000);
    StreamFacts facts(session_of());
    stream::Batch devices(schema::kGpuDevice), shares(schema::kAllocation), samples(schema::kHost);
    for (int i = 0; i < 10'000; ++i) {
        devices.add_row(at(1), "n1");
        devices.set(column(schema::kGpuDevice, "device"), std::to_string(i));
        shares.add_row(at(1), "n1");
        shares.set(column(schema::kAllocation, "t0"), at(1));
        samples.add_row(at(i), "n1");
    }
    facts.add(devices, room);
    EXPECT_TRUE(facts.lacked_room);
    EXPECT_LT(facts.devices.size(), 30U);
    facts.add(shares, room);
    EXPECT_LT(facts.shares.size(), 1000U);
    facts.add(samples, room);
    EXPECT_LT(facts.sampled[&schema::kHost].size(), 10'000U);
    room.add(10'000'000);
    facts.add(shares, room);
    EXPECT_GE(facts.shares.size(), 10'000U) << "what takes as much in the files is believed";
}

}  // namespace
}  // namespace belay::record
