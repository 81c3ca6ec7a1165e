#include "stage/copy/sign_file.h"

#include "core/new_file.h"
#include "core/utf8.h"
#include "stage/copy/file_look.h"

#include <sys/stat.h>
#include <unistd.h>

namespace belay::stage {

using core::bad_input;
using core::Directory;
using core::Result;

Result<std::optional<SignFile>> read_sign(const Directory& directory, const std::string& name) {
    BELAY_TRY(seen, look_at_file(directory, name));
    if (!seen) return std::optional<SignFile>();
    const std::string path = core::printable(directory.path_of(name).string());
    if (seen->owner != geteuid())
        return bad_input("{} belongs to another user", path)
            .because(core::Cause::kDenied)
            .hint("give the command as that user");
    BELAY_TRY(text, directory.read_file(name, kMostSignBytes));
    auto sign = decode_sign(text);
    if (!sign)
        return std::unexpected(std::move(sign.error())
                                   .context(path)
                                   .hint("it is left as it is: remove it, or name another directory"));
    return std::optional(SignFile{std::move(*sign), seen->identity.device});
}

Result<> write_sign(const Directory& directory, const std::string& name, const CopySign& sign) {
    BELAY_TRY(file, core::NewFile::begin(directory, name, 0600));
    BELAY_CHECK(core::write_all(file.fd(), encode_sign(sign), file.path().string()));
    return std::move(file).replace();
}

void remove_if_empty(const Directory& directory, uint32_t levels) {
    std::filesystem::path path = directory.path();
    if (!path.has_filename()) path = path.parent_path();  // "DST/"
    struct stat opened{}, named{};
    if (fstat(directory.fd(), &opened) != 0 || ::lstat(path.c_str(), &named) != 0) return;
    if (opened.st_dev != named.st_dev || opened.st_ino != named.st_ino) return;
    for (; levels > 0 && path.has_filename() && ::rmdir(path.c_str()) == 0; --levels)
        path = path.parent_path();
}

}  // namespace belay::stage
