#include "stage/copy/store.h"

#include "shard/crc32c.h"
#include "stage/copy/store_parts.h"
#include "stage/copy/work_directory.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::HasSubstr;

// Two files of two chunks and a bit.
class StoreCase {
  public:
    std::filesystem::path destination() const { return directory_.path() / "data"; }
    CopyPlan plan() const {
        return {
            .kind = CopyKind::kTree,
            .chunk_bytes = kLeastChunk,
            .files = {{.path = "a/x", .bytes = 2 * kLeastChunk + 5, .modified = 1'700'000'000'123'456'789},
                      {.path = "b", .bytes = 7, .modified = -1}}};
    }
    std::unique_ptr<CopyStore> open() const {
        auto target = find_target(plan(), destination());
        auto store = CopyStore::open(std::make_shared<const CopyLayout>(plan()), std::move(target.value()));
        EXPECT_TRUE(store) << store.error().message();
        return std::move(store.value());
    }
    static std::string content(const CopyStore& store, uint64_t chunk) {
        return std::string(store.layout().bytes_of(chunk), static_cast<char>('p' + chunk));
    }
    static core::Result<> put(CopyStore& store, uint64_t chunk) {
        const std::string bytes = content(store, chunk);
        ChunkBuffer buffer;
        buffer.resize(bytes.size());
        std::ranges::copy(bytes, buffer.data());
        return store.put(chunk, shard::crc32c(bytes), buffer);
    }
    std::filesystem::path work(const CopyStore& store) const {
        return destination() / work_name("", store.digest());
    }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

core::Deadline at_once() {
    return core::Deadline::after(core::Duration::zero());
}

TEST(stage_copy_store, chunks_are_given_back_in_the_order_in_which_they_came) {
    const StoreCase data;
    const auto store = data.open();
    EXPECT_EQ(store->arrival(0, at_once()), std::nullopt);
    ASSERT_TRUE(StoreCase::put(*store, 2));
    ASSERT_TRUE(StoreCase::put(*store, 0));
    ASSERT_TRUE(StoreCase::put(*store, 2)) << "again";
    EXPECT_EQ(store->arrival(0, at_once()), 2U);
    EXPECT_EQ(store->arrival(1, at_once()), 0U);
    EXPECT_EQ(store->arrival(2, at_once()), std::nullopt);
    EXPECT_EQ(store->held_bytes(), kLeastChunk + 12);
    ChunkBuffer buffer;
    ASSERT_TRUE(store->read(2, buffer));
    EXPECT_EQ(buffer.view(), StoreCase::content(*store, 2));
}

TEST(stage_copy_store, who_waits_for_a_chunk_is_woken) {
    const StoreCase data;
    const auto store = data.open();
    std::optional<uint64_t> came;
    {
        const std::jthread waits(
            [&] { came = store->arrival(0, core::Deadline::after(std::chrono::seconds(60))); });
        ASSERT_TRUE(StoreCase::put(*store, 1));
    }
    EXPECT_EQ(came, 1U);
}

TEST(stage_copy_store, what_the_disk_gives_back_otherwise_is_not_handed_on) {
    const StoreCase data;
    const auto store = data.open();
    ASSERT_TRUE(StoreCase::put(*store, 0));
    std::fstream(data.work(*store) / "0", std::ios::in | std::ios::out | std::ios::binary).put('?');
    ChunkBuffer buffer;
    const auto read = store->read(0, buffer);
    ASSERT_FALSE(read);
    EXPECT_THAT(read.error().message(), HasSubstr("reads back as something else"));
}

TEST(stage_copy_store, the_state_on_the_disk_is_of_what_was_brought_there) {
    const StoreCase data;
    const auto store = data.open();
    ASSERT_TRUE(StoreCase::put(*store, 1));
    ASSERT_TRUE(store->checkpoint());
    ASSERT_TRUE(StoreCase::put(*store, 0));
    const auto state =
        decode_state(core::read_file(data.work(*store) / kStateName).value(), store->digest(), 3);
    ASSERT_TRUE(state);
    EXPECT_TRUE(state->has(1));
    EXPECT_FALSE(state->has(0));
}

TEST(stage_copy_store, goes_on_from_the_chunks_whose_checksums_hold) {
    const StoreCase data;
    {
        const auto store = data.open();
        for (const uint64_t chunk : {0, 1, 2}) ASSERT_TRUE(StoreCase::put(*store, chunk));
        ASSERT_TRUE(store->checkpoint());
        std::fstream part(data.work(*store) / "0", std::ios::in | std::ios::out | std::ios::binary);
        part.seekp(kLeastChunk + 1);
        part.put('?');
    }
    const auto store = data.open();
    EXPECT_EQ(store->resumed_chunks(), 2U);
    EXPECT_FALSE(store->has(1));
}

TEST(stage_copy_store, a_name_that_somebody_else_has_taken_meanwhile_stays_theirs) {
    const StoreCase data;
    const auto store = data.open();
    for (const uint64_t chunk : {0, 1, 2}) ASSERT_TRUE(StoreCase::put(*store, chunk));
    std::ofstream(data.destination() / "b") << "theirs";
    const auto published = store->publish();
    ASSERT_FALSE(published);
    EXPECT_THAT(published.error().message(), HasSubstr("is there already"));
    EXPECT_EQ(core::read_file(data.destination() / "b").value(), "theirs");
    EXPECT_FALSE(std::filesystem::exists(data.destination() / kCopyPrefix));
}

TEST(stage_copy_store, between_the_first_name_and_the_last_it_can_go_on_too) {
    const StoreCase data;
    {
        const auto store = data.open();
        for (const uint64_t chunk : {0, 1, 2}) ASSERT_TRUE(StoreCase::put(*store, chunk));
        std::ofstream(data.destination() / "b") << "theirs";
        ASSERT_FALSE(store->publish());
        ASSERT_TRUE(std::filesystem::exists(data.destination() / "a/x"));
        std::filesystem::remove(data.destination() / "b");
    }
    const auto store = data.open();
    EXPECT_TRUE(store->is_complete());
    const auto published = store->publish();
    ASSERT_TRUE(published) << published.error().message();
    EXPECT_EQ(core::read_file(data.destination() / "b").value().size(), 7U);
    EXPECT_FALSE(std::filesystem::exists(data.work(*store)));
    ChunkBuffer buffer;
    EXPECT_TRUE(store->read(2, buffer)) << "who comes later takes it from the files";
}

TEST(stage_copy_store, a_part_that_vanished_is_not_given_a_name) {
    const StoreCase data;
    const auto store = data.open();
    for (const uint64_t chunk : {0, 1, 2}) ASSERT_TRUE(StoreCase::put(*store, chunk));
    ASSERT_TRUE(store->checkpoint());
    std::filesystem::resize_file(data.work(*store) / "0", 3);
    const auto published = store->publish();
    ASSERT_FALSE(published);
    EXPECT_THAT(published.error().message(), HasSubstr("removed or changed meanwhile"));
    EXPECT_FALSE(std::filesystem::exists(data.destination() / "a"));
}

TEST(stage_copy_store, times_that_are_kept_to_the_second_are_the_same) {
    EXPECT_TRUE(is_same_time(5'000'000'001, 5'000'000'001));
    EXPECT_TRUE(is_same_time(5'000'000'000, 5'999'999'999));
    EXPECT_FALSE(is_same_time(5'000'000'001, 5'000'000'002));
    EXPECT_FALSE(is_same_time(6'000'000'000, 5'999'999'999));
}

TEST(stage_copy_store, only_directories_of_a_copy_to_the_same_target_are_taken_for_it) {
    const auto digest = core::sha256("a plan");
    EXPECT_TRUE(is_work_name(work_name("x", digest), "x"));
    EXPECT_FALSE(is_work_name(work_name("x", digest), ""));
    EXPECT_FALSE(is_work_name(kCopyPrefix, ""));
    EXPECT_FALSE(is_work_name(work_name("x", digest) + "0", "x"));
}

}  // namespace
}  // namespace belay::stage
