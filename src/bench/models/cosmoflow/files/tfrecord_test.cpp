#include "bench/models/cosmoflow/files/tfrecord.h"

#include "bench/models/cosmoflow/files/universe_record_for_tests.h"

#include <limits>
#include <string>

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

using testing::HasSubstr;

// All records, or what is wrong with one.
core::Result<std::vector<std::string>> all_records(std::string_view file) {
    std::vector<std::string> all;
    for (RecordReader reader(file); !reader.at_end();) {
        BELAY_TRY(record, reader.next());
        all.emplace_back(record);
    }
    return all;
}

std::string problem_of_records(std::string_view file) {
    const auto records = all_records(file);
    return records ? "none" : records.error().message();
}

TEST(bench_tfrecord, checksum_is_a_masked_crc32c) {
    EXPECT_EQ(masked_crc32c("123456789"), 0xc78ab0e5U) << "of 0xe3069283";
    EXPECT_EQ(masked_crc32c(""), 0xa282ead8U);
    for (const char* text : {"a", "record", "a longer text of more than sixteen bytes"})
        EXPECT_EQ(masked_crc32c(text), checksum_of(text));
}

TEST(bench_tfrecord, gives_records_one_after_the_other) {
    EXPECT_THAT(*all_records(""), testing::IsEmpty());
    const std::string large(100000, 'x');
    EXPECT_THAT(*all_records(record_bytes("first") + record_bytes("") + record_bytes(large)),
                testing::ElementsAre("first", "", large));
}

TEST(bench_tfrecord, every_flipped_bit_is_an_error) {
    const std::string file = record_bytes("first") + record_bytes("and the second");
    for (size_t bit = 0; bit < file.size() * 8; ++bit) {
        std::string damaged = file;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
        EXPECT_THAT(problem_of_records(damaged),
                    HasSubstr(bit / 8 < 21 ? "record 0 at byte 0: " : "record 1 at byte 21: "))
            << bit;
    }
}

TEST(bench_tfrecord, a_file_that_is_cut_off_anywhere_is_an_error) {
    const std::string file = record_bytes("first") + record_bytes("second");
    for (size_t length = 1; length < file.size(); ++length) {
        if (length == 21) continue;  // behind the first
        EXPECT_THAT(problem_of_records(file.substr(0, length)), HasSubstr("the file is cut off")) << length;
    }
}

TEST(bench_tfrecord, says_what_is_wrong) {
    std::string file = record_bytes("first");
    file[0] = 'X';
    EXPECT_THAT(problem_of_records(file), HasSubstr("the checksum of its length is wrong"));
    file = record_bytes("first");
    file[14] = 'X';
    EXPECT_THAT(problem_of_records(file), HasSubstr("the checksum of its 5 bytes is wrong"));
    for (const uint64_t length :
         {uint64_t{6}, uint64_t{9}, uint64_t{1} << 40, std::numeric_limits<uint64_t>::max() - 2,
          std::numeric_limits<uint64_t>::max()}) {
        const std::string claim = number_bytes(length);
        EXPECT_THAT(
            problem_of_records(claim + number_bytes(checksum_of(claim)) + "first1234"),
            HasSubstr(fmt::format("it should have {} bytes and a checksum, and 9 bytes are left", length)));
    }
    EXPECT_THAT(problem_of_records("no TFRecord at all"), HasSubstr("or no TFRecord"));
}

// After an error the reader stays where it was.
TEST(bench_tfrecord, says_the_same_again) {
    RecordReader reader("damaged");
    EXPECT_EQ(reader.next().error(), reader.next().error());
    EXPECT_FALSE(reader.at_end());
}

}  // namespace
}  // namespace belay::bench::cosmoflow
