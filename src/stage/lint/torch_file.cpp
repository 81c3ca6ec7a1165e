#include "stage/lint/torch_file.h"

#include "core/json.h"
#include "core/text.h"

#include <algorithm>
#include <cstring>
#include <isa-l/crc.h>

namespace belay::stage {

namespace {

using core::Result;

constexpr uint32_t kEndSignature = 0x06054b50;
constexpr uint32_t kEnd64Signature = 0x06064b50;
constexpr uint32_t kLocator64Signature = 0x07064b50;
constexpr uint32_t kMemberSignature = 0x02014b50;
constexpr size_t kEndBytes = 22;
constexpr size_t kLocator64Bytes = 20;
constexpr size_t kEnd64Bytes = 56;
constexpr size_t kMemberBytes = 46;
constexpr size_t kLocalBytes = 30;
constexpr size_t kLongestComment = 65535;
constexpr uint64_t kMostDirectoryBytes = uint64_t{256} << 20;
constexpr size_t kSignatureBytes = 4;
constexpr size_t kBlockBytes = 4096;
constexpr size_t kPieceBytes = size_t{4} << 20;
constexpr uint64_t kMostHeaderBytes = 100'000'000;  // safetensors/src/tensor.rs, MAX_HEADER_SIZE

// Little-endian; 0 beyond the end.
template <typename T>
T number_in(std::string_view bytes, size_t at) {
    T value = 0;
    if (at > bytes.size() || bytes.size() - at < sizeof value) return 0;
    for (size_t byte = sizeof value; byte-- > 0;)
        value = static_cast<T>((uint64_t{value} << 8U) | static_cast<uint8_t>(bytes[at + byte]));
    return value;
}

struct Member {
    uint64_t local_offset = 0;
    uint64_t bytes = 0;  // as stored
    uint32_t crc = 0;
    uint16_t method = 0;
};

struct ZipDirectory {
    uint64_t offset = 0;
    uint64_t bytes = 0;
};

// The end of the archive, from its last bytes; nothing where they hold none.
Result<std::optional<ZipDirectory>> find_directory(const CheckpointFile& file, const ReadPiece& read) {
    const auto tail_bytes = static_cast<size_t>(std::min<uint64_t>(file.bytes, kEndBytes + kLongestComment));
    const uint64_t tail_offset = file.bytes - tail_bytes;
    BELAY_TRY(tail, read(file.name, tail_offset, tail_bytes));
    for (size_t at = tail.size() < kEndBytes ? 0 : tail.size() - kEndBytes + 1; at-- > 0;) {
        if (number_in<uint32_t>(tail, at) != kEndSignature) continue;
        if (at + kEndBytes + number_in<uint16_t>(tail, at + 20) != tail.size()) continue;
        ZipDirectory found{.offset = number_in<uint32_t>(tail, at + 16),
                           .bytes = number_in<uint32_t>(tail, at + 12)};
        const uint64_t end_offset = tail_offset + at;
        if (end_offset < kLocator64Bytes + kEnd64Bytes) return found;
        BELAY_TRY(locator, read(file.name, end_offset - kLocator64Bytes, kLocator64Bytes));
        if (number_in<uint32_t>(locator, 0) != kLocator64Signature) return found;
        const auto end64_offset = number_in<uint64_t>(locator, 8);
        if (end64_offset > file.bytes - kEnd64Bytes) return std::nullopt;
        BELAY_TRY(end64, read(file.name, end64_offset, kEnd64Bytes));
        if (end64.size() < kEnd64Bytes || number_in<uint32_t>(end64, 0) != kEnd64Signature)
            return std::nullopt;
        return ZipDirectory{.offset = number_in<uint64_t>(end64, 48),
                            .bytes = number_in<uint64_t>(end64, 40)};
    }
    return std::nullopt;
}

// Sizes of 0xffffffff stand in the extra field 1, those alone, in this order: uncompressed, stored, offset.
Member member_at(std::string_view directory, size_t at) {
    constexpr uint32_t kElsewhere = 0xffffffff;
    Member member{.local_offset = number_in<uint32_t>(directory, at + 42),
                  .bytes = number_in<uint32_t>(directory, at + 20),
                  .crc = number_in<uint32_t>(directory, at + 16),
                  .method = number_in<uint16_t>(directory, at + 10)};
    const bool large_content = number_in<uint32_t>(directory, at + 24) == kElsewhere;
    const size_t extra = at + kMemberBytes + number_in<uint16_t>(directory, at + 28);
    const size_t extra_end = extra + number_in<uint16_t>(directory, at + 30);
    for (size_t field = extra; field + 4 <= extra_end;
         field += 4U + number_in<uint16_t>(directory, field + 2)) {
        if (number_in<uint16_t>(directory, field) != 1) continue;
        size_t value = field + 4 + (large_content ? 8 : 0);
        if (member.bytes == kElsewhere) {
            member.bytes = number_in<uint64_t>(directory, value);
            value += 8;
        }
        if (member.local_offset == kElsewhere) member.local_offset = number_in<uint64_t>(directory, value);
        break;
    }
    return member;
}

Result<std::string> wrong_checksum(const CheckpointFile& file, const ReadPiece& read, const Member& member) {
    BELAY_TRY(local, read(file.name, member.local_offset, kLocalBytes));
    uint64_t at =
        member.local_offset + kLocalBytes + number_in<uint16_t>(local, 26) + number_in<uint16_t>(local, 28);
    uint32_t crc = 0;
    for (uint64_t left = member.bytes; left > 0;) {
        BELAY_TRY(piece, read(file.name, at, static_cast<size_t>(std::min<uint64_t>(left, kPieceBytes))));
        if (piece.empty()) return std::string("ends within a member of the archive");
        crc = crc32_gzip_refl(crc, reinterpret_cast<const unsigned char*>(piece.data()), piece.size());
        at += piece.size();
        left -= piece.size();
    }
    return crc == member.crc ? std::string()
                             : fmt::format("the CRC-32 of the member at byte {} is {:08x}, not {:08x}",
                                           member.local_offset, crc, member.crc);
}

// What is no archive. Only torch.save calls its files so; raw arrays and other programs' checkpoints are
// "*.bin" and "*.ckpt", too, and may begin with anything.
FileJudgement judge_other_file(const CheckpointFile& file, std::string_view head) {
    const bool is_torch_alone = file.name.ends_with(".pt") || file.name.ends_with(".pth");
    // What is small may lie in its inode.
    const bool is_hole = file.allocated_bytes == 0U && file.bytes >= kBlockBytes;
    const bool is_zero = std::ranges::all_of(head, [](char byte) { return byte == 0; });
    if (is_zero && is_hole) return {.torn = "was never written to: all of it is a hole"};
    if (is_zero && is_torch_alone && head.size() >= kSignatureBytes) return {.torn = "begins with zeros"};
    if (is_torch_alone && head.size() < kSignatureBytes)
        return {.torn = fmt::format("is {} long", core::format_count(head.size(), "byte"))};
    return {.note = "is not a zip archive of torch.save: only its presence was checked"};
}

}  // namespace

Result<FileJudgement> judge_torch_file(const CheckpointFile& file, const ReadPiece& read, bool checksums) {
    if (file.bytes == 0) return FileJudgement{.torn = "is empty"};
    BELAY_TRY(head, read(file.name, 0, kBlockBytes));
    if (!head.starts_with(std::string_view("PK\3\4", 4))) return judge_other_file(file, head);
    BELAY_TRY(directory, find_directory(file, read));
    if (!directory) return FileJudgement{.torn = "has no directory at its end: it was cut off"};
    if (directory->bytes > file.bytes || directory->offset > file.bytes - directory->bytes)
        return FileJudgement{.torn = fmt::format("is {} long, but its directory ends beyond that",
                                                 core::format_count(file.bytes, "byte"))};
    if (directory->bytes > kMostDirectoryBytes)
        return FileJudgement{.note = "has a very large directory: its members were not checked"};
    BELAY_TRY(bytes, read(file.name, directory->offset, static_cast<size_t>(directory->bytes)));
    FileJudgement judgement;
    for (size_t at = 0; at < bytes.size();) {
        if (number_in<uint32_t>(bytes, at) != kMemberSignature)
            return FileJudgement{.torn = "has a damaged directory"};
        const Member member = member_at(bytes, at);
        if (member.local_offset > directory->offset || member.bytes > directory->offset - member.local_offset)
            return FileJudgement{.torn = fmt::format("has a member at byte {} that ends beyond the archive",
                                                     member.local_offset)};
        if (checksums && member.method == 0) {
            BELAY_TRY(wrong, wrong_checksum(file, read, member));
            if (!wrong.empty()) return FileJudgement{.torn = wrong};
        } else if (checksums) {
            judgement.note = "has compressed members, whose checksums were not compared";
        }
        at += kMemberBytes + number_in<uint16_t>(bytes, at + 28) + number_in<uint16_t>(bytes, at + 30) +
              number_in<uint16_t>(bytes, at + 32);
    }
    return judgement;
}

Result<SafetensorsFile> judge_safetensors_file(const CheckpointFile& file, const ReadPiece& read) {
    SafetensorsFile result;
    auto torn = [&](std::string why) {
        result.judgement.torn = std::move(why);
        return result;
    };
    BELAY_TRY(length, read(file.name, 0, 8));
    const auto header_bytes = number_in<uint64_t>(length, 0);
    if (file.bytes < 8 || length.size() < 8) return torn("is shorter than the length of its header");
    if (header_bytes > kMostHeaderBytes || header_bytes > file.bytes - 8)
        return torn("ends within its header");
    BELAY_TRY(text, read(file.name, 8, static_cast<size_t>(header_bytes)));
    const auto header = core::parse_json(text);
    if (!header.is_object()) return torn("has a damaged header");
    uint64_t end = 0;
    for (const auto& [name, tensor] : header.items()) {
        if (name == "__metadata__") continue;
        const auto offsets = tensor.is_object() ? tensor.find("data_offsets") : tensor.end();
        if (offsets == tensor.end() || !offsets->is_array() || offsets->size() != 2 ||
            !(*offsets)[0].is_number_unsigned() || !(*offsets)[1].is_number_unsigned())
            return torn("has a damaged header");
        const auto from = core::integer_from<uint64_t>((*offsets)[0]);
        const auto to = core::integer_from<uint64_t>((*offsets)[1]);
        if (from > to) return torn("has a damaged header");
        result.tensors[name] = to - from;
        end = std::max(end, to);
    }
    if (const uint64_t held = file.bytes - 8 - header_bytes; held != end)
        return torn(
            fmt::format("holds {} of tensors; its header says {}", core::format_count(held, "byte"), end));
    return result;
}

}  // namespace belay::stage
