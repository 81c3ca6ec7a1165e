#include "bench/models/oc20/files/lmdb_page.h"

#include <bit>
#include <cstring>

namespace belay::bench::oc20 {

using core::bad_input;
using core::Result;

namespace {

static_assert(std::endian::native == std::endian::little, "pages are taken as they lie in memory");

constexpr uint32_t kLmdbMagic = 0xbeefc0de, kLmdbVersion = 1;
constexpr uint64_t kNoPage = ~uint64_t{0};

// Flags of pages. kPageKinds: those that say what a page is; the others say what was done with it in memory.
constexpr uint16_t kBranchPage = 0x01, kLeafPage = 0x02, kOverflowPage = 0x04, kMetaPage = 0x08;
constexpr uint16_t kPageKinds = 0x6f;
// Flags of nodes.
constexpr uint16_t kValueIsElsewhere = 0x01, kValueIsDatabase = 0x02, kSeveralValues = 0x04;

constexpr size_t kNodeHeader = 8;

// The caller has seen that it lies in the bytes.
template <typename Number>
Number number_at(std::string_view bytes, size_t place) {
    Number number;
    std::memcpy(&number, bytes.data() + place, sizeof number);
    return number;
}

constexpr size_t kPlaceOfFlags = 10, kPlaceOfLower = 12, kPlaceOfUpper = 14;

uint16_t kind_of(std::string_view page) {
    return number_at<uint16_t>(page, kPlaceOfFlags) & kPageKinds;
}

}  // namespace

Result<LmdbMeta> lmdb_meta_from(std::string_view bytes) {
    constexpr size_t kVersion = kLmdbPageHeader + 4, kFree = kLmdbPageHeader + 24, kMain = kFree + 48;
    constexpr size_t kFlagsInDatabase = 4, kRootInDatabase = 40;
    constexpr size_t kLast = kMain + 48, kTransaction = kLast + 8;
    static_assert(kTransaction + 8 == kLmdbMetaBytes);
    if (bytes.size() < kLmdbMetaBytes || kind_of(bytes) != kMetaPage ||
        number_at<uint32_t>(bytes, kLmdbPageHeader) != kLmdbMagic)
        return bad_input("it is not an LMDB file of a machine with 64 bits");
    if (const auto version = number_at<uint32_t>(bytes, kVersion); version != kLmdbVersion)
        return bad_input("it is an LMDB file of version {}; {} is read", version, kLmdbVersion);
    const LmdbMeta meta{.page_bytes = number_at<uint32_t>(bytes, kFree),
                        .transaction = number_at<uint64_t>(bytes, kTransaction),
                        .last_page = number_at<uint64_t>(bytes, kLast),
                        .root = number_at<uint64_t>(bytes, kMain + kRootInDatabase)};
    if (!std::has_single_bit(meta.page_bytes) || meta.page_bytes < kSmallestLmdbPage ||
        meta.page_bytes > kLargestLmdbPage)
        return bad_input("it is damaged: pages of {} bytes, and LMDB has powers of two from {} to {}",
                         meta.page_bytes, kSmallestLmdbPage, kLargestLmdbPage);
    if (const auto flags = number_at<uint16_t>(bytes, kMain + kFlagsInDatabase); flags != 0)
        return bad_input(
            "its keys have several values or are in an order of their own (flags {:#x}); "
            "neither is read",
            flags);
    LmdbMeta found = meta;
    if (meta.root == kNoPage) found.root.reset();
    return found;
}

core::Failure LmdbPage::damaged(std::string_view what) const {
    return bad_input("page {} is damaged: {}", number_, what);
}

Result<LmdbPage> LmdbPage::read(std::string_view bytes, uint64_t number) {
    LmdbPage page(bytes, number);
    if (bytes.size() < kLmdbPageHeader) return page.damaged("it has no header");
    if (const auto own = number_at<uint64_t>(bytes, 0); own != number)
        return page.damaged(fmt::format("it says that it is page {}", own));
    const uint16_t kind = kind_of(bytes);
    if (kind != kBranchPage && kind != kLeafPage) return page.damaged("it holds no keys");
    page.is_leaf_ = kind == kLeafPage;
    const size_t lower = number_at<uint16_t>(bytes, kPlaceOfLower);
    page.upper_ = number_at<uint16_t>(bytes, kPlaceOfUpper);
    if (lower < kLmdbPageHeader || lower % 2 != 0 || lower > page.upper_ || page.upper_ > bytes.size())
        return page.damaged(fmt::format("its free room goes from {} to {}", lower, page.upper_));
    page.nodes_ = (lower - kLmdbPageHeader) / 2;
    if (!page.is_leaf_ && page.nodes_ == 0) return page.damaged("it leads nowhere");
    return page;
}

Result<LmdbPage::Node> LmdbPage::node(size_t place) const {
    const size_t start = number_at<uint16_t>(bytes_, kLmdbPageHeader + 2 * place);
    if (start < upper_ || start > bytes_.size() || bytes_.size() - start < kNodeHeader)
        return damaged(fmt::format("its node {} is at {}", place, start));
    const size_t key_bytes = number_at<uint16_t>(bytes_, start + 6);
    if (key_bytes > bytes_.size() - start - kNodeHeader)
        return damaged(fmt::format("the key of its node {} has {} bytes", place, key_bytes));
    return Node{.place = start + kNodeHeader + key_bytes,
                .low = number_at<uint16_t>(bytes_, start),
                .high = number_at<uint16_t>(bytes_, start + 2),
                .flags = number_at<uint16_t>(bytes_, start + 4),
                .key = bytes_.substr(start + kNodeHeader, key_bytes)};
}

Result<size_t> LmdbPage::nodes_up_to(std::string_view key) const {
    size_t first = is_leaf_ ? 0 : 1, end = nodes_;
    while (first < end) {
        const size_t middle = first + (end - first) / 2;
        BELAY_TRY(found, node(middle));
        if (found.key <= key)
            first = middle + 1;
        else
            end = middle;
    }
    return first;
}

Result<uint64_t> LmdbPage::child_for(std::string_view key) const {
    BELAY_TRY(up_to, nodes_up_to(key));
    BELAY_TRY(found, node(up_to - 1));
    return uint64_t{found.low} | uint64_t{found.high} << 16 | uint64_t{found.flags} << 32;
}

Result<std::optional<LmdbValue>> LmdbPage::find(std::string_view key) const {
    BELAY_TRY(up_to, nodes_up_to(key));
    if (up_to == 0) return std::nullopt;
    BELAY_TRY(found, node(up_to - 1));
    if (found.key != key) return std::nullopt;
    if ((found.flags & (kValueIsDatabase | kSeveralValues)) != 0)
        return bad_input("its key is that of another database, or has several values; neither is read");
    LmdbValue value{.bytes = uint64_t{found.low} | uint64_t{found.high} << 16};
    const size_t room = bytes_.size() - found.place;
    if ((found.flags & kValueIsElsewhere) != 0) {
        if (room < sizeof(uint64_t)) return damaged("a value's page is not said");
        value.overflow = number_at<uint64_t>(bytes_, found.place);
        return value;
    }
    if (value.bytes > room)
        return damaged(fmt::format("a value has {} bytes and room for {}", value.bytes, room));
    value.inside = bytes_.substr(found.place, value.bytes);
    return value;
}

Result<> check_lmdb_overflow(std::string_view bytes, uint64_t number, uint64_t pages) {
    if (bytes.size() < kLmdbPageHeader || number_at<uint64_t>(bytes, 0) != number ||
        kind_of(bytes) != kOverflowPage || number_at<uint32_t>(bytes, kPlaceOfLower) < pages)
        return bad_input("page {} is damaged: it should begin a value of {} pages", number, pages);
    return {};
}

}  // namespace belay::bench::oc20
