#include "bench/train/staging.h"

#include "core/directory.h"
#include "core/file.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace belay::bench {

namespace fs = std::filesystem;
using core::Result;

namespace {

constexpr size_t kCopyBytes = size_t{1} << 20;

Result<std::vector<std::string>> names_beneath(const fs::path& directory) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::recursive_directory_iterator it(directory, error), end; !error && it != end; it.increment(error))
        if (it->is_regular_file(error)) names.push_back(it->path().lexically_relative(directory).string());
    if (error) return core::errno_error(error, fmt::format("cannot list {}", directory.string()));
    std::ranges::sort(names);
    return names;
}

Result<uint64_t> copy_file(const core::Directory& from, const core::Directory& to, const std::string& name,
                           std::vector<char>& buffer) {
    BELAY_TRY(in, from.open_file(name, O_RDONLY));
    BELAY_TRY(out, to.open_file(name, O_WRONLY | O_CREAT | O_TRUNC, 0644));
    uint64_t bytes = 0;
    for (;;) {
        const ssize_t count = ::read(in.get(), buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0)
            return core::errno_error(errno, fmt::format("cannot read {}", from.path_of(name).string()));
        if (count == 0) return bytes;
        BELAY_CHECK(core::write_all(out.get(), {buffer.data(), static_cast<size_t>(count)},
                                    to.path_of(name).string()));
        bytes += static_cast<uint64_t>(count);
    }
}

bool is_within(const fs::path& inner, const fs::path& outer) {
    const fs::path way = inner.lexically_relative(outer);
    return !way.empty() && *way.begin() != "..";
}

}  // namespace

Result<Staged> stage_files(const fs::path& from, const fs::path& to, std::vector<std::string> names, int part,
                           int parts) {
    BELAY_CHECK(core::make_directories(to));
    std::error_code error;
    const fs::path source = fs::canonical(from, error);
    if (error) return core::errno_error(error, fmt::format("cannot find {}", from.string()));
    const fs::path target = fs::canonical(to, error);
    if (error) return core::errno_error(error, fmt::format("cannot find {}", to.string()));
    if (is_within(source, target) || is_within(target, source))
        return core::bad_input("--stage-to: {} and {}, the data, are within one another", to.string(),
                               from.string())
            .hint("name a directory of the node's own storage");
    if (names.empty()) {
        BELAY_TRY(found, names_beneath(source));
        names = std::move(found);
    }
    BELAY_TRY(in, core::Directory::open(source));
    BELAY_TRY(out, core::Directory::open(target));
    std::vector<char> buffer(kCopyBytes);
    Staged staged;
    for (size_t i = static_cast<size_t>(part); i < names.size(); i += static_cast<size_t>(parts)) {
        if (const fs::path parent = fs::path(names[i]).parent_path(); !parent.empty())
            BELAY_CHECK(core::make_directories(target / parent));
        BELAY_TRY(bytes, copy_file(in, out, names[i], buffer));
        ++staged.files;
        staged.bytes += bytes;
    }
    return staged;
}

}  // namespace belay::bench
