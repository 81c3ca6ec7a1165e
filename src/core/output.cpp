#include "core/output.h"

#include "core/new_file.h"
#include "core/text.h"
#include "core/user.h"

#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::core {

namespace fs = std::filesystem;

namespace {

// Names of descriptors that are open already. They are links, of which no other user has made one.
std::optional<int> named_descriptor(std::string_view path) {
    if (path == "/dev/stdout") return STDOUT_FILENO;
    if (path == "/dev/stderr") return STDERR_FILENO;
    for (std::string_view directory : {"/dev/fd/", "/proc/self/fd/"})
        if (path.starts_with(directory)) return parse_number<int>(path.substr(directory.size()));
    return std::nullopt;
}

// A terminal, /dev/null: where only root puts anything.
bool is_device(const fs::path& path) {
    struct stat status{};
    return path.parent_path() == "/dev" && lstat(path.c_str(), &status) == 0 && S_ISCHR(status.st_mode);
}

Result<> write_to_device(const fs::path& path, std::string_view bytes) {
    BELAY_TRY(fd, open_file(path, O_WRONLY | O_NOFOLLOW | O_NOCTTY));
    return write_all(fd.get(), bytes, path.string());
}

Result<> check_replaceable(const fs::path& path, const FileFacts& there) {
    switch (there.type) {
        case FileType::kRegular:
            return {};
        case FileType::kDirectory:
            return bad_input("{} is a directory", path.string()).hint("name a file in it");
        case FileType::kLink:
            return bad_input("{} is a symbolic link of {}, and output files are not written through links",
                             path.string(), user_name(there.owner))
                .hint("name the file that it leads to, or remove the link");
        case FileType::kOther:
            break;
    }
    return bad_input("{} is a {} of {}, not a file", path.string(), there.type_name, user_name(there.owner))
        .hint("to hand it to another program, name /dev/stdout as the output: … -o /dev/stdout | COMMAND");
}

// Where a new file will be made, and what has its name now.
struct Target {
    Directory directory;
    std::string name;
    std::optional<FileFacts> there;
};

Result<Target> find_target(const fs::path& path) {
    if (!path.has_filename() || path.filename() == "." || path.filename() == "..")
        return bad_input("{} names a directory", path.string()).hint("name a file in it");
    auto opened = Directory::open_trusted(path.has_parent_path() ? path.parent_path() : fs::path("."));
    if (!opened && opened.error().cause() == Cause::kNotFound)
        return std::unexpected(std::move(opened.error())
                                   .as(ErrorKind::kBadInput)
                                   .hint("make the directory first, or name another"));
    BELAY_TRY(directory, std::move(opened));
    std::string name = path.filename();
    BELAY_TRY(there, directory.facts(name));
    if (there) BELAY_CHECK(check_replaceable(path, *there));
    return Target{std::move(directory), std::move(name), there};
}

}  // namespace

Result<> write_output(const fs::path& path, std::string_view bytes, unsigned mode) {
    if (const auto descriptor = named_descriptor(path.native()))
        return write_all(*descriptor, bytes, path.string());
    if (is_device(path)) return write_to_device(path, bytes);
    BELAY_TRY(target, find_target(path));
    BELAY_TRY(file, NewFile::begin(target.directory, target.name, mode));
    BELAY_CHECK(write_all(file.fd(), bytes, path.string()));
    const auto& there = target.there;
    auto replaced = std::move(file).replace();
    if (!replaced && there && there->owner != geteuid() && replaced.error().cause() == Cause::kDenied)
        return std::unexpected(
            std::move(replaced.error())
                .hint(fmt::format("it belongs to {}: name another file", user_name(there->owner))));
    return replaced;
}

Result<> check_output(const fs::path& path) {
    if (named_descriptor(path.native()) || is_device(path)) return {};
    BELAY_TRY(target, find_target(path));
    if (faccessat(target.directory.fd(), ".", W_OK, AT_EACCESS) != 0)
        return errno_error(errno, fmt::format("cannot write to {}", path.string()));
    return {};
}

}  // namespace belay::core
