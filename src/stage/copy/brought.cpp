#include "stage/copy/brought.h"

#include "core/utf8.h"
#include "shard/crc32c.h"
#include "stage/copy/little_endian.h"

#include <algorithm>
#include <unordered_set>

namespace belay::stage {

namespace {

using core::bad_input;
using core::Result;

constexpr std::string_view kSignMagic = "BLYSIGN1";
constexpr uint32_t kSignVersion = 1;
constexpr size_t kSignHeaderBytes = 48;
constexpr size_t kLeastCopyBytes = 64;
constexpr size_t kLeastBroughtBytes = 4 * sizeof(uint64_t) + sizeof(uint32_t);
constexpr size_t kLeastDirectoryBytes = sizeof(uint32_t);

void put_path(std::string& out, std::string_view path) {
    put_little(out, static_cast<uint32_t>(path.size()));
    out += path;
}

Result<std::string> path_from(LittleReader& reader) {
    std::string path(reader.bytes(reader.u32()));
    if (reader.ok() && !core::is_name_beneath(path))
        return bad_input("\"{}\" leads out of the directory", core::printable(path));
    return path;
}

Result<BroughtFile> file_from(LittleReader& reader) {
    BroughtFile file;
    file.bytes = reader.u64();
    file.modified = static_cast<int64_t>(reader.u64());
    file.mark.inode = reader.u64();
    file.mark.born = static_cast<int64_t>(reader.u64());
    BELAY_TRY(path, path_from(reader));
    file.path = std::move(path);
    return file;
}

Result<BroughtCopy> copy_from(LittleReader& reader) {
    BroughtCopy copy;
    const std::string_view digest = reader.bytes(copy.plan.size());
    std::ranges::copy(digest, reinterpret_cast<char*>(copy.plan.data()));
    const uint32_t kind = reader.u32();
    const uint32_t zero = reader.u32();
    const uint64_t files = reader.u64(), directories = reader.u64(), state_bytes = reader.u64();
    if (kind > static_cast<uint32_t>(CopyKind::kPacked) || zero != 0)
        return bad_input("unknown kind of copy: {}", kind);
    if (files > reader.left() / kLeastBroughtBytes || directories > reader.left() / kLeastDirectoryBytes)
        return bad_input("it states more files than it holds");
    copy.kind = static_cast<CopyKind>(kind);
    for (uint64_t i = 0; i < files; ++i) {
        BELAY_TRY(file, file_from(reader));
        copy.files.push_back(std::move(file));
    }
    for (uint64_t i = 0; i < directories; ++i) {
        BELAY_TRY(path, path_from(reader));
        copy.directories.push_back(std::move(path));
    }
    copy.state = reader.bytes(state_bytes);
    return copy;
}

}  // namespace

const BroughtCopy* CopySign::find(const core::Sha256Digest& plan) const {
    const auto found = std::ranges::find(copies, plan, &BroughtCopy::plan);
    return found == copies.end() ? nullptr : &*found;
}

void add_copy(CopySign& sign, BroughtCopy copy) {
    std::unordered_set<std::string_view> paths;
    for (const BroughtFile& file : copy.files) paths.insert(file.path);
    for (BroughtCopy& earlier : sign.copies)
        std::erase_if(earlier.files, [&](const BroughtFile& file) { return paths.contains(file.path); });
    const auto same = std::ranges::find(sign.copies, copy.plan, &BroughtCopy::plan);
    if (same != sign.copies.end()) {
        std::ranges::move(same->files, std::back_inserter(copy.files));
        std::ranges::move(same->directories, std::back_inserter(copy.directories));
        if (copy.state.empty()) copy.state = std::move(same->state);
        sign.copies.erase(same);
    }
    std::ranges::sort(copy.files, {}, &BroughtFile::path);
    std::ranges::sort(copy.directories);
    const auto repeated = std::ranges::unique(copy.directories);
    copy.directories.erase(repeated.begin(), repeated.end());
    sign.copies.push_back(std::move(copy));
}

void add_sign(CopySign& sign, const CopySign& more) {
    sign.made_levels = std::max(sign.made_levels, more.made_levels);
    for (const BroughtCopy& copy : more.copies) add_copy(sign, copy);
}

std::string encode_sign(const CopySign& sign) {
    std::string out(kSignMagic);
    put_little(out, kSignVersion);
    put_little(out, sign.made_levels);
    put_little(out, sign.directory.inode);
    put_little(out, static_cast<uint64_t>(sign.directory.born));
    put_little(out, uint64_t{sign.copies.size()});
    put_little(out, uint64_t{0});
    for (const BroughtCopy& copy : sign.copies) {
        out += core::bytes_of(copy.plan);
        put_little(out, static_cast<uint32_t>(copy.kind));
        put_little(out, uint32_t{0});
        put_little(out, uint64_t{copy.files.size()});
        put_little(out, uint64_t{copy.directories.size()});
        put_little(out, uint64_t{copy.state.size()});
        for (const BroughtFile& file : copy.files) {
            put_little(out, file.bytes);
            put_little(out, static_cast<uint64_t>(file.modified));
            put_little(out, file.mark.inode);
            put_little(out, static_cast<uint64_t>(file.mark.born));
            put_path(out, file.path);
        }
        for (const std::string& path : copy.directories) put_path(out, path);
        out += copy.state;
    }
    put_little(out, shard::crc32c(out));
    return out;
}

Result<CopySign> decode_sign(std::string_view bytes) {
    if (bytes.size() < kSignHeaderBytes + sizeof(uint32_t) || !bytes.starts_with(kSignMagic))
        return bad_input("it is not what a copy leaves behind");
    const std::string_view checked = bytes.substr(0, bytes.size() - sizeof(uint32_t));
    if (LittleReader(bytes.substr(checked.size())).u32() != shard::crc32c(checked))
        return bad_input("it is damaged: its checksum differs");
    LittleReader reader(checked.substr(kSignMagic.size()));
    if (const uint32_t version = reader.u32(); version != kSignVersion)
        return bad_input("unknown version {}: this program knows {}", version, kSignVersion);
    const uint32_t made_levels = reader.u32();
    CopySign sign{.directory = {.inode = reader.u64(), .born = static_cast<int64_t>(reader.u64())},
                  .made_levels = made_levels};
    const uint64_t copies = reader.u64();
    if (made_levels > kMostMadeLevels || reader.u64() != 0 || copies > reader.left() / kLeastCopyBytes)
        return bad_input("it holds something else than it states");
    for (uint64_t i = 0; i < copies; ++i) {
        BELAY_TRY(copy, copy_from(reader));
        sign.copies.push_back(std::move(copy));
    }
    if (!reader.complete()) return bad_input("it has another length than it states");
    return sign;
}

}  // namespace belay::stage
