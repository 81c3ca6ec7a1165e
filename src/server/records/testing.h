// For tests of this folder: what agents wrote of made-up jobs (record/cut/cut_testing.h), in a spool, and as uploads.
#pragma once

#include "core/file.h"
#include "record/archive/archive.h"
#include "record/cut/cut_spools.h"
#include "record/cut/cut_testing.h"
#include "server/blocks/intake.h"
#include "server/records/cut_blocks.h"
#include "stream/spool.h"
#include "stream/spool_reader.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belay::server::testing {

using record::testing::at;
using record::testing::GivenStep;
using record::testing::GivenStream;
using record::testing::StreamMaker;

inline stream::Session agent_session(const GivenStream& given, const std::string& cluster = "alps") {
    return {.node = given.node,
            .start = at(given.began),
            .interval = std::chrono::seconds(1),
            .flush = std::chrono::seconds(2),
            .version = "test",
            .cluster = cluster,
            .boot = "b-" + given.node,
            .source = "agent",
            .began = at(given.began)};
}

// Batches as an agent writes them: in the order of their times.
inline std::vector<stream::Batch> in_order(const StreamMaker& maker) {
    std::vector<stream::Batch> batches = maker.batches();
    std::ranges::stable_sort(batches, {},
                             [](const stream::Batch& batch) { return batch.values(0).integers[0]; });
    return batches;
}

// Writes a stream into the spool.
inline void write_stream(const std::filesystem::path& spool, const stream::Session& session,
                         const std::vector<stream::Batch>& batches,
                         uint64_t file_bytes = uint64_t{16} << 20) {
    auto writer = stream::SpoolWriter::open(spool, session, {.file_bytes = file_bytes});
    ASSERT_TRUE(writer) << writer.error().message();
    core::Time last = session.start;
    for (const stream::Batch& batch : batches) {
        ASSERT_TRUE(writer->append(batch));
        last = std::max(last, core::time_from_nanoseconds(batch.values(0).integers[0]));
    }
    ASSERT_TRUE(writer->finish(last));
}

// All that the spool holds, in pieces of about so many bytes.
inline std::vector<std::string> uploads_of(const std::filesystem::path& spool, size_t bytes = 4096) {
    std::vector<std::string> uploads;
    auto reader = stream::SpoolReader::open(spool);
    if (!reader) ADD_FAILURE() << reader.error().message();
    auto cursors = reader->streams().value();
    for (stream::Cursor& cursor : cursors)
        for (;;) {
            auto piece = reader->read(cursor, bytes).value();
            if (piece.bytes.empty()) break;
            cursor = piece.next;
            uploads.push_back(std::move(piece.bytes));
        }
    return uploads;
}

// A directory with a spool, a block log, and room for records.
class Site {
  public:
    std::filesystem::path path(const std::string& name) const { return place_.path() / name; }
    std::filesystem::path spool() const { return path("spool"); }
    // A stream of an agent, in the spool.
    void write(const GivenStream& given, const std::vector<GivenStep>& steps,
               const std::vector<std::string>& devices = {}, const std::string& cluster = "alps") const {
        const StreamMaker maker(given, steps, devices);
        write_stream(spool(), agent_session(given, cluster), in_order(maker));
    }
    std::unique_ptr<Intake> open(const std::string& writer = "a", const std::string& log = "blocks") const {
        auto intake = Intake::open(path(log), writer, {});
        if (!intake) ADD_FAILURE() << intake.error().message();
        return std::move(*intake);
    }
    static void upload(Intake& intake, const std::vector<std::string>& uploads) {
        for (const std::string& upload : uploads) {
            const auto accepted = intake.accept(upload);
            if (!accepted) ADD_FAILURE() << accepted.error().message();
        }
    }

  private:
    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("records_test").value();
};

inline JobToCut job_at(int64_t id, double from, double to, std::vector<std::string> nodes = {"n1"}) {
    return {.cluster = "alps", .id = id, .nodes = std::move(nodes), .range = {at(from), at(to)}, .told = {}};
}

// All rows of a record, as text, by table.
using TableRows = std::map<std::string, std::vector<std::string>>;

inline TableRows rows_of(const std::filesystem::path& record) {
    TableRows tables;
    auto archive = record::Archive::open(record);
    if (!archive) {
        ADD_FAILURE() << archive.error().message();
        return tables;
    }
    for (const schema::Table* table : schema::tables()) {
        auto answer = archive->query(fmt::format("SELECT t::VARCHAR FROM {} AS t ORDER BY ALL", table->name));
        if (!answer) ADD_FAILURE() << answer.error().message();
        if (!answer) continue;
        for (const auto& row : answer->rows)
            tables[std::string(table->name)].push_back(record::as_text(row[0]));
    }
    return tables;
}

}  // namespace belay::server::testing
