#include "bench/models/cosmoflow/universe_file.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::bench::cosmoflow {
namespace {

using testing::HasSubstr;

constexpr uint32_t kFileSide = 2;
const std::vector<int16_t> kFileCounts(kChannels* kFileSide* kFileSide* kFileSide, 7);
const Parameters kParametersForTest = {0.5F, -1, 0, 1};

TEST(bench_universe_file, gives_back_what_was_written) {
    const std::string bytes = encode_universe(kFileSide, kParametersForTest, kFileCounts);
    EXPECT_EQ(bytes.size(), universe_bytes(kFileSide));
    std::vector<int16_t> counts(kFileCounts.size());
    EXPECT_EQ(decode_universe(bytes, kFileSide, counts).value(), kParametersForTest);
    EXPECT_EQ(counts, kFileCounts);
}

TEST(bench_universe_file, says_what_is_wrong) {
    const std::string bytes = encode_universe(kFileSide, kParametersForTest, kFileCounts);
    std::vector<int16_t> counts(kFileCounts.size());
    auto problem = [&](std::string_view text, uint32_t side) {
        return decode_universe(text, side, counts).error().message();
    };
    EXPECT_THAT(problem("", kFileSide), HasSubstr("0 bytes"));
    EXPECT_THAT(problem("X" + bytes.substr(1), kFileSide), HasSubstr("not a universe"));
    EXPECT_THAT(problem(bytes, 4), HasSubstr("2 cells per edge; this profile needs 4"));
    EXPECT_THAT(problem(bytes.substr(0, 40), kFileSide), HasSubstr("cut off"));
}

TEST(bench_universe_file, has_a_name_for_each_universe) {
    EXPECT_EQ(universe_name(Split::kTrain, 17), "train/000017.universe");
    EXPECT_EQ(universe_name(Split::kEval, 0), "eval/000000.universe");
}

}  // namespace
}  // namespace belay::bench::cosmoflow
