// Writes a packed file from its beginning to its end. Holds a part and the index; rows are compressed where they are added.
//
//   BELAY_TRY(writer, PackedWriter::begin(fd, "…raw.pak", facts, {}));
//   writer.begin_stream(stream);
//   BELAY_CHECK(writer.add_rows(batch));                   // of tables in any order, of each in order of time
//   BELAY_TRY(written, writer.finish());
#pragma once

#include "core/error.h"
#include "server/packed/packed_index.h"
#include "stream/batch.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ZSTD_CCtx_s;

namespace belay::server {

struct PackedLimits {
    int level = 6;  // of zstd; benchmarks/server_pack.cpp: 9 takes more time for the same bytes, 12 saves 3 %
    size_t part_bytes = size_t{1} << 20;  // of rows before they are compressed, about
    size_t part_rows = kMaxPartRows;
};

struct WrittenPacked {
    uint64_t bytes = 0;
    uint64_t rows = 0;
    uint64_t values = 0;  // that are not null, time and node not counted; without those of pieces
    core::Time first_time = core::Time::max(), last_time = core::Time::min();  // of rows
};

class PackedWriter {
  public:
    // `fd`: open for writing, at offset 0; `name` is for messages. Errors: kSystem.
    static core::Result<PackedWriter> begin(int fd, std::string name, const PackedFacts& facts,
                                            const PackedLimits& limits);
    PackedWriter(PackedWriter&&) noexcept;
    PackedWriter& operator=(PackedWriter&&) = delete;
    PackedWriter(const PackedWriter&) = delete;
    PackedWriter& operator=(const PackedWriter&) = delete;
    ~PackedWriter();

    // What is added from now on is of this stream. Streams come by node, so that what is read together lies together. Errors: kSystem.
    core::Result<> begin_stream(const PackedStream& stream);
    // Rows of one table, in order of time, which are cut into parts; `things` says for each row which thing it is of (row_order.h),
    // by which rows lie in a part. Errors: kSystem; kBadInput for a text that no part could hold.
    core::Result<> add_rows(const stream::Batch& rows, std::span<const uint32_t> things);
    // Blocks as they came, with their session; the times of their rows, the latter before the former where none are known.
    core::Result<> add_piece(std::string_view piece, uint32_t rows, core::Time first, core::Time last);
    // Nothing is synced. Errors: kSystem.
    core::Result<WrittenPacked> finish();

  private:
    PackedWriter(int fd, std::string name, Tier tier, std::string facts, const PackedLimits& limits);
    core::Result<> add_part(PartHeader header, std::string_view payload);
    core::Result<> write(std::string_view bytes);
    core::Result<> add_some(const stream::Batch& rows, std::span<const uint32_t> some,
                            std::span<const uint32_t> things);
    struct Free {
        void operator()(ZSTD_CCtx_s* context) const;
    };

    int fd_;
    std::string name_;
    PackedLimits limits_;
    PackedIndexBuilder index_;
    std::unique_ptr<ZSTD_CCtx_s, Free> zstd_;
    std::map<const schema::Table*, uint16_t> tables_;
    std::string buffer_;
    std::string packed_;  // of one part; kept for its memory
    WrittenPacked written_;
    uint32_t stream_ = 0;
};

}  // namespace belay::server
