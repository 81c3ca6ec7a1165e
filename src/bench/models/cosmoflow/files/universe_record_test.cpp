#include "bench/models/cosmoflow/files/universe_record.h"

#include "bench/models/cosmoflow/files/universe_record_for_tests.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

using testing::HasSubstr;

constexpr uint32_t kRecordSide = 2;
constexpr size_t kRecordValues = 32;
const Parameters kRecordParameters = {0.5F, -1, 0.25F, 1};

// As those of the files that Python wrote: [channel][z][y][x] of 1000 channel + 4 z + 2 y + x.
std::vector<int16_t> record_counts() {
    std::vector<int16_t> counts;
    for (int channel = 0; channel < 4; ++channel)
        for (int cell = 0; cell < 8; ++cell) counts.push_back(static_cast<int16_t>(1000 * channel + cell));
    return counts;
}

struct DecodedRecord {
    std::vector<int16_t> counts = std::vector<int16_t>(kRecordValues, 77);
    core::Result<Parameters> parameters;
};

DecodedRecord decode_record(std::string_view file) {
    DecodedRecord decoded;
    decoded.parameters = decode_universe_record(file, kRecordSide, decoded.counts);
    return decoded;
}
void expect_record(std::string_view file) {
    const DecodedRecord decoded = decode_record(file);
    ASSERT_TRUE(decoded.parameters) << decoded.parameters.error().message();
    EXPECT_EQ(*decoded.parameters, kRecordParameters);
    EXPECT_EQ(decoded.counts, record_counts());
}
std::string problem_of_record(std::string_view file) {
    const DecodedRecord decoded = decode_record(file);
    return decoded.parameters ? "none" : decoded.parameters.error().message();
}
std::string problem_of_example(std::string_view x, std::span<const float> y) {
    return problem_of_record(record_bytes(example_bytes(x, y)));
}

std::string from_hex(std::string_view digits) {
    std::string bytes;
    for (size_t i = 0; i < digits.size(); i += 2)
        bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
    return bytes;
}

// By Google's protobuf 3.21.12 and Python's struct and gzip:
//   example.features.feature["x"].bytes_list.value.append(b"".join(struct.pack("<h", 1000 * c + 4 * z + 2 * y + x)
//       for z in range(2) for y in range(2) for x in range(2) for c in range(4)))
//   example.features.feature["y"].float_list.value.extend([0.5, -1, 0.25, 1])
//   data = example.SerializeToString(deterministic=True)
//   length = struct.pack("<Q", len(data))
//   file = length + masked_crc32c(length) + data + masked_crc32c(data); gzip.compress(file, mtime=0)
constexpr std::string_view kOfPython =
    "6800000000000000fe9c7ad40a660a490a017812440a420a400000e803d007b80b0100e903d107b90b0200ea03d207ba0b0300eb"
    "03d307bb0b"
    "0400ec03d407bc0b0500ed03d507bd0b0600ee03d607be0b0700ef03d707bf0b0a190a0179121412120a100000003f000080bf00"
    "00803e0000"
    "803f2e4c06ff";
constexpr std::string_view kPackedByPython =
    "1f8b0800000000000203cb6080807f73aaae70a5717972315608b9703971393030bc60bec0be839b91e125f345f69ddc4c0caf98"
    "2fb1efe266"
    "6678cd7c997d37370bc31be62bec7bb85919de325f65dfcbcdc6f08ef91afb3e6e7686f7ccd7d9f77373497231560a8908097109"
    "008db76760"
    "68d80fc476406cafe7c3f61f001b4ac22d78000000";

TEST(bench_universe_record, is_what_python_and_protobuf_write) {
    expect_record(from_hex(kOfPython));
    expect_record(from_hex(kPackedByPython));
}

TEST(bench_universe_record, gives_back_what_was_written_packed_or_not) {
    const std::string file = universe_record(kRecordParameters, record_counts());
    expect_record(file);
    expect_record(gzip_bytes(file));
    expect_record(gzip_bytes(file.substr(0, 50)) + gzip_bytes(file.substr(50)));
    expect_record(
        record_bytes(field_bytes(9, "more") + example_bytes(x_bytes(record_counts()), kRecordParameters)));
}

TEST(bench_universe_record, every_flipped_bit_is_an_error) {
    const std::string file = universe_record(kRecordParameters, record_counts()), packed = gzip_bytes(file);
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
        std::string damaged = file;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
        EXPECT_NE(problem_of_record(damaged), "none") << bit;
    }
    // Packed, there are a few bits in the header that stand for nothing.
    for (size_t bit = 0; bit < packed.size() * 8; ++bit) {
        std::string damaged = packed;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
        if (problem_of_record(damaged) == "none") expect_record(damaged);
    }
}

TEST(bench_universe_record, a_file_that_is_cut_off_anywhere_is_an_error) {
    const std::string file = universe_record(kRecordParameters, record_counts()), packed = gzip_bytes(file);
    EXPECT_THAT(problem_of_record(""), HasSubstr("it is empty, and should be a TFRecord"));
    EXPECT_THAT(problem_of_record(gzip_bytes("")), HasSubstr("it is empty"));
    for (size_t length = 1; length < file.size(); ++length)
        EXPECT_THAT(problem_of_record(file.substr(0, length)), HasSubstr("cut off")) << length;
    for (size_t length = 1; length < packed.size(); ++length)
        EXPECT_THAT(problem_of_record(packed.substr(0, length)), HasSubstr("cut off")) << length;
}

TEST(bench_universe_record, says_what_is_wrong) {
    const std::string x = x_bytes(record_counts());
    EXPECT_EQ(problem_of_example(x, kRecordParameters), "none");
    const std::string file = universe_record(kRecordParameters, record_counts());
    EXPECT_THAT(problem_of_record(file + file), HasSubstr("it goes on behind its first record of"));
    EXPECT_THAT(problem_of_record(file + "x"), HasSubstr("it goes on behind its first record of"));
    EXPECT_THAT(problem_of_record("BLYUNIV1 and more"), HasSubstr("or no TFRecord"));

    EXPECT_THAT(problem_of_example(std::string(8 * 27, '\0'), kRecordParameters),
                HasSubstr("it has 3 cells per edge; this profile needs 2"));
    EXPECT_THAT(problem_of_example(x.substr(1), kRecordParameters),
                HasSubstr("\"x\" has 63 bytes; this profile needs 64"));
    EXPECT_THAT(problem_of_example("", kRecordParameters), HasSubstr("it has 0 cells per edge"));
    EXPECT_THAT(problem_of_example(x, std::span(kRecordParameters).first(3)),
                HasSubstr("\"y\" has 3 values and should have 4"));
    const float five[] = {1, 1, 1, 1, 1};
    EXPECT_THAT(problem_of_example(x, five), HasSubstr("\"y\" has 5 values"));
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        const Parameters parameters = {0, 0, bad, 0};
        EXPECT_THAT(problem_of_example(x, parameters), HasSubstr("which is not that of a parameter"));
    }
    auto counts = record_counts();
    counts[2 * 8 + 5] = -3;
    EXPECT_THAT(problem_of_example(x_bytes(counts), kRecordParameters),
                HasSubstr("the count -3 in cell 5 of channel 2"));
}

TEST(bench_universe_record, says_which_feature_is_wrong) {
    const std::string x = feature_bytes("x", bytes_list(x_bytes(record_counts())));
    const std::string y = feature_bytes("y", float_list(kRecordParameters));
    auto problem = [](const std::string& entries) {
        return problem_of_record(record_bytes(field_bytes(1, entries)));
    };
    EXPECT_EQ(problem(x + y), "none");
    EXPECT_THAT(problem(y), HasSubstr("no feature \"x\""));
    EXPECT_THAT(problem(x), HasSubstr("no feature \"y\""));
    EXPECT_THAT(problem(x + feature_bytes("y", bytes_list("1234"))),
                HasSubstr("\"y\" holds a bytes_list and should hold a float_list"));
    EXPECT_THAT(problem(x + y + feature_bytes("x", "")),
                HasSubstr("\"x\" holds nothing and should hold a bytes_list"));
    EXPECT_THAT(problem(x + feature_bytes("y", field_bytes(3, ""))), HasSubstr("\"y\" holds an int64_list"));
    EXPECT_THAT(problem(feature_bytes("x", bytes_list("a") + bytes_list("b")) + y),
                HasSubstr("\"x\" has 2 values"));
    EXPECT_THAT(problem_of_record(record_bytes("\x0b")), HasSubstr("its Example is damaged"));
}

TEST(bench_universe_record, a_bomb_is_an_error) {
    EXPECT_THAT(problem_of_record(gzip_bytes(std::string(size_t{32} << 20, '\0'))),
                HasSubstr("more than the 65600 bytes that it may have"));
}

// What a checksum does not see: damage before the record was written.
TEST(bench_universe_record, damaged_examples_are_an_error_or_have_values) {
    const std::string example = example_bytes(x_bytes(record_counts()), kRecordParameters);
    RandomStream random(2, Split::kTrain, 0, 0);
    int refused = 0;
    for (int i = 0; i < 5000; ++i) {
        std::string damaged = example;
        const uint32_t many = 1 + random.next_below(3);
        for (uint32_t j = 0; j < many; ++j) {
            const size_t at = random.next_below(static_cast<uint32_t>(damaged.size()));
            const auto byte = static_cast<char>(random.next_below(256));
            switch (random.next_below(3)) {
                case 0:
                    damaged[at] = byte;
                    break;
                case 1:
                    damaged.insert(at, 1, byte);
                    break;
                default:
                    damaged.erase(at, 1);
            }
        }
        const DecodedRecord decoded = decode_record(record_bytes(damaged));
        refused += decoded.parameters ? 0 : 1;
        if (!decoded.parameters) {
            EXPECT_FALSE(decoded.parameters.error().message().empty());
            continue;
        }
        for (const float parameter : *decoded.parameters) EXPECT_TRUE(std::isfinite(parameter));
        EXPECT_THAT(decoded.counts, testing::Each(testing::Ge(0)));
    }
    EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace belay::bench::cosmoflow
