// A spool for tests, whose blocks are events with a number each, as an agent of one of two boots wrote them.
#pragma once

#include "core/file.h"
#include "schema/tables/event.h"
#include "stream/block_encoder.h"
#include "stream/segment.h"
#include "stream/spool.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace belay::agent::testing {

inline const core::Time kBegan = core::time_from_nanoseconds(1'700'000'000'000'000'000);

// Writers of two boots began at two times: the names of their files differ.
inline stream::Session session_of(uint64_t first_block = 0, const std::string& boot = "b") {
    const core::Time began = boot == "b" ? kBegan : kBegan - std::chrono::seconds(60);
    return {.node = "n1",
            .start = began,
            .boot = boot,
            .source = "agent",
            .began = began,
            .first_block = first_block};
}

class TestSpool {
  public:
    // A file with the rows `from` to `to` - 1, each a block, which has the row's number and is as many seconds later
    // than kBegan.
    void put(uint64_t from, uint64_t to, const std::string& boot = "b") const {
        const uint64_t first = from - 1;
        std::string bytes = stream::encode_head(session_of(first, boot));
        for (uint64_t i = from; i < to; ++i) {
            stream::Batch batch(schema::kEvent);
            batch.add_row(kBegan + std::chrono::seconds(i), "n1");
            batch.set(column(schema::kEvent, "task"), i);
            for (const stream::RowsPayload& part : stream::encode_rows(batch))
                bytes += stream::encode_rows_block(part, static_cast<uint32_t>(i - first));
        }
        std::ofstream(file_of(first, boot)) << bytes;
    }
    void remove(uint64_t first, const std::string& boot = "b") const {
        std::filesystem::remove(file_of(first, boot));
    }
    std::filesystem::path file_of(uint64_t first, const std::string& boot = "b") const {
        return path() / stream::spool_file_name(session_of(first, boot).stream(), first);
    }
    const std::filesystem::path& path() const { return place_.path(); }

  private:
    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("spool_test").value();
};

// The numbers of the events in a piece.
inline std::vector<int64_t> rows_of(std::string_view piece) {
    std::vector<int64_t> rows;
    (void)stream::read_segment_bytes(piece, "piece", [&](const stream::Batch& batch) {
        if (&batch.table() != &schema::kEvent) return;
        for (int64_t row : batch.values(column(schema::kEvent, "task")).integers) rows.push_back(row);
    });
    return rows;
}

}  // namespace belay::agent::testing
