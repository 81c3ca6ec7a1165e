#include "image/tar_reader.h"

#include "core/text.h"
#include "core/utf8.h"

#include <algorithm>
#include <archive.h>
#include <archive_entry.h>
#include <array>
#include <cerrno>
#include <clocale>
#include <limits>

namespace belay::image {

namespace {

using core::Result;
using core::system_error;

constexpr uint32_t kKeptModeBits = 01777;

// libarchive turns the UTF-8 of PAX headers into the thread's character set; "C", in which most programs run,
// has none, and names would lose their letters.
class Utf8Locale {
  public:
    Utf8Locale() {
        // Loaded once: an image has a hundred thousand entries.
        static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
        if (utf8 != nullptr) before_ = uselocale(utf8);
    }
    Utf8Locale(const Utf8Locale&) = delete;
    Utf8Locale& operator=(const Utf8Locale&) = delete;
    ~Utf8Locale() {
        if (before_ != nullptr) uselocale(before_);
    }

  private:
    locale_t before_ = nullptr;
};

std::string in_quotes(std::string_view name) {
    return fmt::format("\"{}\"", core::printable(core::utf8_prefix(name, 200)));
}

// libarchive's warnings on owners, access lists and attributes, none of which is kept.
bool is_about_what_is_dropped(std::string_view warning) {
    constexpr std::array kDropped = {std::string_view("Uname"), std::string_view("Gname"),
                                     std::string_view("acl"), std::string_view("ACL"),
                                     std::string_view("xattr")};
    return std::ranges::any_of(kDropped, [&](std::string_view word) { return warning.contains(word); });
}

std::string_view text_of(const char* text) {
    return text == nullptr ? std::string_view() : std::string_view(text);
}

}  // namespace

struct TarReader::State {
    State(LayerStream& stream_in, const ImportLimits& limits_in) : stream(stream_in), limits(limits_in) {}
    ~State() {
        if (handle != nullptr) archive_read_free(handle);
    }

    static la_ssize_t read(archive* handle, void* data, const void** buffer) {
        auto& self = *static_cast<State*>(data);
        auto bytes = self.stream.next();
        if (!bytes) {
            self.stream_error = bytes.error();
            archive_set_error(handle, EIO, "%s", "the layer cannot be read");
            return ARCHIVE_FATAL;
        }
        *buffer = bytes->data();
        return static_cast<la_ssize_t>(bytes->size());
    }

    core::Error failure() const {
        if (stream_error) return *stream_error;
        if (archive_errno(handle) == ENOMEM)
            return system_error("out of memory").because_of_errno(ENOMEM).error();
        const char* text = archive_error_string(handle);
        return core::Error(core::ErrorKind::kSystem,
                           fmt::format("its tar is damaged: {}", text == nullptr ? "unknown reason" : text));
    }

    Result<> check_totals(const TarEntry& entry);
    Result<TarEntry> read_entry(archive_entry* raw);

    LayerStream& stream;
    const ImportLimits& limits;
    archive* handle = nullptr;
    std::optional<core::Error> stream_error;
    uint64_t entries = 0;
    uint64_t links = 0;
    uint64_t total_bytes = 0;
    uint64_t name_bytes = 0;
};

TarReader::TarReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TarReader::TarReader(TarReader&&) noexcept = default;
TarReader::~TarReader() = default;

Result<std::string> checked_name(std::string_view name, const ImportLimits& limits) {
    if (name.empty()) return system_error("an entry has no name");
    if (name.contains('\0')) return system_error("an entry's name holds a NUL byte: {}", in_quotes(name));
    std::string out;
    size_t depth = 0;
    for (std::string_view component : core::split(name, '/')) {
        if (component.empty() || component == ".") continue;
        if (component == "..")
            return system_error("an entry's name leads out of the image: {}", in_quotes(name));
        if (component.size() > limits.component_bytes)
            return system_error("an entry's name has a component of {} bytes: {}", component.size(),
                                in_quotes(name));
        if (++depth > limits.depth)
            return system_error("an entry lies deeper than {} directories: {}", limits.depth,
                                in_quotes(name));
        if (!out.empty()) out += '/';
        out += component;
    }
    if (out.size() > limits.path_bytes)
        return system_error("an entry's name has {} bytes: {}", out.size(), in_quotes(name));
    return out;
}

Result<TarReader> TarReader::open(LayerStream& stream, const ImportLimits& limits) {
    auto state = std::make_unique<State>(stream, limits);
    state->handle = archive_read_new();
    if (state->handle == nullptr) return core::errno_error(ENOMEM, "cannot read a layer");
    archive_read_support_format_tar(state->handle);
    archive_read_support_format_empty(state->handle);
    Utf8Locale locale;
    if (archive_read_open(state->handle, state.get(), nullptr, State::read, nullptr) != ARCHIVE_OK)
        return std::unexpected(state->failure());
    return TarReader(std::move(state));
}

Result<> TarReader::State::check_totals(const TarEntry& entry) {
    if (++entries > limits.entries) return system_error("it has more than {} entries", limits.entries);
    if (entry.kind == EntryKind::kHardLink && ++links > limits.links)
        return system_error("it has more than {} hard links", limits.links);
    if (entry.size > limits.file_bytes)
        return system_error("{} claims {} bytes, more than the {} allowed", in_quotes(entry.name), entry.size,
                            limits.file_bytes);
    total_bytes += entry.size;
    if (total_bytes > limits.total_bytes)
        return system_error("its files claim more than {} bytes in all", limits.total_bytes);
    name_bytes += entry.name.size() + entry.target.size();
    if (name_bytes > limits.name_bytes)
        return system_error("its names have more than {} bytes in all", limits.name_bytes);
    return stream.check_ratio(total_bytes);
}

Result<TarEntry> TarReader::State::read_entry(archive_entry* raw) {
    const char* pathname = archive_entry_pathname(raw);
    if (pathname == nullptr) return system_error("an entry's name cannot be read");
    TarEntry out;
    BELAY_TRY(name, checked_name(pathname, limits));
    out.name = std::move(name);
    out.mode = static_cast<uint32_t>(archive_entry_perm(raw)) & kKeptModeBits;
    out.mtime = archive_entry_mtime_is_set(raw) != 0
                    ? std::clamp<int64_t>(archive_entry_mtime(raw), 0, std::numeric_limits<uint32_t>::max())
                    : 0;
    if (const char* target = archive_entry_hardlink(raw); target != nullptr) {
        out.kind = EntryKind::kHardLink;
        BELAY_TRY(checked, core::with_context(checked_name(target, limits),
                                              fmt::format("the hard link {}", in_quotes(out.name))));
        if (checked.empty()) return system_error("{} is a hard link to the root", in_quotes(out.name));
        out.target = std::move(checked);
    } else if (archive_entry_filetype(raw) == AE_IFREG) {
        out.kind = EntryKind::kFile;
        int64_t size = archive_entry_size(raw);
        if (size < 0) return system_error("{} has a negative size", in_quotes(out.name));
        out.size = static_cast<uint64_t>(size);
    } else if (archive_entry_filetype(raw) == AE_IFDIR) {
        out.kind = EntryKind::kDirectory;
    } else if (archive_entry_filetype(raw) == AE_IFLNK) {
        out.kind = EntryKind::kSymlink;
        out.target = text_of(archive_entry_symlink(raw));
        if (out.target.empty() || out.target.size() > limits.link_target_bytes)
            return system_error("the symbolic link {} has a target of {} bytes", in_quotes(out.name),
                                out.target.size());
    }
    if (out.name.empty() && out.kind != EntryKind::kDirectory)
        return system_error("the root of the image is not a directory");
    return out;
}

Result<std::optional<TarEntry>> TarReader::next() {
    Utf8Locale locale;
    archive_entry* raw = nullptr;
    int result = archive_read_next_header(state_->handle, &raw);
    // libarchive would look for the next header block by block, and take what is inside a file for one.
    if (result == ARCHIVE_RETRY)
        return system_error("its tar is damaged: entry {} has a damaged header", state_->entries + 1);
    if (result == ARCHIVE_EOF) {
        BELAY_CHECK(state_->stream.drain());
        return std::nullopt;
    }
    if (result == ARCHIVE_WARN) {
        std::string_view why = text_of(archive_error_string(state_->handle));
        if (why.starts_with("Pathname") || why.starts_with("Link"))
            return system_error("an entry has a name that is not UTF-8, although its header says so");
        // Two readers of a header that is not clear would see two images.
        if (!is_about_what_is_dropped(why)) return std::unexpected(state_->failure());
    } else if (result != ARCHIVE_OK) {
        return std::unexpected(state_->failure());
    }
    BELAY_TRY(entry, state_->read_entry(raw));
    BELAY_CHECK(state_->check_totals(entry));
    return entry;
}

Result<> TarReader::read_content(const TarEntry& entry, const Sink& sink) {
    static constexpr std::array<char, 65536> kZeros{};
    uint64_t at = 0;
    auto fill_to = [&](uint64_t end) -> Result<> {
        while (at < end) {
            size_t n = std::min<uint64_t>(kZeros.size(), end - at);
            BELAY_CHECK(sink(std::string_view(kZeros.data(), n)));
            at += n;
        }
        return {};
    };
    while (true) {
        const void* data = nullptr;
        size_t size = 0;
        la_int64_t offset = 0;
        int result = archive_read_data_block(state_->handle, &data, &size, &offset);
        if (result == ARCHIVE_EOF) break;
        if (result != ARCHIVE_OK) return std::unexpected(state_->failure());
        uint64_t start = static_cast<uint64_t>(offset);
        if (offset < 0 || start < at || start > entry.size || size > entry.size - start)
            return system_error("the pieces of {} do not fit together", in_quotes(entry.name));
        BELAY_CHECK(fill_to(start));
        BELAY_CHECK(sink(std::string_view(static_cast<const char*>(data), size)));
        at += size;
    }
    return fill_to(entry.size);
}

}  // namespace belay::image
