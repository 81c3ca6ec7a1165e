#include "bench/models/cosmoflow/files/gunzip.h"

#include "bench/models/cosmoflow/files/universe_record_for_tests.h"
#include "bench/synthetic/random.h"

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

using testing::HasSubstr;

constexpr size_t kLimitForTest = 1000;
const std::string kText = "a text that is packed, and packed, and packed";

std::string problem_of_packed(std::string_view bytes) {
    const auto text = gunzip(bytes, kLimitForTest);
    return text ? "none" : text.error().message();
}

TEST(bench_gunzip, gives_back_what_was_packed) {
    EXPECT_EQ(*gunzip(gzip_bytes(kText), kLimitForTest), kText);
    EXPECT_EQ(*gunzip(gzip_bytes(""), 0), "");
    std::string large;
    RandomStream random(1, Split::kTrain, 0, 0);
    for (int i = 0; i < 1000000; ++i) large += static_cast<char>(random.next_below(20));
    EXPECT_EQ(*gunzip(gzip_bytes(large), large.size()), large);
}

TEST(bench_gunzip, is_told_by_the_first_bytes) {
    EXPECT_TRUE(is_gzip(gzip_bytes("")));
    EXPECT_FALSE(is_gzip(record_bytes("a record")));
    EXPECT_FALSE(is_gzip("\x1f\x8b"));
    EXPECT_FALSE(is_gzip(""));
    EXPECT_THAT(problem_of_packed("plain"), HasSubstr("not packed by gzip"));
}

TEST(bench_gunzip, goes_through_all_members) {
    const std::string first = gzip_bytes("one "), empty = gzip_bytes(""), last = gzip_bytes("two");
    EXPECT_EQ(*gunzip(first + empty + last, kLimitForTest), "one two");
    EXPECT_EQ(*gunzip(first + last + std::string(512, '\0'), kLimitForTest), "one two") << "padding";
    EXPECT_THAT(problem_of_packed(first + "more"),
                HasSubstr(fmt::format("something else follows its gzip data at byte {}", first.size())));
    EXPECT_THAT(problem_of_packed(first + std::string(3, '\0') + last), HasSubstr("something else follows"));
    EXPECT_THAT(problem_of_packed(first + last.substr(0, last.size() - 1)), HasSubstr("it is cut off"));
}

TEST(bench_gunzip, stops_at_the_limit) {
    const std::string bomb = gzip_bytes(std::string(size_t{64} << 20, '\0'));
    EXPECT_LT(bomb.size(), 100000u);
    EXPECT_THAT(problem_of_packed(bomb), HasSubstr("more than the 1000 bytes that it may have"));
    EXPECT_EQ(gunzip(gzip_bytes(kText), kText.size())->size(), kText.size());
    EXPECT_FALSE(gunzip(gzip_bytes(kText), kText.size() - 1));
    std::string many;
    for (int i = 0; i < 30; ++i) many += gzip_bytes(kText);
    EXPECT_THAT(problem_of_packed(many), HasSubstr("more than the 1000 bytes"));
}

TEST(bench_gunzip, what_is_cut_off_anywhere_is_an_error) {
    const std::string packed = gzip_bytes(kText);
    for (size_t length = 0; length < packed.size(); ++length)
        EXPECT_THAT(problem_of_packed(packed.substr(0, length)),
                    HasSubstr(length < 3 ? "not packed" : "it is cut off"))
            << length;
}

// The time and the system in a member's header are under no checksum, nor what fills the last byte before its end: none of them is
// needed.
TEST(bench_gunzip, a_flipped_bit_is_an_error_or_changes_nothing) {
    const std::string packed = gzip_bytes(kText);
    size_t refused = 0;
    for (size_t bit = 0; bit < packed.size() * 8; ++bit) {
        std::string damaged = packed;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
        const auto text = gunzip(damaged, kLimitForTest);
        refused += text ? 0 : 1;
        if (text) {
            EXPECT_EQ(*text, kText) << bit;
            EXPECT_TRUE(bit / 8 < 10 || bit / 8 == packed.size() - 9) << bit;
        }
    }
    EXPECT_GE(refused, (packed.size() - 11) * 8);
}

}  // namespace
}  // namespace belay::bench::cosmoflow
