#include "shard/index.h"

#include "core/utf8.h"
#include "shard/crc32c.h"
#include "shard/tar_format.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

namespace belay::shard {

namespace {

using core::bad_input;
using core::Result;

constexpr std::string_view kMagic = "BLYTIDX1";
constexpr std::string_view kEndMagic = "BLYTIDXE";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeaderBytes = 32;
constexpr size_t kEntryBytes = 32;
constexpr size_t kLengthBytes = 8;
constexpr size_t kTrailerBytes = 16;

template <typename Number>
void put(std::string& out, Number value) {
    for (size_t i = 0; i < sizeof value; ++i) out += static_cast<char>(value >> (8 * i));
}

// Within bounds that the caller knows.
template <typename Number>
Number get(std::string_view bytes, size_t at) {
    Number value = 0;
    for (size_t i = 0; i < sizeof value; ++i)
        value = static_cast<Number>(
            value |
            static_cast<Number>(static_cast<Number>(static_cast<unsigned char>(bytes[at + i])) << (8 * i)));
    return value;
}

}  // namespace

Result<std::string> encode_index(std::vector<Record> records, uint64_t tar_bytes) {
    if (!std::ranges::is_sorted(records, {}, &Record::name)) std::ranges::sort(records, {}, &Record::name);
    std::string entries;
    std::string names;
    entries.reserve(records.size() * kEntryBytes);
    for (size_t i = 0; i < records.size(); ++i) {
        const Record& record = records[i];
        if (record.name.size() > kLongestRecordName)
            return bad_input("the name {}... is longer than {} bytes",
                             core::printable(record.name.substr(0, 60)), kLongestRecordName);
        if (i > 0 && record.name == records[i - 1].name)
            return bad_input("{} is twice in one shard", core::printable(record.name));
        if (names.size() > UINT32_MAX)
            return bad_input("the names of one shard need more than 4 GiB").hint("make smaller shards");
        put(entries, record.offset);
        put(entries, record.bytes);
        put(entries, static_cast<uint32_t>(names.size()));
        put(entries, static_cast<uint16_t>(record.name.size()));
        put(entries, uint16_t{0});
        put(entries, record.checksum);
        put(entries, record.sample);
        names += record.name;
    }
    std::string out(kMagic);
    put(out, kVersion);
    put(out, uint32_t{0});
    put(out, static_cast<uint64_t>(records.size()));
    put(out, tar_bytes);
    out += entries;
    put(out, static_cast<uint64_t>(names.size()));
    out += names;
    put(out, crc32c(out));
    put(out, uint32_t{0});
    out += kEndMagic;
    return out;
}

uint64_t most_index_bytes(uint64_t records) {
    constexpr uint64_t kMost = uint64_t{8} << 30;
    constexpr uint64_t kMostOfEntry = kEntryBytes + std::numeric_limits<uint16_t>::max();
    if (records > kMost / kMostOfEntry) return kMost;
    return kHeaderBytes + kLengthBytes + kTrailerBytes + records * kMostOfEntry;
}

Result<IndexView> IndexView::open(std::string_view bytes) {
    constexpr size_t kLeast = kHeaderBytes + kLengthBytes + kTrailerBytes;
    if (bytes.size() < kLeast)
        return bad_input("it is {} bytes long; an index has {} at least", bytes.size(), kLeast);
    if (!bytes.starts_with(kMagic)) return bad_input("it does not begin as an index of a shard");
    if (!bytes.ends_with(kEndMagic) || get<uint32_t>(bytes, bytes.size() - kTrailerBytes + 4) != 0)
        return bad_input("its end is missing or damaged");
    if (const auto version = get<uint32_t>(bytes, 8); version != kVersion)
        return bad_input("its version is {}, this program knows {}", version, kVersion)
            .hint("read it with a newer Belay");
    const size_t trailer = bytes.size() - kTrailerBytes;
    if (const auto stated = get<uint32_t>(bytes, trailer), seen = crc32c(bytes.substr(0, trailer));
        stated != seen)
        return bad_input("its checksum is {:08x}, {:08x} is stated: it is damaged", seen, stated);
    IndexView view;
    view.count_ = get<uint64_t>(bytes, 16);
    view.tar_bytes_ = get<uint64_t>(bytes, 24);
    if (view.count_ > (trailer - kHeaderBytes - kLengthBytes) / kEntryBytes)
        return bad_input("it states {} entries, more than fit into it", view.count_);
    const size_t lengths = kHeaderBytes + static_cast<size_t>(view.count_) * kEntryBytes;
    view.entries_ = bytes.substr(kHeaderBytes, lengths - kHeaderBytes);
    view.names_ = bytes.substr(lengths + kLengthBytes, trailer - lengths - kLengthBytes);
    if (get<uint64_t>(bytes, lengths) != view.names_.size())
        return bad_input("it states names of another length than it has");
    BELAY_CHECK(view.check());
    return view;
}

Result<> IndexView::check() const {
    uint64_t names = 0;
    std::vector<std::pair<uint64_t, uint64_t>> contents;  // begin and end in the tar
    contents.reserve(static_cast<size_t>(count_));
    for (uint64_t i = 0; i < count_; ++i) {
        const size_t at = static_cast<size_t>(i) * kEntryBytes;
        const auto offset = get<uint64_t>(entries_, at);
        const auto size = get<uint64_t>(entries_, at + 8);
        const auto name_offset = get<uint32_t>(entries_, at + 16);
        const auto name_bytes = get<uint16_t>(entries_, at + 20);
        if (name_bytes > names_.size() || name_offset > names_.size() - name_bytes)
            return bad_input("the name of entry {} lies outside of it", i);
        // One behind the other: else a small index could state gigabytes of names.
        if (name_offset != names || get<uint16_t>(entries_, at + 22) != 0)
            return bad_input("entry {} is not as an index has it", i);
        names += name_bytes;
        if (offset % kTarBlock != 0 || offset > tar_bytes_ || size > tar_bytes_ - offset)
            return bad_input("entry {} lies outside of the tar", i);
        if (i > 0 && name(i - 1) >= name(i))
            return bad_input("the names of entries {} and {} are not in order", i - 1, i);
        contents.emplace_back(offset, offset + size);
    }
    if (names != names_.size()) return bad_input("it has names without entries");
    std::ranges::sort(contents);
    for (size_t i = 1; i < contents.size(); ++i)
        if (contents[i].first < contents[i - 1].second + kTarBlock)
            return bad_input("two entries state the same part of the tar, at byte {}", contents[i].first);
    return {};
}

std::string_view IndexView::name(uint64_t number) const {
    const size_t at = static_cast<size_t>(number) * kEntryBytes;
    return names_.substr(get<uint32_t>(entries_, at + 16), get<uint16_t>(entries_, at + 20));
}

Record IndexView::operator[](uint64_t number) const {
    const size_t at = static_cast<size_t>(number) * kEntryBytes;
    return {.name = std::string(name(number)),
            .offset = get<uint64_t>(entries_, at),
            .bytes = get<uint64_t>(entries_, at + 8),
            .checksum = get<uint32_t>(entries_, at + 24),
            .sample = get<uint32_t>(entries_, at + 28)};
}

std::optional<Record> IndexView::find(std::string_view wanted) const {
    uint64_t begin = 0;
    uint64_t end = count_;
    while (begin < end) {
        const uint64_t middle = begin + (end - begin) / 2;
        if (name(middle) < wanted)
            begin = middle + 1;
        else
            end = middle;
    }
    if (begin == count_ || name(begin) != wanted) return std::nullopt;
    return (*this)[begin];
}

}  // namespace belay::shard
