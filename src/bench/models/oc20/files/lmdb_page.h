// Pages of LMDB's data files as values: nothing outside of the bytes that are given is looked at, and no file is read.
// Everything in them is taken as foreign.
//
// Source of the format: LMDB 0.9, mdb.c (MDB_page, MDB_meta, MDB_db, MDB_node), as machines with 64 bits write it:
//
//   page      16 bytes    number:u64, 0:u16, flags:u16, lower:u16, upper:u16; an overflow page has instead of the last two
//                         how many pages it goes on for: u32
//   meta      a page      behind that: magic:u32, version:u32, address:u64, size of the mapping:u64, the database of free
//                         pages, the main database, last page:u64, transaction:u64
//   database  48 bytes    0:u32 (of free pages: the bytes of a page), flags:u16, levels:u16, branch pages:u64, leaf pages:u64,
//                         overflow pages:u64, entries:u64, root:u64 (all ones: it is empty)
//   branch, leaf          behind the page's 16 bytes, up to `lower`, the places of nodes in the page: u16, in the order of their
//                         keys; the nodes from `upper` on
//   node      8 bytes     low:u16, high:u16, flags:u16, bytes of the key:u16; then the key and, in a leaf, the value. low and high
//                         are a value's bytes; in a branch, with flags above them, the number of a child
//
// The first key of a branch counts as below all others. A value that is too long for a node lies in consecutive pages of which
// the first one is an overflow page, and the node has that one's number. Pages 0 and 1 are meta pages, written in turn.
//
// Numbers are little-endian.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace belay::bench::oc20 {

inline constexpr size_t kLmdbPageHeader = 16;
inline constexpr size_t kLmdbMetaBytes = kLmdbPageHeader + 136;
inline constexpr size_t kSmallestLmdbPage = 512, kLargestLmdbPage = 32768;  // bytes; powers of two

struct LmdbMeta {
    size_t page_bytes = 0;
    uint64_t transaction = 0;  // of two, the later one counts
    uint64_t last_page = 0;
    std::optional<uint64_t> root;  // of the main database, where it has any keys
};

// Of the first kLmdbMetaBytes of a meta page. Errors: kBadInput for anything else, and for databases in which a key has
// several values or keys are in another order than that of their bytes.
core::Result<LmdbMeta> lmdb_meta_from(std::string_view bytes);

// A value that a leaf holds or says the place of.
struct LmdbValue {
    uint64_t bytes = 0;
    std::string_view inside;           // where the leaf holds it; in the page's bytes
    std::optional<uint64_t> overflow;  // where it does not: the first page
};

// A branch or a leaf; a view of its bytes.
class LmdbPage {
  public:
    // All bytes of page `number`. Errors: kBadInput where they are not such a page.
    static core::Result<LmdbPage> read(std::string_view bytes, uint64_t number);

    bool is_leaf() const { return is_leaf_; }
    size_t nodes() const { return nodes_; }
    // Of a branch: the page beneath which `key` is, if it is anywhere. Errors: kBadInput.
    core::Result<uint64_t> child_for(std::string_view key) const;
    // Of a leaf. Errors: kBadInput, also for the name of another database.
    core::Result<std::optional<LmdbValue>> find(std::string_view key) const;

  private:
    struct Node {
        size_t place = 0;  // of what follows the key
        uint16_t low = 0, high = 0, flags = 0;
        std::string_view key;
    };
    LmdbPage(std::string_view bytes, uint64_t number) : bytes_(bytes), number_(number) {}
    core::Failure damaged(std::string_view what) const;
    core::Result<Node> node(size_t place) const;
    // How many nodes have a key that is not above `key`.
    core::Result<size_t> nodes_up_to(std::string_view key) const;

    std::string_view bytes_;
    uint64_t number_;
    bool is_leaf_ = false;
    size_t nodes_ = 0, upper_ = 0;
};

// Whether the first bytes of page `number` say that a value of so many bytes is in it and those behind it. Errors: kBadInput.
core::Result<> check_lmdb_overflow(std::string_view bytes, uint64_t number, uint64_t pages);

}  // namespace belay::bench::oc20
