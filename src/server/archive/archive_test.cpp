#include "core/file_lock.h"
#include "record/archive/database.h"
#include "server/archive/archive_rows.h"
#include "server/archive/archiver.h"
#include "server/packed/history_testing.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <iterator>
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
using namespace testing;  // NOLINT(google-build-using-namespace): of packed
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// 2023-11-15T00:00:00Z
const core::Time kMidnight = core::time_from_nanoseconds(1'700'006'400'000'000'000);

class ArchivePlace : public HistoryPlace {
  public:
    ArchivePlace() : belayd_(*this, "a", {.file_bytes = 30'000}) {}

    Belayd& belayd() { return belayd_; }
    fs::path archive() const { return directory.path() / "archive"; }
    Archiver archiver() {
        auto opened = Archiver::open(archive(), *belayd_.history, {}, clock);
        EXPECT_TRUE(opened) << opened.error().message();
        return std::move(*opened);
    }
    // Uploads all of a stream, and packs it.
    void take(const MadeStream& stream) {
        belayd_.accept(stream.piece(1, stream.end()));
        belayd_.open();
        belayd_.pack_all();
        clock.advance(std::chrono::seconds(1));
    }
    // Runs until nothing is left; the parts that were written.
    std::vector<ArchivedPart> run_all() {
        std::vector<ArchivedPart> parts;
        constexpr int kMostRounds = 100;
        for (int i = 0; i < kMostRounds; ++i) {
            auto round = archiver().run(true);
            EXPECT_TRUE(round) << round.error().message();
            if (!round || round->packed.empty()) return parts;
            EXPECT_THAT(round->lost, IsEmpty());
            std::ranges::move(round->parts, std::back_inserter(parts));
        }
        ADD_FAILURE() << "archiving does not come to an end";
        return parts;
    }
    std::vector<std::vector<std::string>> query(const std::string& sql) const {
        auto database = record::Database::open(1).value();
        const auto result = database.query(sql);
        EXPECT_TRUE(result) << sql << ": " << result.error().message();
        std::vector<std::vector<std::string>> rows;
        if (!result) return rows;
        for (const auto& row : result->rows) {
            rows.emplace_back();
            for (const record::Value& value : row)
                rows.back().push_back(std::holds_alternative<std::string>(value) ? record::as_text(value)
                                      : std::holds_alternative<core::Time>(value)
                                          ? core::format_time(std::get<core::Time>(value))
                                          : fmt::format("{}", record::as_double(value)));
        }
        return rows;
    }
    // Of a table, as SQL names it.
    std::string files(const std::string& table) const {
        return "read_parquet('" + (archive() / ("table=" + table)).string() +
               "/*/*/*.parquet', hive_partitioning = true)";
    }
    // The numbers of all rows of a table that are in the archive.
    std::vector<std::string> numbers(const std::string& table) const {
        const std::string column(
            schema::find_table(table)->columns[number_column(*schema::find_table(table))].name);
        std::vector<std::string> numbers;
        for (const auto& row :
             query("SELECT node || ' ' || " + column + " FROM " + files(table) + " ORDER BY 1"))
            numbers.push_back(row[0]);
        return numbers;
    }

  private:
    Belayd belayd_;
};

std::vector<std::string> numbers_of(const std::vector<const MadeStream*>& streams, const std::string& table) {
    std::vector<std::string> numbers;
    for (const MadeStream* stream : streams) {
        const std::vector<RowId> rows = stream->rows();
        for (const RowId& row : rows)
            if (std::get<1>(row) == table)
                numbers.push_back(stream->session().node + " " + std::to_string(std::get<3>(row)));
    }
    std::ranges::sort(numbers);
    return numbers;
}

TEST(server_archive, any_reader_finds_the_rows_by_table_day_and_cluster) {
    ArchivePlace place;
    MadeStream first("n1", 1, kMidnight - std::chrono::seconds(20)),
        second("n2", 2, kMidnight - std::chrono::seconds(5)), third("n3", 3, kMidnight);
    second.name_cluster("alps/east 1");
    third.name_cluster("");
    for (MadeStream* stream : {&first, &second, &third}) {
        stream->add_seconds(40);
        place.take(*stream);
    }
    const auto parts = place.run_all();
    EXPECT_FALSE(parts.empty());
    for (const std::string table : {"host", "gpu", "process", "event"})
        EXPECT_EQ(place.numbers(table), numbers_of({&first, &second, &third}, table)) << table;
    const std::vector<std::string> day = {"2023-11-14", "2023-11-15"};
    EXPECT_THAT(
        place.query("SELECT DISTINCT cluster, day::VARCHAR FROM " + place.files("host") + " ORDER BY ALL"),
        ElementsAre(ElementsAre("alps/east 1", day[0]), ElementsAre("alps/east 1", day[1]),
                    ElementsAre("c1", day[0]), ElementsAre("c1", day[1]), ElementsAre("none", day[1])));
    EXPECT_THAT(place.query("SELECT count(*) FROM " + place.files("host") +
                            " WHERE day::VARCHAR <> time::DATE::VARCHAR"),
                ElementsAre(ElementsAre("0")));
    EXPECT_THAT(
        place.query("SELECT count(*) FROM " + place.files("gpu") +
                    " WHERE device LIKE 'GPU-n1-%' AND power_watts BETWEEN 0 AND 700 AND cluster = 'c1'"),
        ElementsAre(ElementsAre("80")));
    // In order of node and time, with the schema beside the columns.
    for (const ArchivedPart& part : parts) {
        EXPECT_EQ(fs::file_size(place.archive() / part.name), part.bytes);
        const std::string file = "'" + (place.archive() / part.name).string() + "'";
        const auto order =
            place.query("SELECT node, time FROM read_parquet(" + file + ", hive_partitioning = false)");
        EXPECT_EQ(order.size(), part.rows);
        EXPECT_TRUE(std::ranges::is_sorted(order));
        const auto facts = place.query("SELECT decode(value) FROM parquet_kv_metadata(" + file +
                                       ") WHERE decode(key) = 'belay'");
        EXPECT_THAT(facts, ElementsAre(ElementsAre(HasSubstr("\"unit\""))));
    }
}

TEST(server_archive, what_was_archived_is_not_archived_again) {
    ArchivePlace place;
    MadeStream stream("n1", 1, kMidnight);
    stream.add_seconds(20);
    place.take(stream);
    EXPECT_FALSE(place.run_all().empty());
    EXPECT_THAT(place.run_all(), IsEmpty());
    EXPECT_EQ(place.numbers("host"), numbers_of({&stream}, "host"));
    stream.add_seconds(10);
    place.take(stream);
    EXPECT_FALSE(place.run_all().empty()) << "what came late is in a part of its own";
    EXPECT_EQ(place.numbers("host"), numbers_of({&stream}, "host"));
    EXPECT_THAT(
        core::files_with_suffix(place.archive() / archive_directory("host", "2023-11-15", "c1"), ".parquet")
            .value(),
        SizeIs(2));
}

TEST(server_archive, a_day_is_archived_when_it_is_over_and_settled) {
    ArchivePlace place;
    MadeStream stream("n1", 1);
    stream.add_seconds(5);
    place.take(stream);
    const TimeRange day = range_of_day(place.clock.now());
    EXPECT_THAT(place.archiver().run()->packed, IsEmpty());
    place.clock.advance(day.end - place.clock.now());
    EXPECT_THAT(place.archiver().run()->packed, IsEmpty());
    place.clock.advance(std::chrono::hours(1));
    EXPECT_THAT(place.archiver().run()->packed, SizeIs(1));
}

TEST(server_archive, a_plan_that_was_begun_is_carried_out_again) {
    ArchivePlace place;
    MadeStream stream("n1", 1, kMidnight - std::chrono::seconds(10));
    stream.add_seconds(30);
    place.take(stream);
    const auto parts = place.run_all();
    ASSERT_GT(parts.size(), 4U);
    const ArchiveState done =
        decode_archive_state(core::read_file(place.archive() / "state").value()).value();
    EXPECT_EQ(done.plan, 2U);
    const ArchiveState pending{.plan = 1, .pending = done.archived, .archived = {}};
    std::mt19937_64 random(5);
    for (int round = 0; round < 8; ++round) {
        // As after a kill: some parts are there, others not. And more was packed since.
        for (const ArchivedPart& part : parts)
            if (random() % 2 == 0) fs::remove(place.archive() / part.name);
        std::ofstream(place.archive() / "state") << encode_archive_state(pending);
        EXPECT_FALSE(place.run_all().empty());
        EXPECT_EQ(place.numbers("host"), numbers_of({&stream}, "host"));
        EXPECT_EQ(place.numbers("gpu"), numbers_of({&stream}, "gpu"));
    }
}

TEST(server_archive, kills_at_any_moment_leave_each_row_once) {
    ArchivePlace place;
    std::vector<MadeStream> streams;
    for (uint64_t i = 0; i < 5; ++i) {
        streams.emplace_back("n" + std::to_string(i), i, kMidnight - std::chrono::seconds(10));
        streams.back().add_seconds(20);
        place.take(streams.back());
    }
    std::mt19937_64 random(8);
    int ended = 0;
    for (int round = 0; round < 40 && ended == 0; ++round) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            for (;;) {
                auto archiver = Archiver::open(place.archive(), *place.belayd().history, {}, place.clock);
                if (!archiver) _exit(2);
                const auto done = archiver->run(true);
                if (!done) _exit(3);
                if (done->packed.empty()) _exit(0);
            }
        }
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 120'000));
        kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        if (WIFEXITED(status)) {
            ASSERT_EQ(WEXITSTATUS(status), 0);
            ++ended;
        }
    }
    place.run_all();
    std::vector<const MadeStream*> all;
    for (const MadeStream& stream : streams) all.push_back(&stream);
    for (const std::string table : {"host", "gpu", "process", "event"})
        EXPECT_EQ(place.numbers(table), numbers_of(all, table)) << table;
}

TEST(server_archive, retention_waits_for_the_archive) {
    ArchivePlace place;
    MadeStream stream("n1", 1);
    stream.add_seconds(5);
    place.take(stream);
    place.clock.advance(std::chrono::hours(24 * 20));
    const Held before = place.archiver().held().value();
    EXPECT_THAT(place.belayd().history->retain(before)->plan.removed, IsEmpty());
    place.run_all();
    const Held after = place.archiver().held().value();
    EXPECT_THAT(place.belayd().history->retain(after)->plan.removed, SizeIs(1));
    EXPECT_EQ(place.numbers("host"), numbers_of({&stream}, "host"));
    place.run_all();
    stream.add_seconds(5);
    place.take(stream);
    place.run_all();
    EXPECT_EQ(place.numbers("host"), numbers_of({&stream}, "host"));
}

TEST(server_archive, one_archives_at_a_time) {
    ArchivePlace place;
    Archiver archiver = place.archiver();
    const auto directory = core::Directory::open(place.archive()).value();
    const auto file = directory.open_file("archive.lock", O_RDWR | O_CREAT).value();
    const auto lock = core::FileLock::try_acquire(file.get(), directory, "archive.lease").value();
    ASSERT_TRUE(lock);
    EXPECT_TRUE(archiver.run()->is_busy);
}

TEST(server_archive, damage_is_told_and_costs_a_part) {
    ArchivePlace place;
    MadeStream stream("n1", 1);
    stream.add_seconds(30);
    place.take(stream);
    std::string name;
    for (const PackedFile& file : place.belayd().history->catalog()->files)
        if (file.tier == Tier::kRaw) name = file.name;
    const auto reader = PackedReader::open(place.belayd().history->directory(), name, Tier::kRaw).value();
    const std::vector<PackedPart> parts = reader->index().parts(0).value();
    std::string bytes = core::read_file(place.packed() / name).value();
    for (const PackedPart& part : parts)
        if (reader->table_of(part) == &schema::kGpu) bytes[part.end() - 1] ^= 1;
    std::ofstream(place.packed() / name) << bytes;
    place.belayd().open();
    const auto round = place.archiver().run(true);
    ASSERT_TRUE(round) << round.error().message();
    EXPECT_FALSE(round->lost.empty());
    EXPECT_EQ(place.numbers("host"), numbers_of({&stream}, "host"));
    EXPECT_FALSE(fs::exists(place.archive() / "table=gpu"));
}

TEST(server_archive, times_of_wrong_clocks_make_days_of_their_own_and_no_others) {
    ArchivePlace place;
    MadeStream now("n1", 1, kMidnight),
        past("n1", 2, core::time_from_nanoseconds(-5'000'000'000), "recorder"),
        future("n1", 3, kMidnight + std::chrono::hours(24 * 365 * 100), "recorder-t1");
    for (MadeStream* stream : {&now, &past, &future}) {
        stream->add_seconds(10);
        place.take(*stream);
    }
    place.run_all();
    EXPECT_THAT(place.query("SELECT DISTINCT day::VARCHAR FROM " + place.files("host") + " ORDER BY 1"),
                ElementsAre(ElementsAre("1969-12-31"), ElementsAre("1970-01-01"), ElementsAre("2023-11-15"),
                            ElementsAre("2123-10-22")));
    EXPECT_EQ(place.numbers("gpu"), numbers_of({&now, &past, &future}, "gpu"));
}

TEST(server_archive, a_state_is_what_was_written_and_damage_is_refused) {
    const ArchiveState state{.plan = 7, .pending = {"a", "b"}, .archived = {"c"}};
    const std::string text = encode_archive_state(state);
    EXPECT_EQ(decode_archive_state(text).value(), state);
    for (size_t i = 0; i < text.size(); ++i) {
        std::string damaged = text;
        damaged[i] = static_cast<char>(damaged[i] ^ 2);
        EXPECT_FALSE(decode_archive_state(damaged)) << i;
        EXPECT_FALSE(decode_archive_state(text.substr(0, i))) << i;
    }
    ArchivePlace place;
    fs::create_directory(place.archive());
    fs::permissions(place.archive(), fs::perms::owner_all);
    std::ofstream(place.archive() / "state") << "x";
    const auto refused = Archiver::open(place.archive(), *place.belayd().history, {}, place.clock);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), core::ErrorKind::kBadInput);
}

TEST(server_archive, names_of_clusters_stay_within_their_directory) {
    EXPECT_EQ(archive_cluster("alps-1.x_Y", "none"), "alps-1.x_Y");
    EXPECT_EQ(archive_cluster("../a=b", "none"), "..%2Fa%3Db");
    EXPECT_EQ(archive_cluster("", "none"), "none");
    EXPECT_EQ(archive_directory("host", "2026-03-01", "a"), "table=host/day=2026-03-01/cluster=a");
}

}  // namespace
}  // namespace belay::server
