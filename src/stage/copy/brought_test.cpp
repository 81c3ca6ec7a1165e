#include "stage/copy/brought.h"

#include "shard/crc32c.h"
#include "stage/copy/little_endian.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::ElementsAre;

const core::Sha256Digest kOnePlan = core::sha256("one"), kOtherPlan = core::sha256("other");

BroughtFile brought(const std::string& path, uint64_t inode) {
    return {.path = path, .bytes = 3, .modified = -5, .mark = {.inode = inode, .born = -7}};
}

CopySign some_sign() {
    CopySign sign{.directory = {.inode = 1, .born = 2}, .made_levels = 2};
    add_copy(sign, {.plan = kOnePlan,
                    .kind = CopyKind::kPacked,
                    .files = {brought("a/b", 3), brought("c", 4)},
                    .directories = {"a"},
                    .state = "checksums"});
    add_copy(sign, {.plan = kOtherPlan});
    return sign;
}

TEST(stage_copy_brought, is_read_back_as_it_was) {
    EXPECT_EQ(decode_sign(encode_sign(some_sign())).value(), some_sign());
    EXPECT_EQ(decode_sign(encode_sign({})).value(), CopySign{});
}

TEST(stage_copy_brought, what_was_changed_or_cut_says_nothing) {
    const std::string whole = encode_sign(some_sign());
    for (size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(decode_sign(std::string_view(whole).substr(0, size))) << size;
    for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
        std::string changed = whole;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
        EXPECT_FALSE(decode_sign(changed)) << bit;
    }
}

// Behind the checksum nothing is believed either.
TEST(stage_copy_brought, no_path_of_any_bytes_leads_out_of_the_directory) {
    const std::string whole = encode_sign(some_sign());
    const std::string content = whole.substr(0, whole.size() - 4);
    for (size_t i = 0; i < content.size(); ++i)
        for (const int byte : {0, 1, 0x2e, 0x2f, 0x7f, 0xff}) {
            std::string changed = content;
            changed[i] = static_cast<char>(byte);
            put_little(changed, shard::crc32c(changed));
            const auto sign = decode_sign(changed);
            if (!sign) continue;
            for (const BroughtCopy& copy : sign->copies) {
                for (const BroughtFile& file : copy.files) EXPECT_TRUE(core::is_name_beneath(file.path));
                for (const std::string& path : copy.directories) EXPECT_TRUE(core::is_name_beneath(path));
            }
        }
}

TEST(stage_copy_brought, what_a_plan_brought_earlier_stays_its) {
    CopySign sign = some_sign();
    add_copy(sign,
             {.plan = kOnePlan, .files = {brought("b", 9), brought("c", 8)}, .directories = {"a", "b"}});
    const BroughtCopy* copy = sign.find(kOnePlan);
    ASSERT_NE(copy, nullptr);
    EXPECT_THAT(copy->files, ElementsAre(brought("a/b", 3), brought("b", 9), brought("c", 8)));
    EXPECT_THAT(copy->directories, ElementsAre("a", "b"));
    EXPECT_EQ(copy->state, "checksums");
    EXPECT_EQ(sign.copies.size(), 2U);
}

TEST(stage_copy_brought, a_file_that_another_plan_brought_again_is_that_plans) {
    CopySign sign = some_sign();
    add_copy(sign, {.plan = kOtherPlan, .files = {brought("c", 9)}});
    EXPECT_THAT(sign.find(kOnePlan)->files, ElementsAre(brought("a/b", 3)));
    EXPECT_THAT(sign.find(kOtherPlan)->files, ElementsAre(brought("c", 9)));
}

TEST(stage_copy_brought, marks_differ_by_inode_or_birth_as_far_as_both_are_known) {
    const FileMark mark{.inode = 1, .born = 2};
    EXPECT_TRUE(mark.is_same({.inode = 1, .born = 2}));
    EXPECT_FALSE(mark.is_same({.inode = 2, .born = 2}));
    EXPECT_FALSE(mark.is_same({.inode = 1, .born = 3}));
    EXPECT_TRUE(mark.is_same({.inode = 1, .born = 0}));
}

}  // namespace
}  // namespace belay::stage
