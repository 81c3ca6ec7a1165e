// The entries of a layer's tar (ustar, PAX, GNU), by libarchive, with names that are checked.
//
// A name that could mean another place is refused, not repaired: "..", a component of more than 255 bytes, a
// path that is too long or too deep. A leading "/" and "./" are taken off. Owners, setuid, setgid and
// extended attributes are dropped here, so that nothing behind can forget to.
#pragma once

#include "image/layer_stream.h"
#include "image/limits.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

struct archive;

namespace belay::image {

enum class EntryKind {
    kFile,
    kDirectory,
    kSymlink,
    kHardLink,
    kOther,  // device, FIFO, socket: takes its name's place and is not written
};

struct TarEntry {
    std::string name;  // "usr/bin/env", no "." or empty component; empty for the root
    EntryKind kind = EntryKind::kOther;
    uint32_t mode = 0;   // permissions and the sticky bit
    int64_t mtime = 0;   // seconds since 1970, 0 to 2^32-1 as squashfs has them
    uint64_t size = 0;   // bytes of a file
    std::string target;  // of a symbolic link verbatim; of a hard link a name as above
    bool operator==(const TarEntry&) const = default;
};

class TarReader {
  public:
    // Borrows the stream. Errors: kSystem.
    static core::Result<TarReader> open(LayerStream& stream, const ImportLimits& limits);
    TarReader(TarReader&&) noexcept;
    TarReader& operator=(TarReader&&) = delete;
    ~TarReader();

    // Nothing at the end, which includes what stands behind the end of the archive. Errors: kSystem for a
    // damaged archive, a refused name or an exceeded limit, with the name of the entry.
    core::Result<std::optional<TarEntry>> next();

    // The content of the entry that next() gave, holes as zeros, exactly `size` bytes in all.
    using Sink = std::function<core::Result<>(std::string_view)>;
    core::Result<> read_content(const TarEntry& entry, const Sink& sink);

  private:
    struct State;
    explicit TarReader(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

// The checked form of an entry's name (see above). Errors: kSystem.
core::Result<std::string> checked_name(std::string_view name, const ImportLimits& limits);

}  // namespace belay::image
