#include "record/import/source_files.h"

#include "core/file.h"
#include "core/utf8.h"

#include <algorithm>
#include <system_error>

namespace belay::record {

using core::Result;
namespace fs = std::filesystem;

namespace {

core::Failure not_seen(const fs::path& path, const std::error_code& error) {
    return core::errno_error(error, "cannot look at " + core::printable(path.string()));
}

}  // namespace

Result<SourceEntry> look_at_source(const fs::path& path) {
    BELAY_TRY(type, core::type_of_file(path));
    if (type == fs::file_type::not_found)
        return core::bad_input("{} does not exist", core::printable(path.string()))
            .hint("name the directory that the program wrote its recording into");
    return SourceEntry{.path = path, .type = type};
}

std::unexpected<core::Error> unread(core::Error error) {
    return std::unexpected(
        std::move(error).hint("import again when it can be read, or a copy of the recording without it"));
}

Result<std::vector<SourceEntry>> entries_of(const fs::path& directory) {
    std::vector<SourceEntry> entries;
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        std::error_code unseen;
        const fs::file_status status = it->status(unseen);  // not_found: of a link that leads nowhere
        if (unseen && status.type() != fs::file_type::not_found) return not_seen(it->path(), unseen);
        entries.push_back({.path = it->path(), .type = status.type()});
    }
    if (error) return core::errno_error(error, "cannot list " + core::printable(directory.string()));
    std::ranges::sort(entries, {}, &SourceEntry::path);
    return entries;
}

}  // namespace belay::record
