#include "core/directory.h"
#include "core/file.h"
#include "server/packed/packed_reader.h"
#include "server/packed/packed_writer.h"
#include "server/packed/row_order.h"
#include "server/packed/sampled_table.h"
#include "server/packed/testing.h"

#include <algorithm>
#include <fcntl.h>
#include <iterator>
#include <random>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::MadeStream;
using testing::RowId;
using ::testing::SizeIs;

struct MadeFile {
    std::string bytes;
    std::vector<RowId> rows;
    WrittenPacked written;
};

// A file with streams of some nodes, whose rows are all that they made.
MadeFile file_of(int nodes, int seconds, const PackedLimits& limits = {}) {
    const auto place = core::TemporaryDirectory::create("packed_file_test").value();
    const auto directory = core::Directory::open(place.path()).value();
    const auto file = directory.open_file("file", O_RDWR | O_CREAT).value();
    MadeFile made;
    const PackedFacts facts{.tier = Tier::kRaw,
                            .writer = "a",
                            .logs = {"1.blk", "2.blk"},
                            .arrived_from = testing::kPackedBegan,
                            .arrived_until = testing::kPackedBegan + std::chrono::seconds(seconds)};
    auto writer = PackedWriter::begin(file.get(), "file", facts, limits).value();
    for (int node = 0; node < nodes; ++node) {
        MadeStream stream("n" + std::to_string(node), static_cast<uint64_t>(node));
        stream.add_seconds(seconds);
        BlockRuns blocks;
        blocks.add({0, stream.end()});
        EXPECT_TRUE(writer.begin_stream({.session = stream.session(), .blocks = blocks}));
        for (const stream::Batch& batch : stream.samples) {
            const SampledTable* sampled = sampled_table(batch.table());
            EXPECT_TRUE(writer.add_rows(
                batch, things_of(batch, sampled != nullptr ? sampled->keys : std::vector<size_t>())));
        }
        std::ranges::copy(stream.rows(), std::back_inserter(made.rows));
    }
    made.written = writer.finish().value();
    made.bytes = core::read_file(place.path() / "file").value();
    std::ranges::sort(made.rows);
    return made;
}

struct ReadFile {
    std::vector<RowId> rows;
    size_t damaged_parts = 0;
};

ReadFile read_all(const PackedReader& reader) {
    ReadFile read;
    for (size_t number = 0; number < reader.index().streams(); ++number) {
        const auto stream = reader.index().stream(number);
        const auto parts = reader.index().parts(number);
        if (!stream || !parts) {
            ++read.damaged_parts;
            continue;
        }
        const std::string id = stream->session.node + "/" + stream->session.source + "/" +
                               std::to_string(core::to_nanoseconds(stream->session.began));
        for (const PackedPart& part : *parts) {
            const schema::Table* table = reader.table_of(part);
            if (table == nullptr) continue;
            stream::Batch rows(*table);
            if (!reader.read_rows(part, WantedColumns::all(), rows)) {
                ++read.damaged_parts;
                continue;
            }
            EXPECT_EQ(rows.rows(), part.rows);
            for (size_t row = 0; row < rows.rows(); ++row) {
                const int64_t time = time_of(rows, row);
                EXPECT_GE(time, core::to_nanoseconds(part.first_time));
                EXPECT_LE(time, core::to_nanoseconds(part.last_time));
                read.rows.emplace_back(id, std::string(table->name), time,
                                       rows.values(testing::number_column(*table)).integers[row]);
            }
        }
    }
    std::ranges::sort(read.rows);
    return read;
}

// Of all streams.
std::vector<PackedPart> parts_of(const PackedReader& reader) {
    std::vector<PackedPart> all;
    for (size_t stream = 0; stream < reader.index().streams(); ++stream) {
        const std::vector<PackedPart> parts = reader.index().parts(stream).value();
        all.insert(all.end(), parts.begin(), parts.end());
    }
    return all;
}

std::shared_ptr<const PackedReader> opened(const std::string& bytes) {
    auto reader = PackedReader::of_bytes(bytes, "file", Tier::kRaw);
    EXPECT_TRUE(reader) << reader.error().message();
    return reader ? *reader : nullptr;
}

TEST(server_packed, a_file_gives_what_was_written) {
    const MadeFile made = file_of(3, 30);
    const auto reader = opened(made.bytes);
    ASSERT_TRUE(reader);
    EXPECT_THAT(reader->lost(), IsEmpty());
    EXPECT_EQ(read_all(*reader).rows, made.rows);
    EXPECT_EQ(made.written.rows, made.rows.size());
    EXPECT_EQ(made.written.bytes, made.bytes.size());
    EXPECT_EQ(reader->facts().writer, "a");
    EXPECT_THAT(reader->facts().logs, ElementsAre("1.blk", "2.blk"));
    EXPECT_THAT(reader->index().streams_of("n1"), SizeIs(1));
    EXPECT_THAT(reader->index().streams_of("n"), IsEmpty());
    const PackedStream stream = reader->index().stream(reader->index().streams_of("n2")[0]).value();
    EXPECT_EQ(stream.id(), MadeStream("n2", 0).session().stream());
    EXPECT_EQ(stream.session.interval, core::Duration(std::chrono::seconds(1)));
    EXPECT_THAT(stream.blocks.runs(), SizeIs(1));
}

TEST(server_packed, many_rows_make_several_parts_in_order_of_time) {
    PackedLimits limits;
    limits.part_rows = 50;
    const MadeFile made = file_of(1, 200, limits);
    const auto reader = opened(made.bytes);
    ASSERT_TRUE(reader);
    EXPECT_EQ(read_all(*reader).rows, made.rows);
    std::map<uint16_t, core::Time> last;
    size_t parts = 0;
    for (const PackedPart& part : parts_of(*reader)) {
        EXPECT_LE(part.rows, 50U);
        if (const auto before = last.find(part.table); before != last.end()) {
            EXPECT_LT(before->second, part.first_time) << "they do not overlap";
            ++parts;
        }
        last[part.table] = part.last_time;
    }
    EXPECT_GT(parts, 10U);
}

// What is left is a part of what was there, and nothing else.
void expect_part_of(const MadeFile& made, const ReadFile& read) {
    EXPECT_TRUE(std::ranges::includes(made.rows, read.rows));
}

TEST(server_packed, every_byte_flipped_costs_its_part_alone) {
    const MadeFile made = file_of(2, 6);
    const auto whole = opened(made.bytes);
    ASSERT_TRUE(whole);
    std::map<uint64_t, PackedPart> parts;  // by their end
    for (const PackedPart& part : parts_of(*whole)) parts[part.end()] = part;
    for (size_t i = 0; i < made.bytes.size(); ++i) {
        std::string damaged = made.bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
        const auto reader = opened(damaged);
        ASSERT_TRUE(reader) << i;
        const ReadFile read = read_all(*reader);
        expect_part_of(made, read);
        const auto hit = parts.upper_bound(i);
        const size_t lost = hit != parts.end() && i >= hit->second.at ? hit->second.rows : 0;
        ASSERT_EQ(read.rows.size(), made.rows.size() - lost) << "byte " << i;
        ASSERT_EQ(read.damaged_parts, lost > 0 ? 1U : 0U) << "byte " << i << ": what is lost is told";
        if (!reader->lost().empty()) {
            ASSERT_EQ(lost, 0U) << "byte " << i << ": of the index only";
        }
    }
}

TEST(server_packed, a_file_cut_anywhere_gives_the_parts_before) {
    const MadeFile made = file_of(2, 6);
    const auto whole = opened(made.bytes);
    ASSERT_TRUE(whole);
    const std::vector<PackedPart> parts = parts_of(*whole);
    for (size_t size = 0; size < made.bytes.size(); ++size) {
        const auto reader = opened(made.bytes.substr(0, size));
        ASSERT_TRUE(reader) << size;
        EXPECT_FALSE(reader->lost().empty()) << size << ": it is told";
        const ReadFile read = read_all(*reader);
        expect_part_of(made, read);
        size_t rows = 0;
        for (const PackedPart& part : parts)
            if (part.end() <= size) rows += part.rows;
        ASSERT_EQ(read.rows.size(), rows) << size;
    }
}

TEST(server_packed, a_damaged_file_of_any_shape_is_read_safely) {
    const MadeFile made = file_of(3, 10);
    std::mt19937_64 random(4);
    for (int round = 0; round < 300; ++round) {
        std::string damaged = made.bytes;
        for (uint64_t i = 1 + random() % 5; i > 0; --i) {
            const size_t at = random() % damaged.size();
            switch (random() % 3) {
                case 0:
                    damaged[at] = static_cast<char>(random());
                    break;
                case 1:
                    damaged.erase(at, random() % 200);
                    break;
                default:
                    damaged.insert(at, std::string(random() % 100, static_cast<char>(random())));
            }
            if (damaged.empty()) damaged = "x";
        }
        const auto reader = opened(damaged);
        ASSERT_TRUE(reader);
        expect_part_of(made, read_all(*reader));
    }
}

TEST(server_packed, a_file_of_a_newer_version_is_left_alone) {
    MadeFile made = file_of(1, 3);
    made.bytes[kPackedMagic.size()] = 9;
    made.bytes.resize(made.bytes.size() - 1);  // so that its index cannot be used
    const auto reader = PackedReader::of_bytes(made.bytes, "file", Tier::kRaw);
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().kind(), core::ErrorKind::kBadInput);
}

TEST(server_packed, an_index_is_read_at_once_and_streams_are_told_by_node) {
    const MadeFile made = file_of(12, 1);
    const auto reader = opened(made.bytes);
    ASSERT_TRUE(reader);
    std::set<std::string> nodes;
    for (size_t i = 0; i < reader->index().streams(); ++i) nodes.emplace(reader->index().node_of(i));
    EXPECT_THAT(nodes, SizeIs(12));
    for (const std::string& node : nodes) {
        // Numbers of nodes are not written in order here (n0, n1, n10 would be): found all the same.
        EXPECT_THAT(reader->index().streams_of(node), SizeIs(1)) << node;
    }
}

TEST(server_packed, headers_and_tails_are_what_was_written) {
    const PartHeader header{.kind = kRowsPart,
                            .compression = 1,
                            .table = 7,
                            .stream = 99,
                            .rows = 65'536,
                            .stored_bytes = 1U << 20,
                            .raw_bytes = 5U << 20,
                            .first_time = core::Time::min(),
                            .last_time = core::Time::max(),
                            .payload_crc = 0xDEADBEEF};
    const auto bytes = encode_part_header(header);
    EXPECT_EQ(decode_part_header({bytes.data(), bytes.size()}), header);
    const auto tail = encode_packed_tail({.index_at = uint64_t{1} << 40, .index_bytes = 77});
    EXPECT_EQ(decode_packed_tail({tail.data(), tail.size()})->index_at, uint64_t{1} << 40);
    for (size_t i = 0; i < bytes.size(); ++i) {
        auto damaged = bytes;
        damaged[i] = static_cast<char>(damaged[i] ^ 1);
        EXPECT_FALSE(decode_part_header({damaged.data(), damaged.size()})) << i;
    }
    const PartHeader too_large{.kind = kRowsPart, .rows = kMaxPartRows + 1};
    const auto large = encode_part_header(too_large);
    EXPECT_FALSE(decode_part_header({large.data(), large.size()}));
}

}  // namespace
}  // namespace belay::server
