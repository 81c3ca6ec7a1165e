#include "shard/crc32c.h"
#include "shard/index.h"
#include "shard/tar_format.h"

#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::shard {
namespace {

using testing::HasSubstr;

TEST(shard, crc32c_is_that_of_rfc_3720) {
    EXPECT_EQ(crc32c("123456789"), 0xE3069283U);
    EXPECT_EQ(crc32c(""), 0U);
    EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAU);  // appendix B.4
    EXPECT_EQ(crc32c("6789", crc32c("12345")), 0xE3069283U);
}

TEST(shard, a_tar_header_is_ustar) {
    const std::string header = tar_header("train/a.jpg", 1234);
    ASSERT_EQ(header.size(), kTarBlock);
    EXPECT_EQ(header.substr(0, 12), std::string("train/a.jpg\0", 12));
    EXPECT_EQ(header.substr(124, 12), std::string("00000002322\0", 12));
    EXPECT_EQ(header.substr(257, 8), std::string("ustar\00000", 8));
    EXPECT_EQ(header[156], '0');
}

TEST(shard, what_does_not_fit_ustar_has_a_pax_header) {
    EXPECT_EQ(tar_header(std::string(100, 'n'), 0).size(), kTarBlock);
    EXPECT_EQ(tar_header(std::string(101, 'n'), 0).size(), 3 * kTarBlock);
    EXPECT_EQ(tar_header("n", kTarSizeLimit - 1).size(), kTarBlock);
    EXPECT_THAT(tar_header("n", kTarSizeLimit), HasSubstr("19 size=8589934592\n"));
    EXPECT_THAT(tar_header(std::string(101, '\xff'), 0), HasSubstr("21 hdrcharset=BINARY\n"));
    for (size_t length = 1; length < 3000; ++length)
        ASSERT_EQ(tar_header(std::string(length, 'n'), 5).size(),
                  tar_header_bytes(std::string(length, 'n'), 5))
            << length;
}

TEST(shard, a_header_gives_back_name_and_size) {
    std::mt19937_64 random(4);
    for (int round = 0; round < 2000; ++round) {
        std::string name;
        for (size_t letter = 1 + random() % 300; letter > 0; --letter)
            name += static_cast<char>(1 + random() % 255);
        const uint64_t bytes = random() >> (random() % 64);
        const std::string header = tar_header(name, bytes);
        const auto member = parse_tar_header(header + "content");
        ASSERT_TRUE(member);
        EXPECT_EQ(member->name, name);
        EXPECT_EQ(member->bytes, bytes);
        EXPECT_EQ(member->header_bytes, header.size());
        std::string damaged = header;
        const size_t bit = random() % (8 * damaged.size());
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
        // A tar has no checksum of what a pax header says.
        const auto other = parse_tar_header(damaged);
        EXPECT_TRUE(!other || other->name != name || other->bytes != bytes) << "bit " << bit;
    }
    EXPECT_FALSE(parse_tar_header(std::string(1024, '\0')));
    EXPECT_FALSE(parse_tar_header(""));
}

TEST(shard, an_archive_ends_on_a_record) {
    for (uint64_t blocks = 0; blocks < 50; ++blocks) {
        const uint64_t end = blocks * kTarBlock + tar_trailer(blocks * kTarBlock);
        EXPECT_EQ(end % kTarRecord, 0U);
        EXPECT_GE(end - blocks * kTarBlock, 2 * kTarBlock);
        EXPECT_LT(end - blocks * kTarBlock, kTarRecord + 2 * kTarBlock);
    }
}

std::vector<Record> some_records(std::mt19937_64& random, size_t count) {
    std::vector<Record> records;
    uint64_t offset = 0;
    for (size_t i = 0; i < count; ++i) {
        std::string name = std::to_string(i);
        for (size_t letter = random() % 30; letter > 0; --letter)
            name += static_cast<char>(1 + random() % 255);
        offset += kTarBlock;
        const uint64_t bytes = random() % 5000;
        records.push_back(
            {name, offset, bytes, static_cast<uint32_t>(random()), static_cast<uint32_t>(i / 2)});
        offset += bytes + tar_padding(bytes);
    }
    return records;
}

TEST(shard, an_index_gives_back_what_was_put_in) {
    std::mt19937_64 random(1);
    for (size_t count : {0, 1, 2, 100, 1000}) {
        const std::vector<Record> records = some_records(random, count);
        const std::string bytes = encode_index(records, uint64_t{1} << 40).value();
        auto view = IndexView::open(bytes);
        ASSERT_TRUE(view) << view.error().message();
        EXPECT_EQ(view->size(), count);
        for (const Record& record : records) EXPECT_EQ(view->find(record.name), record);
        EXPECT_FALSE(view->find("not there"));
        EXPECT_FALSE(view->find(""));
        for (uint64_t i = 1; i < view->size(); ++i) EXPECT_LT((*view)[i - 1].name, (*view)[i].name);
    }
}

TEST(shard, the_same_records_in_another_order_give_the_same_index) {
    std::mt19937_64 random(2);
    std::vector<Record> records = some_records(random, 50);
    const std::string bytes = encode_index(records, uint64_t{1} << 30).value();
    std::ranges::shuffle(records, random);
    EXPECT_EQ(encode_index(records, uint64_t{1} << 30).value(), bytes);
}

TEST(shard, any_flipped_bit_of_an_index_is_found) {
    std::mt19937_64 random(3);
    const std::string bytes = encode_index(some_records(random, 20), uint64_t{1} << 30).value();
    for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
        std::string damaged = bytes;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
        EXPECT_FALSE(IndexView::open(damaged)) << "bit " << bit;
    }
    for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(IndexView::open(bytes.substr(0, size)));
}

// With a checksum that is right, as somebody else might write them: names or contents that are stated twice would make gigabytes of
// a small file.
TEST(shard, what_entries_share_is_refused) {
    const std::vector<Record> records = {{"aa", 512, 100, 1, 0}, {"ab", 1536, 100, 2, 1}};
    const std::string bytes = encode_index(records, 10240).value();
    auto problem = [&](size_t place, auto value) {
        std::string changed = bytes;
        std::memcpy(changed.data() + place, &value, sizeof value);
        const size_t trailer = changed.size() - 16;
        const uint32_t checksum = crc32c(std::string_view(changed).substr(0, trailer));
        std::memcpy(changed.data() + trailer, &checksum, sizeof checksum);
        auto view = IndexView::open(changed);
        return view ? "none" : view.error().message();
    };
    constexpr size_t kFirst = 32, kSecond = 64;
    EXPECT_EQ(problem(kFirst, uint64_t{512}), "none");
    EXPECT_THAT(problem(kSecond + 16, uint32_t{0}), HasSubstr("is not as an index has it")) << "its name";
    EXPECT_THAT(problem(kSecond + 20, uint16_t{1}), HasSubstr("names"));
    EXPECT_THAT(problem(kSecond + 22, uint16_t{1}), HasSubstr("is not as an index has it")) << "a flag";
    EXPECT_THAT(problem(kSecond, uint64_t{512}), HasSubstr("the same part of the tar"));
    EXPECT_THAT(problem(kFirst + 8, uint64_t{600}), HasSubstr("the same part of the tar"))
        << "no room for a header";
}

TEST(shard, an_index_is_as_long_as_its_records_can_make_it) {
    EXPECT_GE(most_index_bytes(1), encode_index({{std::string(65535, 'a')}}, 0).value().size());
    EXPECT_LT(most_index_bytes(10), uint64_t{1} << 20);
    EXPECT_EQ(most_index_bytes(UINT64_MAX), uint64_t{8} << 30);
}

TEST(shard, a_name_twice_or_too_long_is_refused) {
    EXPECT_THAT(encode_index({{"a"}, {"a"}}, 0).error().message(), HasSubstr("twice"));
    EXPECT_FALSE(encode_index({{std::string(65536, 'a')}}, 0));
    EXPECT_TRUE(encode_index({{std::string(65535, 'a')}}, 0));
}

}  // namespace
}  // namespace belay::shard
