#include "stage/copy/layout.h"

#include "core/directory.h"
#include "core/units.h"
#include "core/utf8.h"
#include "shard/crc32c.h"
#include "stage/copy/little_endian.h"

#include <algorithm>

namespace belay::stage {

namespace {

using core::bad_input;
using core::Result;

constexpr std::string_view kMagic = "BLYCOPY1";
constexpr uint32_t kVersion = 1;
constexpr uint32_t kExecutable = 1, kLink = 2;
constexpr size_t kLeastFileBytes = 3 * sizeof(uint64_t) + 2 * sizeof(uint32_t);
constexpr size_t kHeaderBytes = 32;

std::string size(uint64_t bytes) {
    return core::format_binary(core::ByteSize{bytes});
}

Result<> check_path(const CopyPlan& plan, const std::string& path) {
    if (!core::is_name_beneath(path))
        return bad_input("\"{}\" leads out of the directory", core::printable(path));
    if (plan.kind == CopyKind::kFile && path.find('/') != std::string::npos)
        return bad_input("\"{}\" is not the name of one file", core::printable(path));
    if (plan.kind != CopyKind::kFile && path.starts_with(kCopyPrefix))
        return bad_input("\"{}\": names that begin so are those of a copy itself", core::printable(path))
            .hint("rename it, or copy the directory without it");
    return {};
}

}  // namespace

uint64_t usual_chunk_bytes(uint64_t bytes) {
    uint64_t chunk = kUsualChunk;
    while (chunk < kMostChunk && bytes / chunk >= kMostChunks / 2) chunk *= 2;
    return chunk;
}

Result<> check_plan(const CopyPlan& plan) {
    if (plan.chunk_bytes < kLeastChunk || plan.chunk_bytes > kMostChunk)
        return bad_input("chunks of {} are not possible: {} to {} are", size(plan.chunk_bytes),
                         size(kLeastChunk), size(kMostChunk))
            .hint("leave --chunk out, or give a size in between");
    if (plan.files.empty()) return bad_input("there is nothing to copy");
    if (plan.kind == CopyKind::kFile && plan.files.size() != 1)
        return bad_input("a copy of one file lists {} files", plan.files.size());
    uint64_t bytes = 0;
    const std::string* before = nullptr;
    for (const SourceFile& file : plan.files) {
        const std::string& path = file.path;
        BELAY_CHECK(check_path(plan, path));
        if (before != nullptr && *before >= path)
            return bad_input("\"{}\" is out of order or listed twice", core::printable(path));
        before = &path;
        if (__builtin_add_overflow(bytes, file.bytes, &bytes))
            return bad_input("the files have more bytes than can be counted");
    }
    if (bytes / plan.chunk_bytes >= kMostChunks)
        return bad_input("{} in chunks of {} are more than {} chunks", size(bytes), size(plan.chunk_bytes),
                         kMostChunks)
            .hint("give larger ones with --chunk, or copy it in parts");
    return {};
}

std::string encode_plan(const CopyPlan& plan) {
    std::string out(kMagic);
    put_little(out, kVersion);
    put_little(out, static_cast<uint32_t>(plan.kind));
    put_little(out, plan.chunk_bytes);
    put_little(out, uint64_t{plan.files.size()});
    for (const SourceFile& file : plan.files) {
        put_little(out, file.bytes);
        put_little(out, static_cast<uint64_t>(file.modified));
        put_little(out, file.inode);
        put_little(out, (file.executable ? kExecutable : 0) | (file.is_link ? kLink : 0));
        put_little(out, static_cast<uint32_t>(file.path.size()));
        out += file.path;
    }
    put_little(out, shard::crc32c(out));
    return out;
}

Result<CopyPlan> decode_plan(std::string_view bytes) {
    if (bytes.size() < kHeaderBytes + sizeof(uint32_t) || !bytes.starts_with(kMagic))
        return bad_input("not the plan of a copy");
    const std::string_view checked = bytes.substr(0, bytes.size() - sizeof(uint32_t));
    if (LittleReader(bytes.substr(checked.size())).u32() != shard::crc32c(checked))
        return bad_input("the plan of a copy is damaged: its checksum differs");
    LittleReader reader(checked.substr(kMagic.size()));
    if (const uint32_t version = reader.u32(); version != kVersion)
        return bad_input("unknown version {} of a plan: this program knows {}", version, kVersion)
            .hint("use the same Belay on all nodes");
    const uint32_t kind = reader.u32();
    if (kind > static_cast<uint32_t>(CopyKind::kPacked)) return bad_input("unknown kind of copy: {}", kind);
    CopyPlan plan{.kind = static_cast<CopyKind>(kind), .chunk_bytes = reader.u64()};
    const uint64_t count = reader.u64();
    if (count > reader.left() / kLeastFileBytes)
        return bad_input("the plan of a copy states {} files and holds fewer", count);
    plan.files.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
        SourceFile& file = plan.files.emplace_back();
        file.bytes = reader.u64();
        file.modified = static_cast<int64_t>(reader.u64());
        file.inode = reader.u64();
        const uint32_t flags = reader.u32();
        if ((flags & ~(kExecutable | kLink)) != 0)
            return bad_input("a file in the plan of a copy has the flags {:#x}", flags);
        file.executable = (flags & kExecutable) != 0;
        file.is_link = (flags & kLink) != 0;
        file.path = reader.bytes(reader.u32());
    }
    if (!reader.complete()) return bad_input("the plan of a copy has another length than it states");
    BELAY_CHECK(check_plan(plan));
    return plan;
}

CopyLayout::CopyLayout(CopyPlan plan) : plan_(std::move(plan)) {
    starts_.reserve(plan_.files.size() + 1);
    starts_.push_back(0);
    for (const SourceFile& file : plan_.files) starts_.push_back(starts_.back() + file.bytes);
}

uint64_t CopyLayout::bytes_of(uint64_t chunk) const {
    return std::min(plan_.chunk_bytes, bytes() - chunk * plan_.chunk_bytes);
}

std::vector<Segment> CopyLayout::segments(uint64_t chunk) const {
    std::vector<Segment> parts;
    uint64_t at = chunk * plan_.chunk_bytes;
    const uint64_t end = at + bytes_of(chunk);
    // The last file that begins at `at` or before; of empty ones that begin there too, the one behind them.
    auto file = static_cast<size_t>(std::ranges::upper_bound(starts_, at) - starts_.begin() - 1);
    for (; at < end; ++file) {
        const uint64_t size = std::min(end, starts_[file + 1]) - at;
        if (size > 0) parts.push_back({file, at - starts_[file], size});
        at += size;
    }
    return parts;
}

}  // namespace belay::stage
