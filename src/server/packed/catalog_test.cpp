#include "core/file.h"
#include "server/blocks/log_writer.h"
#include "server/packed/catalog_store.h"
#include "server/packed/log_contents.h"
#include "server/packed/retention.h"
#include "server/packed/testing.h"
#include "server/packed/tier_merge.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::kPackedBegan;
using ::testing::SizeIs;

Catalog some_catalog() {
    Catalog catalog{.sequence = 7};
    for (const Tier tier : kTiers)
        catalog.files.push_back(
            {.tier = tier,
             .name = "0000000000000007-0123456789abcdef-" + std::string(tier_name(tier)) + ".pak",
             .bytes = 1000,
             .rows = 10,
             .values = 99,
             .first_time = kPackedBegan,
             .last_time = kPackedBegan + std::chrono::seconds(9),
             .arrived_from = kPackedBegan,
             .arrived_until = kPackedBegan + std::chrono::minutes(1)});
    catalog.packed_logs = {{"x.blk", 7}, {"y.blk", 8}};
    for (const char* node : {"n1", "a node with a blank"}) {
        PackedBlocks& packed = catalog.streams[{"c", node, "boot", "agent", kPackedBegan}];
        packed.blocks.add({0, 9});
        packed.blocks.add({12, 13});
        packed.arrived = kPackedBegan;
    }
    return catalog;
}

TEST(server_packed, a_catalog_is_what_was_written) {
    const Catalog catalog = some_catalog();
    EXPECT_EQ(decode_catalog(encode_catalog(catalog)).value(), catalog);
    EXPECT_EQ(decode_catalog(encode_catalog({})).value(), Catalog());
    EXPECT_EQ(catalog.bytes(), 3000U);
    EXPECT_NE(catalog.find(catalog.files[1].name), nullptr);
    EXPECT_EQ(catalog.find("other"), nullptr);
}

TEST(server_packed, a_damaged_catalog_is_refused) {
    const std::string text = encode_catalog(some_catalog());
    for (size_t i = 0; i < text.size(); ++i) {
        std::string damaged = text;
        damaged[i] = static_cast<char>(damaged[i] ^ 4);
        EXPECT_FALSE(decode_catalog(damaged)) << i;
        EXPECT_FALSE(decode_catalog(text.substr(0, i))) << i;
    }
}

TEST(server_packed, names_of_catalogs_and_packed_files_hold_their_number) {
    EXPECT_EQ(sequence_of_catalog(catalog_file_name(0xAB)), 0xABU);
    EXPECT_EQ(sequence_of_catalog("00000000000000ab.catalog.tmp-1"), std::nullopt);
    EXPECT_EQ(sequence_of_catalog("00000000000000AB.catalog"), std::nullopt);
    const std::string name = new_packed_name(0xCD, Tier::kMinute).value();
    EXPECT_EQ(sequence_of_packed(name), 0xCDU);
    EXPECT_EQ(tier_of_packed(name), Tier::kMinute);
    EXPECT_NE(name, new_packed_name(0xCD, Tier::kMinute).value());
    for (const char* other :
         {"pack.lock", "x.pak", "00000000000000cd-1-5s.pak", "00000000000000cd-1-raw.pak.tmp"})
        EXPECT_EQ(sequence_of_packed(other), std::nullopt) << other;
}

TEST(server_packed, of_two_catalogs_of_one_number_the_first_counts) {
    const auto place = core::TemporaryDirectory::create("catalog_test").value();
    const auto logs = core::Directory::open(place.path()).value();
    const auto store = CatalogStore::open(place.path() / "packed").value();
    EXPECT_EQ(*store.read(logs)->catalog, Catalog());
    Catalog first{.sequence = 1, .files = {}, .packed_logs = {{"1.blk", 1}}};
    Catalog second{.sequence = 1, .files = {}, .packed_logs = {{"2.blk", 1}}};
    EXPECT_TRUE(store.commit(first).value());
    EXPECT_FALSE(store.commit(second).value());
    EXPECT_EQ(*store.read(logs)->catalog, first);
    for (uint64_t i = 2; i < 9; ++i) {
        first.sequence = i;
        EXPECT_TRUE(store.commit(first).value());
    }
    ASSERT_TRUE(store.remove_leftovers(first));
    EXPECT_THAT(core::files_with_suffix(place.path() / "packed", ".catalog").value(), SizeIs(3));
    EXPECT_EQ(store.newest().value(), 8U);
}

TEST(server_packed, leftovers_are_what_no_catalog_can_name) {
    const auto place = core::TemporaryDirectory::create("catalog_test").value();
    const auto store = CatalogStore::open(place.path()).value();
    Catalog catalog{.sequence = 5};
    const auto touch = [&](uint64_t sequence) {
        const std::string name = new_packed_name(sequence, Tier::kRaw).value();
        EXPECT_TRUE(core::replace_file(place.path() / name, "x"));
        return name;
    };
    catalog.files.push_back({.name = touch(3)});
    const std::string lost_race = touch(5), later = touch(6);
    EXPECT_THAT(store.remove_leftovers(catalog).value(), ElementsAre(lost_race));
    EXPECT_THAT(core::files_with_suffix(place.path(), ".pak").value(), SizeIs(2));
    EXPECT_TRUE(std::filesystem::exists(place.path() / later)) << "another packer may be about to name it";
}

LogFile log_at(int minute, const std::string& writer, bool is_closed = true, uint64_t bytes = 10) {
    LogFile file = *log_file_named(log_file_name(kPackedBegan + std::chrono::minutes(minute), writer));
    EXPECT_EQ(file.began, kPackedBegan + std::chrono::minutes(minute));
    EXPECT_EQ(file.writer, writer);
    file.is_closed = is_closed;
    file.bytes = bytes;
    return file;
}

std::vector<std::string> names_of(const std::vector<LogFile>& files) {
    std::vector<std::string> names;
    for (const LogFile& file : files) names.push_back(file.name);
    return names;
}

TEST(server_packed, logs_that_began_within_ten_minutes_are_packed_together) {
    const LogFile a = log_at(0, "a"), b = log_at(4, "a"), c = log_at(11, "a");
    const auto now = [](int minute) { return kPackedBegan + std::chrono::minutes(minute); };
    EXPECT_THAT(names_of(next_group({a, b, c}, {}, now(60))), ElementsAre(a.name, b.name));
    EXPECT_THAT(names_of(next_group({a, b}, {}, now(9))), IsEmpty()) << "more may come";
    EXPECT_THAT(names_of(next_group({a, b}, {}, std::nullopt)), ElementsAre(a.name, b.name));
    EXPECT_THAT(names_of(next_group({a, log_at(4, "a", false)}, {}, now(60))), IsEmpty())
        << "it will be closed, and belongs to them";
    EXPECT_THAT(names_of(next_group({a, log_at(11, "a", false)}, {}, now(60))), ElementsAre(a.name));
    EXPECT_THAT(names_of(next_group({log_at(0, "a", true, uint64_t{2} << 30), b}, {}, now(1))), SizeIs(1))
        << "a large one is enough";
    const LogFile older = log_at(-30, "z");
    EXPECT_THAT(names_of(next_group({a, b, c, older}, {}, now(60))), ElementsAre(older.name));
    EXPECT_THAT(next_group({}, {}, now(60)), IsEmpty());
}

TEST(server_packed, names_of_logs_are_taken_apart) {
    EXPECT_FALSE(log_file_named("x.blk"));
    EXPECT_FALSE(log_file_named("a.lock"));
    const LogFile file = *log_file_named("18ab000000000001-a1.blk");
    EXPECT_EQ(core::to_nanoseconds(file.began), 0x18ab000000000001);
    EXPECT_EQ(file.writer, "a1");
}

PackedFile file_of_age(Tier tier, int hours_ago, uint64_t bytes, core::Time now) {
    return {.tier = tier,
            .name = fmt::format("{}-{}", tier_name(tier), hours_ago),
            .bytes = bytes,
            .first_time = now - std::chrono::hours(hours_ago + 1),
            .last_time = now - std::chrono::hours(hours_ago),
            .arrived_from = now - std::chrono::hours(hours_ago + 1),
            .arrived_until = now - std::chrono::hours(hours_ago)};
}

std::vector<std::string> names_of(const std::vector<RemovedFile>& removed) {
    std::vector<std::string> names;
    for (const RemovedFile& one : removed) names.push_back(one.file.name);
    return names;
}

TEST(server_packed, each_tier_is_kept_for_its_own_time) {
    const core::Time now = kPackedBegan;
    Catalog catalog;
    for (const Tier tier : kTiers)
        for (const int days : {1, 8, 31, 731})
            catalog.files.push_back(file_of_age(tier, 24 * days, 100, now));
    const RetentionPlan plan = plan_retention(catalog, {}, now, {});
    EXPECT_THAT(names_of(plan.removed),
                ElementsAre("raw-17544", "raw-744", "raw-192", "10s-17544", "10s-744", "60s-17544"));
    EXPECT_THAT(describe(plan.removed), SizeIs(3));
    EXPECT_THAT(describe(plan.removed)[0], ::testing::HasSubstr("3 files of raw rows until 2023-11-06"));
}

TEST(server_packed, for_want_of_room_the_oldest_rows_go_first) {
    const core::Time now = kPackedBegan;
    Catalog catalog;
    for (const Tier tier : kTiers)
        for (const int hours : {1, 2, 3}) catalog.files.push_back(file_of_age(tier, hours, 100, now));
    const auto removed = [&](uint64_t bytes, const Held& held = {}) {
        return plan_retention(catalog, {.bytes = bytes}, now, held);
    };
    EXPECT_THAT(names_of(removed(900).removed), IsEmpty());
    EXPECT_THAT(names_of(removed(750).removed), ElementsAre("raw-3", "raw-2"));
    EXPECT_THAT(names_of(removed(500).removed), ElementsAre("raw-3", "raw-2", "raw-1", "10s-3"));
    const Held is_needed = [](const PackedFile& file) {
        return file.name == "raw-3" || file.name == "10s-3";
    };
    const RetentionPlan plan = removed(500, is_needed);
    EXPECT_THAT(names_of(plan.removed), ElementsAre("raw-2", "raw-1", "10s-2", "10s-1"));
    EXPECT_THAT(plan.held, SizeIs(2));
    EXPECT_EQ(plan.bytes_over, 0U);
    EXPECT_EQ(removed(100, [](const PackedFile&) { return true; }).bytes_over, 800U);
    // Whatever is held and however little room there is: nothing that is held goes, and what goes was the oldest.
    std::mt19937_64 random(6);
    for (int round = 0; round < 200; ++round) {
        const uint64_t bits = random();
        const Held some = [&](const PackedFile& file) { return (bits >> (file.name.back() % 8) & 1) != 0; };
        const RetentionPlan any = removed(random() % 1000, some);
        for (const RemovedFile& one : any.removed) EXPECT_FALSE(some(one.file));
    }
}

TEST(server_packed, spans_of_a_day_that_is_over_are_merged) {
    const core::Time now = core::time_from_nanoseconds(1'700'006'400'000'000'000);  // 2023-11-15 00:00 UTC
    Catalog catalog;
    for (const int hours : {1, 2, 3, 25, 26}) {
        catalog.files.push_back(file_of_age(Tier::kMinute, hours, 100, now));
        catalog.files.push_back(file_of_age(Tier::kTenSeconds, hours, 100, now));
        catalog.files.push_back(file_of_age(Tier::kRaw, hours, 100, now));
    }
    const auto merged = [&](core::Time at) {
        std::vector<std::string> names;
        for (const PackedFile& file : next_merge(catalog, {}, at)) names.push_back(file.name);
        std::ranges::sort(names);
        return names;
    };
    EXPECT_THAT(merged(now), ElementsAre("60s-25", "60s-26")) << "of the day before yesterday";
    std::erase_if(catalog.files, [](const PackedFile& file) { return file.name == "60s-26"; });
    EXPECT_THAT(merged(now), IsEmpty()) << "one file is none to merge, and yesterday may not be settled";
    EXPECT_THAT(merged(now + std::chrono::minutes(31)), ElementsAre("60s-1", "60s-2", "60s-3"));
}

}  // namespace
}  // namespace belay::server
