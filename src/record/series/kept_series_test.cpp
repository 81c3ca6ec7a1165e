#include "record/series/kept_series.h"

#include "record/archive/testing.h"
#include "record/series/make_series.h"
#include "schema/tables/sampled_series.h"

#include <array>
#include <cmath>

namespace belay::record {
namespace {

constexpr const schema::SeriesTable& kNodes = schema::kSeriesTables[0];
constexpr const schema::SeriesTable& kDisks = schema::kSeriesTables[3];
constexpr std::array kTables = {kNodes.table};
constexpr SpanFrame kFrame{
    .start_microseconds = 1'700'000'000'000'000, .bucket_seconds = 2, .buckets = 4, .interval_seconds = 1};

// A sealed record, and beside it the series of its hosts.
class KeptSeries {
  public:
    KeptSeries() {
        record_.record("n1", 6, true, 6);
        record_.record("n2", 3, true, 3);
        EXPECT_TRUE(seal(record_.path(), kStart + std::chrono::hours(1)));
        auto archive = open();
        auto nodes = nodes_in(archive, schema::kHost);
        EXPECT_EQ(nodes.value().size(), 2u);
        auto claim = claim_record(record_.path());
        EXPECT_TRUE(keep_table(*claim, *make_series(archive, kNodes, kFrame, *nodes), facts()));
    }
    static std::string facts() { return series_facts(std::span(&kNodes, 1), kFrame); }
    Archive open() const { return Archive::open(record_.path()).value(); }
    std::filesystem::path file() const { return record_.path() / "tables/host_series.parquet"; }

  private:
    RecordFixture record_;
};

bool is_a_table(Archive& archive) {
    return archive.query("SELECT count(*) FROM host_series").has_value();
}

TEST(series, kept_tables_are_used_where_they_were_made_so) {
    const KeptSeries record;
    auto archive = record.open();
    EXPECT_FALSE(is_a_table(archive));
    EXPECT_EQ(attach_kept(archive, kTables, "made otherwise"), false);
    EXPECT_FALSE(is_a_table(archive));
    EXPECT_EQ(attach_kept(archive, kTables, KeptSeries::facts()), true);
    EXPECT_TRUE(is_a_table(archive));
}

TEST(series, tables_that_belong_together_are_used_together) {
    const KeptSeries record;
    auto archive = record.open();
    constexpr std::array kBoth = {kNodes.table, kDisks.table};
    EXPECT_EQ(attach_kept(archive, kBoth, KeptSeries::facts()), false);
    EXPECT_FALSE(is_a_table(archive));
}

TEST(series, a_damaged_kept_table_is_as_none) {
    const KeptSeries record;
    std::filesystem::resize_file(record.file(), std::filesystem::file_size(record.file()) / 2);
    auto archive = record.open();
    EXPECT_EQ(attach_kept(archive, kTables, KeptSeries::facts()), false);
    EXPECT_FALSE(is_a_table(archive));
}

TEST(series, other_frames_and_other_columns_have_other_facts) {
    SpanFrame other = kFrame;
    other.bucket_seconds = std::nextafter(2.0, 3.0);
    EXPECT_NE(series_facts(std::span(&kNodes, 1), other), KeptSeries::facts());
    std::vector<schema::SampledSeries> columns(kNodes.columns.begin(), kNodes.columns.end());
    schema::SeriesTable changed = kNodes;
    changed.columns = columns;
    EXPECT_EQ(series_facts(std::span(&changed, 1), kFrame), KeptSeries::facts());
    columns.back().sql = "swap_total_bytes";
    EXPECT_NE(series_facts(std::span(&changed, 1), kFrame), KeptSeries::facts());
    columns.back() = kNodes.columns.back();
    columns.back().series.fold = schema::Fold::kHighest;
    EXPECT_NE(series_facts(std::span(&changed, 1), kFrame), KeptSeries::facts());
}

}  // namespace
}  // namespace belay::record
