// A data file of LMDB, for reading: values by their keys, of the main database as its last transaction left it. Written here
// because liblmdb takes what is in a file as true: it maps the file and, where that is damaged or hostile, reads beyond
// pages and file and ends the process (SIGSEGV, SIGBUS, SIGFPE).
//
// Nothing is mapped or locked; a file that is written to meanwhile gives errors. May be used by several threads.
#pragma once

#include "bench/models/oc20/files/lmdb_page.h"
#include "core/directory.h"
#include "core/error.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace belay::bench::oc20 {

// OC20's largest structures have 225 atoms and, where their edges are kept, 50 of these an atom and 44 bytes an edge: half a
// megabyte. The same of kMaximumAtoms is 9 MB.
inline constexpr uint64_t kMaximumLmdbValue = uint64_t{16} << 20;

class LmdbFile {
  public:
    // Errors: kBadInput for anything but a regular file with such content, for links as well; kSystem.
    static core::Result<LmdbFile> open(const core::Directory& directory, const std::string& name);
    // Bytes as a file; they outlive this. Errors: kBadInput.
    static core::Result<LmdbFile> of_bytes(std::string_view bytes);

    // Nothing where there is no such key. Errors: kBadInput, also for a value above kMaximumLmdbValue; kSystem.
    core::Result<std::optional<std::string>> find(std::string_view key) const;

  private:
    // So many bytes from a place, or an error.
    using Read = std::function<core::Result<std::string>(uint64_t place, size_t bytes)>;
    static core::Result<LmdbFile> with(Read read, uint64_t bytes);
    static core::Result<LmdbMeta> meta_of(const Read& read);
    LmdbFile(Read read, const LmdbMeta& meta) : read_(std::move(read)), meta_(meta) {}

    // The first so many bytes of some pages. Errors: kBadInput where there are no such pages.
    core::Result<std::string> bytes_of(uint64_t page, uint64_t pages, size_t bytes) const;
    core::Result<std::string> value_of(const LmdbValue& value) const;

    Read read_;
    LmdbMeta meta_;
};

}  // namespace belay::bench::oc20
