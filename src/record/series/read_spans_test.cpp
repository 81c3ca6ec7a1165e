#include "record/series/read_spans.h"

#include "record/archive/database.h"
#include "record/archive/testing.h"

#include <cmath>
#include <map>
#include <mutex>

#include <gmock/gmock.h>

namespace belay::record {
namespace {

// The fixture's load goes up by 0.5 a second: here it is a counter.
constexpr SpanInput kInputs[] = {{Sampled::kCounter, "load_1m"},
                                 {Sampled::kState, "memory_total_bytes / 1024"}};
constexpr SpanOutput kOutputs[] = {{[](std::span<const double> sums) { return sums[0]; }},
                                   {[](std::span<const double> sums) { return sums[1]; }}};
constexpr SpanSource kSource{.table = &schema::kHost,
                             .filter = "node <> 'n3'",
                             .keys = {},
                             .born = {},
                             .inputs = kInputs,
                             .outputs = kOutputs};

std::map<std::string, std::vector<double>> rates(const std::filesystem::path& record) {
    std::map<std::string, std::vector<double>> found;
    auto archive = Archive::open(record);
    EXPECT_TRUE(archive) << archive.error().message();
    std::mutex mutex;
    auto read = read_spans(*archive, kSource,
                           {.start_microseconds = core::to_microseconds(kStart),
                            .bucket_seconds = 2,
                            .buckets = 4,
                            .interval_seconds = 1},
                           {"n1", "n2"}, [&](std::string_view node, std::span<const Spans> outputs) {
                               std::lock_guard lock(mutex);
                               std::vector<double>& values = found[std::string(node)];
                               values.clear();
                               for (size_t bucket = 0; bucket < 4; ++bucket) {
                                   values.push_back(outputs[0][bucket].mean());
                                   if (outputs[1][bucket].seconds > 0) {
                                       EXPECT_EQ(outputs[1][bucket].mean(), 0x1p30);
                                   }
                               }
                           });
    EXPECT_TRUE(read) << read.error().message();
    return found;
}

TEST(series, a_table_is_read_node_by_node_before_and_after_sealing) {
    RecordFixture record;
    record.record("n1", 6, true, 6);
    record.record("n2", 3, true, 3);
    record.record("n3", 3, true, 3);
    const auto before = rates(record.path());
    ASSERT_EQ(before.size(), 2u) << "what the filter takes away is not told of";
    const double none = std::nan("");
    EXPECT_THAT(before.at("n1"), testing::Pointwise(testing::NanSensitiveDoubleEq(),
                                                    std::vector<double>{0.5, 0.5, 0.5, none}));
    EXPECT_THAT(before.at("n2"), testing::Pointwise(testing::NanSensitiveDoubleEq(),
                                                    std::vector<double>{0.5, 0.5, none, none}));
    ASSERT_TRUE(seal(record.path(), kStart));
    const auto after = rates(record.path());
    ASSERT_EQ(after.size(), 2u);
    for (const auto& [node, values] : before)
        EXPECT_THAT(after.at(node), testing::Pointwise(testing::NanSensitiveDoubleEq(), values));
}

// As a tool that is not Belay may write it.
TEST(series, rows_that_lie_in_another_order_are_put_in_order) {
    RecordFixture record;
    record.record("n1", 6, true, 6);
    record.record("n2", 6, true, 6);
    ASSERT_TRUE(seal(record.path(), kStart));
    const auto in_order = rates(record.path());
    const auto table = record.path() / "tables" / "host.parquet";
    const std::string file = sql_literal(table.string());
    auto database = Database::open().value();
    ASSERT_TRUE(database.execute(
        fmt::format("CREATE TABLE rows AS SELECT * FROM read_parquet({0}); COPY (SELECT * FROM rows "
                    "ORDER BY hash(time), node) TO {0} (FORMAT parquet)",
                    file)));
    const auto shuffled = rates(record.path());
    ASSERT_EQ(shuffled.size(), 2u);
    for (const auto& [node, values] : in_order)
        EXPECT_THAT(shuffled.at(node), testing::Pointwise(testing::NanSensitiveDoubleEq(), values));
}

TEST(series, a_table_without_rows_tells_nothing) {
    RecordFixture record;
    EXPECT_TRUE(rates(record.path()).empty());
}

}  // namespace
}  // namespace belay::record
