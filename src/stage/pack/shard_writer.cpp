#include "stage/pack/shard_writer.h"

#include "core/hash.h"
#include "core/new_file.h"
#include "shard/crc32c.h"
#include "shard/index.h"
#include "shard/tar_format.h"
#include "stage/dataset/dataset.h"
#include "stage/pack/sink.h"
#include "stage/pack/source_file.h"

#include <algorithm>
#include <cerrno>
#include <span>
#include <sys/stat.h>
#include <utility>
#include <vector>

namespace belay::stage {

namespace {

using core::Result;

Result<> put_file(SourceReader& source, const SourceFile& file, Sink& out, shard::Record& record,
                  std::string& buffer) {
    BELAY_CHECK(out.put(shard::tar_header(file.path, file.bytes)));
    record.name = file.path;
    record.offset = out.bytes();
    record.bytes = file.bytes;
    if (file.bytes <= Sink::kRoomBytes) {
        BELAY_TRY(place, out.room(file.bytes));
        BELAY_CHECK(source.read(file, place, [&](std::string_view bytes) -> Result<> {
            record.checksum = shard::crc32c(bytes, record.checksum);
            out.take(bytes.size());
            return {};
        }));
    } else {
        BELAY_CHECK(source.read(file, buffer, [&](std::string_view bytes) {
            record.checksum = shard::crc32c(bytes, record.checksum);
            return out.put(bytes);
        }));
    }
    return out.zeros(shard::tar_padding(file.bytes));
}

}  // namespace

core::Result<> let_all_read(const core::NewFile& file) {
    const unsigned mask = umask(0);
    umask(mask);
    if (fchmod(file.fd(), kForAll & ~mask) == 0) return {};
    return core::errno_error(errno, fmt::format("cannot change who may read {}", file.path().string()));
}

std::string shard_name(std::string_view name, size_t number) {
    return fmt::format("{}-{:06d}.tar", name, number);
}

Result<shard::ManifestShard> write_shard(const ShardWork& work, const PlannedShard& shard,
                                         const std::string& path, const shard::ManifestShard* expected) {
    BELAY_TRY(tar, core::NewFile::begin(work.output, path, expected != nullptr ? kPrivate : kForAll));
    Sink out(tar.fd(), tar.path().string(), work.done_bytes);
    SourceReader source(work.source);
    std::string buffer(Sink::kRoomBytes, '\0');
    std::vector<shard::Record> records;
    records.reserve(shard.files.size());
    for (const PlannedFile& planned : shard.files) {
        if (work.stop) return core::system_error("packing was stopped").because(core::Cause::kCancelled);
        records.push_back({.sample = planned.sample});
        BELAY_CHECK(put_file(source, work.listing.files[planned.file], out, records.back(), buffer));
    }
    BELAY_CHECK(out.zeros(shard::tar_trailer(out.bytes())));
    BELAY_CHECK(out.finish());
    BELAY_TRY(index_bytes, shard::encode_index(std::move(records), out.bytes()));
    shard::ManifestShard written{.path = path,
                                 .bytes = out.bytes(),
                                 .records = shard.files.size(),
                                 .samples = shard.samples,
                                 .sha256 = out.sha256(),
                                 .index_sha256 = core::to_hex(core::sha256(index_bytes))};
    if (expected != nullptr && written != *expected)
        return core::bad_input(
            "{}: rebuilding it gave different bytes: the source has changed, or another version of Belay "
            "packed it",
            work.output.path_of(path).string());
    if (expected != nullptr) BELAY_CHECK(let_all_read(tar));
    BELAY_TRY(index, core::NewFile::begin(work.output, index_name(path), kForAll));
    BELAY_CHECK(core::write_all(index.fd(), index_bytes, index.path().string()));
    BELAY_CHECK(std::move(index).replace());
    BELAY_CHECK(std::move(tar).replace());
    return written;
}

}  // namespace belay::stage
