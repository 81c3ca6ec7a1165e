#include "bench/models/deepcam/climate_file.h"

#include <cstring>
#include <vector>

#include <gmock/gmock.h>

namespace belay::bench::deepcam {
namespace {

using testing::HasSubstr;

const Shape kSmall = {.channels = 4, .height = 2, .width = 3};
const std::vector<float> kValues(24, 0.5F);
const std::vector<uint8_t> kMask = {0, 1, 2, 2, 1, 0};

TEST(bench_climate_file, gives_back_what_was_written) {
    const std::string bytes = encode_climate(kSmall, kValues, kMask);
    EXPECT_EQ(bytes.size(), climate_bytes(kSmall));
    std::vector<float> values(kValues.size());
    std::vector<uint8_t> mask(kMask.size());
    ASSERT_TRUE(decode_climate(bytes, kSmall, values, mask));
    EXPECT_EQ(values, kValues);
    EXPECT_EQ(mask, kMask);
}

TEST(bench_climate_file, says_what_is_wrong) {
    const std::string bytes = encode_climate(kSmall, kValues, kMask);
    std::vector<float> values(kValues.size());
    std::vector<uint8_t> mask(kMask.size());
    auto problem = [&](std::string_view text, const Shape& shape = kSmall) {
        auto decoded = decode_climate(text, shape, values, mask);
        return decoded ? "none" : decoded.error().message();
    };
    EXPECT_THAT(problem(""), HasSubstr("0 bytes"));
    EXPECT_THAT(problem("X" + bytes.substr(1)), HasSubstr("not a climate"));
    EXPECT_THAT(problem(bytes, {.channels = 4, .height = 2, .width = 4}),
                HasSubstr("2 x 3 cells and 4 channels; this profile needs 2 x 4 and 4"));
    EXPECT_THAT(problem(bytes.substr(0, 40)), HasSubstr("cut off"));
    EXPECT_THAT(problem(bytes + "x"), HasSubstr("should have"));
    std::string odd = bytes;
    odd.back() = '\3';
    EXPECT_THAT(problem(odd), HasSubstr("the class 3"));
}

TEST(bench_climate_file, has_a_name_for_each_climate) {
    EXPECT_EQ(climate_name(Split::kTrain, 17), "train/000017.climate");
    EXPECT_EQ(climate_name(Split::kEval, 0), "eval/000000.climate");
}

}  // namespace
}  // namespace belay::bench::deepcam
