// What may happen while things are packed, merged and removed: kills, other packers, damage of catalogs.
#include "server/packed/history.h"
#include "server/packed/history_testing.h"

#include <array>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

namespace fs = std::filesystem;
using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr size_t kPieces = 400;

// Uploads piece after piece and packs all the time, until it is killed; says of each piece that it was acknowledged.
[[noreturn]] void upload_and_pack_for_ever(HistoryPlace& place, const std::vector<std::string>& pieces,
                                           size_t from, int acknowledged) {
    auto intake = Intake::open(place.logs(), "a", {.file_bytes = 6'000}, place.clock);
    if (!intake) _exit(1);
    HistoryOptions options;
    options.merge.minute = std::chrono::minutes(1);
    auto history = History::open(place.packed(), **intake, options, place.clock);
    if (!history) _exit(2);
    for (size_t i = from; i < pieces.size(); ++i) {
        if (!(*intake)->accept(pieces[i])) _exit(3);
        if (write(acknowledged, &i, sizeof i) != sizeof i) _exit(4);
        if (i % 3 == 0 && !(*history)->pack(true)) _exit(5);
        if (i % 20 == 0 && !(*history)->merge()) _exit(6);
        place.clock.advance(std::chrono::seconds(30));
    }
    for (;;)
        if (!(*history)->pack(true)) _exit(7);
}

TEST(server_packed, kills_at_any_moment_lose_nothing_and_give_nothing_twice) {
    std::mt19937_64 random(11);
    HistoryPlace place;
    MadeStream stream("n1", 9);
    std::vector<std::string> pieces;
    std::vector<std::vector<RowId>> rows;
    for (size_t i = 0; i < kPieces; ++i) {
        const uint64_t from = stream.end();
        stream.add_seconds(1);
        pieces.push_back(stream.piece(from, stream.end()));
        rows.push_back(stream.rows(from, stream.end()));
    }
    size_t next = 0;
    for (int round = 0; round < 25; ++round) {
        std::array<int, 2> pipe{};
        ASSERT_EQ(pipe2(pipe.data(), O_CLOEXEC), 0);
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) upload_and_pack_for_ever(place, pieces, next, pipe[1]);
        close(pipe[1]);
        size_t acknowledged = 0;
        for (uint64_t i = 1 + random() % 12; i > 0; --i)
            if (read(pipe[0], &acknowledged, sizeof acknowledged) == sizeof acknowledged)
                next = acknowledged + 1;
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
        kill(child, SIGKILL);
        while (read(pipe[0], &acknowledged, sizeof acknowledged) == sizeof acknowledged)
            next = acknowledged + 1;
        close(pipe[0]);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);

        Belayd belayd(place);
        const std::vector<RowId> found = belayd.rows();
        ASSERT_EQ(std::set<RowId>(found.begin(), found.end()).size(), found.size())
            << "twice, round " << round;
        std::vector<RowId> expected;
        // The next piece may have been stored before it could be acknowledged.
        for (size_t i = 0; i < next; ++i) std::ranges::copy(rows[i], std::back_inserter(expected));
        expected = sorted(std::move(expected));
        std::vector<RowId> with_next = expected;
        if (next < rows.size()) std::ranges::copy(rows[next], std::back_inserter(with_next));
        with_next = sorted(std::move(with_next));
        ASSERT_TRUE(found == expected || found == with_next)
            << "round " << round << ": " << found.size() << " rows of " << expected.size();
        belayd.pack_all();
        ASSERT_EQ(belayd.rows(), found);
        EXPECT_THAT(place.log_files(), IsEmpty());
        // Nothing is left over but what the catalog names.
        ASSERT_TRUE(belayd.history->pack());
        EXPECT_EQ(place.packed_files().size(), belayd.history->catalog()->files.size());
        place.clock.advance(std::chrono::minutes(2));
    }
    EXPECT_GT(next, 25U);
}

TEST(server_packed, logs_that_could_not_be_removed_are_not_read_again) {
    HistoryPlace place;
    Belayd belayd(place, "a", {.file_bytes = 5'000});
    MadeStream stream("n1", 9);
    for (int i = 0; i < 10; ++i) {
        stream.add_seconds(2);
        belayd.accept(stream.piece(1, stream.end()));
    }
    const std::vector<RowId> all = sorted(stream.rows());
    std::map<fs::path, std::string> logs;
    for (const fs::path& log : place.log_files()) logs[log] = core::read_file(log).value();
    belayd.open();
    belayd.pack_all();
    EXPECT_THAT(place.log_files(), IsEmpty());
    // As if it had been killed between the two.
    const std::map<std::string, uint64_t> last = belayd.history->catalog()->packed_logs;
    ASSERT_THAT(last, Not(IsEmpty()));
    for (const auto& [path, bytes] : logs)
        if (last.contains(path.filename().string())) std::ofstream(path) << bytes;
    belayd.open();
    EXPECT_EQ(belayd.rows(), all);
    Belayd other(place, "b");
    EXPECT_EQ(other.rows(), all);
    ASSERT_TRUE(other.history->pack());
    EXPECT_THAT(place.log_files(), IsEmpty()) << "they went with the next round";
    EXPECT_EQ(belayd.rows(), all);
}

// `is_locked`: by the lock in the directory; else nothing keeps them apart but the numbers of catalogs.
void pack_at_once(bool is_locked) {
    HistoryPlace place;
    HistoryOptions options;
    if (!is_locked) options.lease = [] { return core::Result<Lease>(std::make_shared<int>(0)); };
    options.idle = std::chrono::hours(0);
    Belayd one(place, "a", {.file_bytes = 5'000}, options), two(place, "b", {.file_bytes = 5'000}, options);
    std::vector<MadeStream> streams;
    std::vector<RowId> all;
    for (uint64_t i = 0; i < 4; ++i) {
        streams.emplace_back("n" + std::to_string(i), i);
        streams.back().add_seconds(40);
        std::ranges::copy(streams.back().rows(), std::back_inserter(all));
    }
    all = sorted(std::move(all));
    for (const MadeStream& stream : streams)
        for (uint64_t block = 1; block < stream.end(); ++block)
            (block % 2 == 0 ? one : two).accept(stream.piece(block, block + 1));
    one.open();
    two.open();
    std::atomic<int> busy = 0;
    std::vector<std::thread> packers;
    for (Belayd* belayd : {&one, &two})
        packers.emplace_back([&, belayd] {
            for (int i = 0; i < 60; ++i) {
                const auto round = belayd->history->pack(true);
                if (!round) {
                    ADD_FAILURE() << round.error().message();
                } else if (round->is_busy) {
                    ++busy;
                }
            }
        });
    std::vector<RowId> read;
    for (int i = 0; i < 10; ++i) {
        // A reader in the midst of it.
        read = one.rows();
        EXPECT_EQ(read, all);
    }
    for (std::thread& packer : packers) packer.join();
    one.pack_all();
    two.pack_all();
    for (Belayd* belayd : {&one, &two}) {
        ASSERT_TRUE(belayd->history->look());
        EXPECT_EQ(belayd->rows(), all);
    }
    EXPECT_THAT(place.log_files(), IsEmpty());
    std::set<std::string> names;
    for (const PackedFile& file : one.history->catalog()->files) names.insert(file.name);
    for (const fs::path& file : place.packed_files())
        EXPECT_TRUE(names.contains(file.filename().string())) << "left over: " << file;
}

TEST(server_packed, two_packers_at_once_share_the_work) {
    pack_at_once(true);
}

TEST(server_packed, two_packers_without_a_lock_do_no_harm) {
    pack_at_once(false);
}

TEST(server_packed, a_lease_that_another_has_keeps_everything_as_it_is) {
    HistoryPlace place;
    HistoryOptions options;
    bool is_ours = false;
    options.lease = [&] { return core::Result<Lease>(is_ours ? std::make_shared<int>(0) : Lease()); };
    Belayd belayd(place, "a", {.file_bytes = 10}, options);
    MadeStream stream("n1", 1);
    stream.add_seconds(3);
    belayd.accept(stream.piece(1, stream.end()));
    belayd.open();
    EXPECT_TRUE(belayd.history->pack(true)->is_busy);
    EXPECT_TRUE(belayd.history->merge()->is_busy);
    EXPECT_TRUE(belayd.history->retain()->is_busy);
    EXPECT_THAT(place.packed_files(), IsEmpty());
    is_ours = true;
    EXPECT_THAT(belayd.history->pack(true)->logs, SizeIs(1));
}

TEST(server_packed, logs_of_another_belayd_are_packed_when_it_is_gone) {
    HistoryPlace place;
    Belayd one(place, "a");
    auto two = std::make_unique<Belayd>(place, "b");
    MadeStream stream("n1", 1);
    stream.add_seconds(3);
    two->accept(stream.piece(1, stream.end()));
    place.clock.advance(std::chrono::hours(2));
    EXPECT_EQ(one.pack_all(), 0U) << "it is at work";
    two.reset();
    EXPECT_EQ(one.pack_all(), 1U);
    EXPECT_EQ(one.rows(), sorted(stream.rows()));
    EXPECT_TRUE(Intake::open(place.logs(), "b", {}, place.clock)) << "and may come again";
}

TEST(server_packed, a_damaged_catalog_is_made_good_by_the_files) {
    std::mt19937_64 random(2);
    HistoryPlace place;
    HistoryOptions options;
    options.merge.minute = std::chrono::minutes(10);
    Belayd belayd(place, "a", {.file_bytes = 4'000}, options);
    MadeStream stream("n1", 9);
    for (int i = 0; i < 12; ++i) {
        const uint64_t from = stream.end();
        stream.add_seconds(2);
        belayd.accept(stream.piece(from, stream.end()));
        if (i % 4 == 3) belayd.pack_all();
        if (i % 4 == 3) place.clock.advance(std::chrono::minutes(12));
    }
    place.clock.advance(std::chrono::hours(2));
    belayd.open();
    belayd.pack_all();
    ASSERT_TRUE(belayd.history->merge());
    const std::vector<RowId> all = sorted(stream.rows());
    ASSERT_EQ(belayd.rows(), all);
    const auto catalogs = core::files_with_suffix(place.packed(), ".catalog").value();
    ASSERT_GE(catalogs.size(), 2U);
    const std::string bytes = core::read_file(catalogs.back()).value();
    const auto blocks = belayd.history->catalog()->streams;
    for (int i = 0; i < 30; ++i) {
        std::string damaged = bytes;
        if (i % 3 == 0)
            damaged.resize(random() % damaged.size());
        else
            damaged[random() % damaged.size()] ^= static_cast<char>(1 + random() % 255);
        std::ofstream(catalogs.back()) << damaged;
        belayd.open();
        EXPECT_THAT(belayd.history->lost(), SizeIs(1));
        ASSERT_EQ(belayd.rows(), all) << i;
        EXPECT_EQ(belayd.accept(stream.piece(1, stream.end())).new_blocks, 0U);
    }
    for (const fs::path& catalog : catalogs) std::ofstream(catalog) << "?";
    belayd.open();
    EXPECT_EQ(belayd.rows(), all) << "without any catalog";
    for (const auto& [id, packed] : blocks)
        EXPECT_EQ(belayd.history->catalog()->streams.at(id).blocks, packed.blocks);
    const uint64_t from = stream.end();
    stream.add_seconds(2);
    belayd.accept(stream.piece(from, stream.end()));
    belayd.open();
    belayd.pack_all();
    EXPECT_EQ(belayd.rows(), sorted(stream.rows())) << "the next one is whole again";
    belayd.open();
    EXPECT_THAT(belayd.history->lost(), IsEmpty());
    EXPECT_EQ(belayd.rows(), sorted(stream.rows()));
}

TEST(server_packed, what_is_too_old_goes_and_stays_known) {
    HistoryPlace place;
    HistoryOptions options;
    options.keep = {.raw = std::chrono::hours(24), .ten_seconds = std::chrono::hours(48)};
    Belayd belayd(place, "a", {.file_bytes = 10}, options);
    MadeStream stream("n1", 1);
    stream.add_seconds(30);
    belayd.accept(stream.piece(1, stream.end()));
    belayd.open();
    belayd.pack_all();
    EXPECT_THAT(belayd.history->retain()->plan.removed, IsEmpty());
    place.clock.advance(std::chrono::hours(25));
    bool is_held = true;
    const Held held = [&](const PackedFile& file) {
        EXPECT_EQ(file.tier, Tier::kRaw);
        EXPECT_TRUE(file.has_rows());
        return is_held;
    };
    const auto kept = belayd.history->retain(held);
    ASSERT_TRUE(kept);
    EXPECT_THAT(kept->plan.removed, IsEmpty());
    EXPECT_THAT(kept->plan.held, SizeIs(1));
    EXPECT_EQ(belayd.rows(), sorted(stream.rows()));
    is_held = false;
    const auto gone = belayd.history->retain(held);
    ASSERT_TRUE(gone);
    EXPECT_THAT(gone->plan.removed, SizeIs(1));
    EXPECT_THAT(belayd.rows(), IsEmpty());
    EXPECT_THAT(place.packed_files(), SizeIs(2)) << "the spans";
    belayd.open();
    EXPECT_EQ(belayd.accept(stream.piece(1, stream.end())).new_blocks, 0U);
    size_t spans = 0;
    ASSERT_TRUE(belayd.history->read_spans(
        {.table = &schema::kHost, .nodes = {}, .range = {}, .resolution = Tier::kTenSeconds},
        [&](const SpanSeries& series) -> core::Result<> {
            spans += series.spans.size();
            return {};
        }));
    EXPECT_GT(spans, 0U);
}

}  // namespace
}  // namespace belay::server
