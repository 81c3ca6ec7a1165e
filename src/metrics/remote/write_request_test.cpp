#include "metrics/remote/write_request.h"

#include "metrics/remote/testing.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <snappy-c.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::metrics::remote {
namespace {

using testing::decode_request;
using testing::DecodedMetadata;
using testing::DecodedPoint;
using testing::DecodedSeries;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string bytes_of_hex(std::string_view hex) {
    std::string out;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
    return out;
}

// By hand, from the description of the wire format and prompb/types.proto.
TEST(metrics_remote, a_message_byte_by_byte) {
    const std::vector<Series> series{
        {.labels = {{"__name__", "up"}, {"a", "b"}}, .points = {{1000, 1.0}, {1001, 0.0}}}};
    const std::vector<Metadata> metadata{{"up", MetricType::kGauge, "h", ""}};
    Batches batches = encode(series, metadata, {});
    ASSERT_THAT(batches.batches, SizeIs(1));
    EXPECT_EQ(batches.batches[0].samples, 2u);
    EXPECT_EQ(batches.batches[0].message,
              bytes_of_hex("1a09"      // metadata, 9 bytes
                           "0802"      // type: gauge
                           "12027570"  // metric_family_name: "up"
                           "220168"    // help: "h"
                           "0a2b"      // timeseries, 43 bytes
                           "0a0e"      // labels
                           "0a085f5f6e616d655f5f12027570"
                           "0a06"  // labels
                           "0a0161120162"
                           "120c"  // samples
                           "09000000000000f03f10e807"
                           "1203"  // samples: 0 is the default of proto3, and left out
                           "10e907"));
}

TEST(metrics_remote, special_values_keep_their_bits) {
    const double infinity = std::numeric_limits<double>::infinity();
    const auto signalling = std::bit_cast<double>(kStaleBits);
    const std::vector<Series> series{
        {.labels = {{"__name__", "x"}},
         .points = {{-1, -0.0},
                    {0, infinity},
                    {1, -infinity},
                    {2, std::numeric_limits<double>::quiet_NaN()},
                    {3, signalling},
                    {.milliseconds = std::numeric_limits<int64_t>::max(), .stale = true}}}};
    Batches batches = encode(series, {}, {});
    auto decoded = decode_request(batches.batches.at(0).message);
    ASSERT_TRUE(decoded);
    EXPECT_THAT(decoded->series.at(0).points,
                ElementsAre(DecodedPoint{-1, 0x8000000000000000}, DecodedPoint{0, 0x7ff0000000000000},
                            DecodedPoint{1, 0xfff0000000000000}, DecodedPoint{2, 0x7ff8000000000001},
                            DecodedPoint{3, 0x7ff8000000000001},  // nobody but we says that a series ends
                            DecodedPoint{std::numeric_limits<int64_t>::max(), 0x7ff0000000000002}));
}

TEST(metrics_remote, metadata_say_type_help_and_unit) {
    const std::vector<Metadata> metadata{{"a_total", MetricType::kCounter, "x", "y"},
                                         {"b", MetricType::kGauge, "", ""},
                                         {"c", MetricType::kHistogram, "", ""},
                                         {"d_info", MetricType::kInfo, "", ""}};
    auto decoded = decode_request(encode({}, metadata, {}).batches.at(0).message);
    ASSERT_TRUE(decoded);
    EXPECT_THAT(decoded->metadata,
                ElementsAre(DecodedMetadata{1, "a_total", "x", "y"}, DecodedMetadata{2, "b", "", ""},
                            DecodedMetadata{3, "c", "", ""}, DecodedMetadata{6, "d_info", "", ""}));
}

std::vector<Series> many_series(uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<Series> all(random() % 30);
    for (size_t i = 0; i < all.size(); ++i) {
        all[i].labels = {{"__name__", fmt::format("belay_{}", i)},
                         {"a", std::string(1 + random() % 90, 'x')}};
        const auto points = static_cast<int64_t>(random() % 40);
        for (int64_t t = 0; t < points; ++t)
            all[i].points.push_back({t * 1000, static_cast<double>(random() % 5) / 4, random() % 9 == 0});
    }
    return all;
}

TEST(metrics_remote, batches_are_bounded_and_hold_every_point_once_in_order) {
    for (uint64_t seed = 0; seed < 100; ++seed) {
        const std::vector<Series> series = many_series(seed);
        const BatchLimits limits{.samples = 1 + seed % 50, .bytes = 140 + seed * 7};
        Batches batches = encode(series, {}, limits);
        EXPECT_EQ(batches.too_large, 0u);
        std::map<Labels, std::vector<DecodedPoint>> found;
        for (const Batch& batch : batches.batches) {
            EXPECT_LE(batch.message.size(), limits.bytes);
            EXPECT_LE(batch.samples, limits.samples);
            auto decoded = decode_request(batch.message);
            ASSERT_TRUE(decoded) << "seed " << seed;
            size_t samples = 0;
            for (const DecodedSeries& one : decoded->series) {
                EXPECT_TRUE(std::ranges::is_sorted(one.labels, {}, &Label::name));
                samples += one.points.size();
                auto& points = found[one.labels];
                points.insert(points.end(), one.points.begin(), one.points.end());
            }
            EXPECT_EQ(samples, batch.samples);
        }
        std::map<Labels, std::vector<DecodedPoint>> expected;
        for (const Series& one : series)
            for (const Point& point : one.points)
                expected[one.labels].push_back(
                    {point.milliseconds, point.stale ? kStaleBits : std::bit_cast<uint64_t>(point.value)});
        EXPECT_EQ(found, expected) << "seed " << seed;
    }
}

TEST(metrics_remote, what_is_too_large_alone_is_counted) {
    const std::vector<Series> series{
        {.labels = {{"__name__", "a"}, {"b", std::string(200, 'x')}}, .points = {{1, 1.0}, {2, 2.0}}},
        {.labels = {{"__name__", "c"}}, .points = {{1, 3.0}}}};
    const std::vector<Metadata> metadata{{"a", MetricType::kGauge, std::string(200, 'y'), ""}};
    Batches batches = encode(series, metadata, {.samples = 10, .bytes = 100});
    EXPECT_EQ(batches.too_large, 2u);
    ASSERT_THAT(batches.batches, SizeIs(1));
    auto decoded = decode_request(batches.batches[0].message);
    ASSERT_TRUE(decoded);
    EXPECT_THAT(decoded->metadata, IsEmpty());
    EXPECT_THAT(decoded->series, SizeIs(1));
    EXPECT_THAT(encode({}, {}, {}).batches, IsEmpty());
}

TEST(metrics_remote, compressed_bytes_are_snappys_block_format) {
    for (const std::string& text : {std::string(), std::string("x"), std::string(100'000, 'a')}) {
        auto compressed = compress(text);
        ASSERT_TRUE(compressed);
        size_t size = 0;
        ASSERT_EQ(snappy_uncompressed_length(compressed->data(), compressed->size(), &size), SNAPPY_OK);
        std::string out(size, '\0');
        ASSERT_EQ(snappy_uncompress(compressed->data(), compressed->size(), out.data(), &size), SNAPPY_OK);
        EXPECT_EQ(out, text);
    }
    EXPECT_LT(compress(std::string(100'000, 'a'))->size(), 10'000u);
}

}  // namespace
}  // namespace belay::metrics::remote
