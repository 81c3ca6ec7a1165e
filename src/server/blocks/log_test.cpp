#include "core/file.h"
#include "server/blocks/log_walk.h"
#include "server/blocks/log_writer.h"
#include "server/blocks/testing.h"

#include <fcntl.h>
#include <fstream>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using namespace testing;  // NOLINT(google-build-using-namespace): of this folder

class Log {
  public:
    explicit Log(const LogLimits& limits = {}) : clock_(kBegan) {
        writer = LogWriter::open(core::Directory::open(place_.path()).value(), "a", limits, clock_).value();
    }
    core::Result<LogPlace> append(std::string_view bytes, const std::string& node = "n1") {
        const std::string head = "head of " + node;
        return writer->append(
            {.stream = session_of(node).stream(), .head = head, .bytes = bytes, .blocks = {1, 2}},
            [] { return "streams"; });
    }
    std::vector<fs::path> files() const { return core::files_with_suffix(place_.path(), ".blk").value(); }
    core::ManualClock& clock() { return clock_; }

    std::unique_ptr<LogWriter> writer;

  private:
    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("block_log_test").value();
    core::ManualClock clock_;
};

struct Walked {
    std::vector<std::string> records;  // "KIND BODY"
    std::vector<LogDamage> damage;
    uint64_t end = 0;
};
Walked walk(std::string_view bytes) {
    Walked walked;
    LogWalk walk{stream::SegmentBytes(bytes)};
    for (;;) {
        const auto record = walk.next();
        if (!record || !*record) break;
        walked.records.push_back(std::to_string((*record)->header.kind) + " " + std::string((*record)->body));
    }
    walked.damage = walk.damage();
    walked.end = walk.end();
    return walked;
}
std::string bytes_of(const fs::path& path) {
    return core::read_file(path).value();
}

TEST(server_blocks, a_header_of_a_record_is_what_was_written) {
    const RecordHeader header{.kind = kBlocksRecord,
                              .session = 7,
                              .body_bytes = 99,
                              .blocks = {1ULL << 40, (1ULL << 40) + 3},
                              .first_time = kBegan,
                              .last_time = core::Time::min(),
                              .arrived = core::Time::max(),
                              .body_crc = 0xDEADBEEF};
    const auto bytes = encode_record_header(header);
    const std::string_view view(bytes.data(), bytes.size());
    const auto read = decode_record_header(view);
    ASSERT_TRUE(read);
    EXPECT_EQ(encode_record_header(*read), bytes);
    EXPECT_EQ(read->blocks, header.blocks);
    EXPECT_EQ(read->last_time, header.last_time);
    for (size_t i = 0; i < bytes.size(); ++i) {
        std::string damaged(view);
        damaged[i] = static_cast<char>(damaged[i] ^ 1);
        EXPECT_FALSE(decode_record_header(damaged)) << i;
    }
}

TEST(server_blocks, a_file_begins_with_the_streams_and_states_each_session_once) {
    Log log;
    EXPECT_THAT(log.files(), IsEmpty()) << "nothing is made before something is stored";
    const auto first = log.append("one"), second = log.append("two"), third = log.append("three", "n2");
    ASSERT_TRUE(first && second && third);
    EXPECT_EQ(first->head_at, second->head_at);
    ASSERT_TRUE(log.writer->sync(third->ticket));
    ASSERT_THAT(log.files(), SizeIs(1));
    const std::string bytes = bytes_of(log.files()[0]);
    EXPECT_THAT(walk(bytes).records,
                ElementsAre("1 streams", "2 head of n1", "3 one", "3 two", "2 head of n2", "3 three"));
    EXPECT_EQ(bytes.substr(second->at, 3), "two");
    EXPECT_EQ(bytes.substr(third->head_at, third->head_bytes), "head of n2");
}

TEST(server_blocks, the_next_file_begins_after_a_time_and_at_a_size) {
    Log log({.file_bytes = 1000, .file_time = std::chrono::minutes(10)});
    ASSERT_TRUE(log.append("one"));
    ASSERT_TRUE(log.append(std::string(1000, 'x')));
    ASSERT_TRUE(log.append("two")) << "by the same clock, and so by a name that is taken";
    EXPECT_THAT(log.files(), SizeIs(2));
    log.clock().advance(std::chrono::minutes(10));
    ASSERT_TRUE(log.append("three"));
    ASSERT_THAT(log.files(), SizeIs(3));
    EXPECT_THAT(walk(bytes_of(log.files()[2])).records, ElementsAre("1 streams", "2 head of n1", "3 three"));
    for (const fs::path& file : log.files()) EXPECT_TRUE(is_log_file_name(file.filename().string())) << file;
}

TEST(server_blocks, what_was_cut_off_or_damaged_costs_one_record) {
    Log log;
    for (const char* body : {"one", "two", "three"}) ASSERT_TRUE(log.append(body));
    const std::string bytes = bytes_of(log.files()[0]);
    const Walked whole = walk(bytes);
    ASSERT_THAT(whole.records, SizeIs(5));
    EXPECT_THAT(whole.damage, IsEmpty());
    EXPECT_EQ(whole.end, bytes.size());
    for (size_t size = 0; size < bytes.size(); ++size) {
        const Walked cut = walk(std::string_view(bytes).substr(0, size));
        EXPECT_LT(cut.records.size(), whole.records.size());
        EXPECT_LE(cut.end, size);
        EXPECT_TRUE(std::equal(cut.records.begin(), cut.records.end(), whole.records.begin()));
    }
    for (size_t at = kLogHeaderBytes; at < bytes.size(); ++at) {
        std::string damaged = bytes;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
        const Walked walked = walk(damaged);
        EXPECT_THAT(walked.records, SizeIs(whole.records.size() - 1)) << at;
        EXPECT_THAT(walked.damage, SizeIs(1)) << at;
    }
}

TEST(server_blocks, any_bytes_are_safe_to_walk) {
    std::mt19937_64 random(5);
    Log log;
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(log.append(std::string(random() % 300, 'b')));
    const std::string bytes = bytes_of(log.files()[0]);
    for (int round = 0; round < 2000; ++round) {
        std::string damaged = bytes.substr(random() % bytes.size());
        for (uint64_t i = random() % 10; i > 0; --i)
            damaged[random() % damaged.size()] = static_cast<char>(random());
        EXPECT_LE(walk(damaged).records.size(), 22U);
    }
}

TEST(server_blocks, threads_that_wait_for_the_disk_share_a_sync) {
    Log log({.file_bytes = 4096});
    std::mutex appending;
    std::vector<std::thread> threads;
    std::atomic<int> synced = 0;
    for (int i = 0; i < 8; ++i)
        threads.emplace_back([&] {
            for (int j = 0; j < 50; ++j) {
                uint64_t ticket = 0;
                {
                    const std::lock_guard lock(appending);
                    const auto place = log.append(std::string(100, 'x'));
                    if (!place) return;
                    ticket = place->ticket;
                }
                if (log.writer->sync(ticket)) ++synced;
            }
        });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(synced, 400);
    size_t records = 0;
    for (const fs::path& file : log.files())
        for (const std::string& record : walk(bytes_of(file)).records)
            records += record.starts_with("3 ") ? 1 : 0;
    EXPECT_EQ(records, 400U);
}

TEST(server_blocks, a_name_that_could_leave_the_directory_is_not_taken) {
    for (const char* name : {"", "../a", "a/b", "a-b", "a b"})
        EXPECT_FALSE(LogWriter::open(core::Directory::open("/").value(), name, {})) << name;
}

}  // namespace
}  // namespace belay::server
