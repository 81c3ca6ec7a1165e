#include "bench/models/cosmoflow/files/example.h"

#include "bench/models/cosmoflow/files/universe_record_for_tests.h"
#include "bench/synthetic/random.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

using testing::HasSubstr;

// An Example of these entries of its map.
std::string with_entries(std::string_view entries) {
    return field_bytes(1, entries);
}
// A float that stands by itself.
std::string lone_float(float value) {
    return std::string(1, 1 << 3 | 5) + number_bytes(value);
}
std::string group_of(uint32_t number, std::string_view content) {
    return varint_bytes(number << 3 | 3) + std::string(content) + varint_bytes(number << 3 | 4);
}
std::vector<float> floats_of(const core::Result<Feature>& feature) {
    if (!feature || feature->kind != Feature::Kind::kFloats) return {};
    return {feature->floats.begin(), feature->floats.begin() + static_cast<ptrdiff_t>(std::min(
                                                                   feature->values, Feature::kKeptFloats))};
}
std::string problem_of_example(std::string_view example) {
    const auto feature = find_feature(example, "x");
    return feature ? "none" : feature.error().message();
}

TEST(bench_example, has_features_by_their_names) {
    const float y[] = {1, -2, 0.5F, 4};
    const std::string example = example_bytes("counts", y);
    const auto x = find_feature(example, "x");
    ASSERT_TRUE(x) << x.error().message();
    EXPECT_EQ(x->kind, Feature::Kind::kBytes);
    EXPECT_EQ(x->values, 1u);
    EXPECT_EQ(x->bytes, "counts");
    EXPECT_GE(x->bytes.data(), example.data()) << "it is where it was";
    EXPECT_THAT(floats_of(find_feature(example, "y")), testing::ElementsAre(1, -2, 0.5F, 4));
    EXPECT_THAT(find_feature(example, "z").error().message(), HasSubstr("no feature \"z\""));
    EXPECT_THAT(find_feature("", "x").error().message(), HasSubstr("no feature \"x\""));
}

TEST(bench_example, floats_may_be_packed_or_not) {
    const float two[] = {1, 2};
    const std::string lists[] = {
        float_list(two),
        field_bytes(2, lone_float(1) + lone_float(2)),
        field_bytes(2, lone_float(1) + field_bytes(1, number_bytes(2.0F))),
        field_bytes(2, lone_float(1)) + field_bytes(2, lone_float(2)),
    };
    for (const std::string& list : lists) {
        const auto feature = find_feature(with_entries(feature_bytes("y", list)), "y");
        EXPECT_THAT(floats_of(feature), testing::ElementsAre(1, 2));
        EXPECT_EQ(feature->values, 2u);
    }
    const float many[] = {1, 2, 3, 4, 5, 6};
    EXPECT_EQ(find_feature(with_entries(feature_bytes("y", float_list(many))), "y")->values, 6u);
}

TEST(bench_example, of_what_is_there_twice_the_last_counts) {
    const float one[] = {1}, two[] = {2};
    EXPECT_EQ(
        find_feature(with_entries(feature_bytes("x", bytes_list("a")) + feature_bytes("x", bytes_list("b"))),
                     "x")
            ->bytes,
        "b");
    EXPECT_EQ(find_feature(with_entries(feature_bytes("x", bytes_list("a"))) +
                               with_entries(feature_bytes("x", bytes_list("b"))),
                           "x")
                  ->bytes,
              "b");
    EXPECT_EQ(find_feature(with_entries(feature_bytes("x", bytes_list("a") + bytes_list("b"))), "x")->values,
              2u)
        << "parts of one list";
    EXPECT_THAT(
        floats_of(find_feature(with_entries(feature_bytes("x", bytes_list("a") + float_list(one))), "x")),
        testing::ElementsAre(1))
        << "a feature is of one kind";
    const std::string named_twice = field_bytes(1, "a") + field_bytes(1, "x") +
                                    field_bytes(2, float_list(one)) + field_bytes(2, float_list(two));
    EXPECT_THAT(floats_of(find_feature(with_entries(field_bytes(1, named_twice)), "x")),
                testing::ElementsAre(1, 2));
    EXPECT_EQ(find_feature(with_entries(field_bytes(1, "")), "")->kind, Feature::Kind::kNothing);
}

TEST(bench_example, what_is_not_known_is_skipped) {
    const std::string number = varint_bytes(9 << 3 | 0) + varint_bytes(uint64_t{1} << 63);
    const std::string eight_bytes = varint_bytes(10 << 3 | 1) + "12345678";
    const std::string four_bytes = varint_bytes(11 << 3 | 5) + "1234";
    const std::string other_type = varint_bytes(1 << 3 | 0) + varint_bytes(77);
    const std::string unknown = number + eight_bytes + four_bytes + field_bytes(500, "text") +
                                group_of(12, number + group_of(12, "") + field_bytes(1, "x")) + other_type;
    const std::string list = field_bytes(1, unknown + field_bytes(1, "counts") + unknown);
    const std::string entry =
        unknown + field_bytes(1, "x") + unknown + field_bytes(2, unknown + list + unknown);
    const std::string example = unknown + field_bytes(1, unknown + field_bytes(1, entry) + unknown) + unknown;
    const auto x = find_feature(example, "x");
    ASSERT_TRUE(x) << x.error().message();
    EXPECT_EQ(x->bytes, "counts");
    EXPECT_EQ(x->values, 1u);
}

TEST(bench_example, says_what_is_wrong_and_where) {
    EXPECT_THAT(problem_of_example("\x0a\x05"
                                   "abc"),
                HasSubstr("before byte 2: 5 bytes should follow, and 3 are left"));
    EXPECT_THAT(problem_of_example("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                HasSubstr("18446744073709551615 bytes should follow, and 0 are left"));
    EXPECT_THAT(problem_of_example("\x80"), HasSubstr("a number is cut off"));
    EXPECT_THAT(problem_of_example(std::string(11, '\x80')), HasSubstr("longer than 10 bytes"));
    EXPECT_THAT(problem_of_example(std::string(1, '\0')), HasSubstr("a field has the number 0"));
    EXPECT_THAT(problem_of_example("\x0f"), HasSubstr("field 1 has no known type"));
    EXPECT_THAT(problem_of_example("\x0c"), HasSubstr("the end of a group that has not begun"));
    EXPECT_THAT(problem_of_example("\x0b"), HasSubstr("a group does not end"));
    EXPECT_THAT(problem_of_example("\x0b\x14"), HasSubstr("not the innermost"));
    EXPECT_THAT(problem_of_example(std::string(200, '\x0b')), HasSubstr("more than 100 groups"));
    EXPECT_THAT(problem_of_example(with_entries(feature_bytes("y", field_bytes(2, field_bytes(1, "12345"))))),
                HasSubstr("before byte 18: 5 bytes are no list of floats"));
}

TEST(bench_example, damaged_bytes_are_an_error_and_not_a_crash) {
    const float y[] = {1, -2, 0.5F, 4};
    const std::string example = group_of(12, "") + example_bytes("counts of a universe", y);
    RandomStream random(1, Split::kTrain, 0, 0);
    int refused = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string damaged =
            example.substr(0, i % 4 == 0 ? random.next_below(example.size()) : example.size());
        const uint32_t many = 1 + random.next_below(4);
        for (uint32_t j = 0; j < many && !damaged.empty(); ++j)
            damaged[random.next_below(static_cast<uint32_t>(damaged.size()))] =
                static_cast<char>(random.next_below(256));
        for (const char* name : {"x", "y"}) {
            const auto feature = find_feature(damaged, name);
            refused += feature ? 0 : 1;
            if (!feature || feature->kind != Feature::Kind::kBytes || feature->values == 0) continue;
            EXPECT_GE(feature->bytes.data(), damaged.data());
            EXPECT_LE(feature->bytes.data() + feature->bytes.size(), damaged.data() + damaged.size());
        }
    }
    EXPECT_GT(refused, 10000);
    for (size_t length = 0; length < example.size(); ++length)
        EXPECT_FALSE(find_feature(std::string_view(example).substr(0, length), "x")) << length;
}

}  // namespace
}  // namespace belay::bench::cosmoflow
