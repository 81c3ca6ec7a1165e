#include "image/local_image.h"

#include "core/activity.h"
#include "core/text.h"
#include "core/utf8.h"
#include "image/squashfs_reader.h"

#include <algorithm>
#include <cerrno>
#include <sys/stat.h>

namespace belay::image {

namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 20;
constexpr std::string_view kEnvironmentFile = "etc/environment";
constexpr std::string_view kScript = "etc/rc";

bool is_name(std::string_view text) {
    auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    auto digit = [](char c) { return c >= '0' && c <= '9'; };
    return !text.empty() && letter(text.front()) &&
           std::ranges::all_of(text, [&](char c) { return letter(c) || digit(c); });
}

std::string_view without_quotes(std::string_view text) {
    for (char quote : {'"', '\''})
        if (text.size() >= 2 && text.front() == quote && text.back() == quote)
            return text.substr(1, text.size() - 2);
    return text;
}

}  // namespace

std::vector<std::string> parse_environment_file(std::string_view text) {
    std::vector<std::string> out;
    for (std::string_view line : core::split(text, '\n')) {
        line = core::trim(line);
        size_t equals = line.find('=');
        if (equals == std::string_view::npos || !is_name(line.substr(0, equals)) || line.contains('\0'))
            continue;
        out.push_back(fmt::format("{}={}", line.substr(0, equals), without_quotes(line.substr(equals + 1))));
    }
    return out;
}

std::string working_directory_of_rc(std::string_view text) {
    for (std::string_view line : core::split(text, '\n')) {
        line = core::trim(line);
        if (!line.starts_with("cd \"/")) continue;
        std::string_view path = line.substr(4);
        path = path.substr(0, path.find('"'));
        if (path.find_first_of("$`\\") == std::string_view::npos) return std::string(path);
    }
    return "";
}

core::Result<Image> local_image(const std::filesystem::path& file) {
    std::string name = core::printable(file.string());
    core::note_activity("look at", file.native());
    struct stat status{};
    if (stat(file.c_str(), &status) != 0) {
        if (errno == ENOENT || errno == ENOTDIR)
            return core::bad_input("there is no image {}", name)
                .because_of_errno(errno)
                .hint("check the path");
        return core::errno_error(errno, fmt::format("cannot look at {}", name));
    }
    if (!S_ISREG(status.st_mode))
        return core::bad_input("{} is not a file", name).hint("an image is a SquashFS file");
    BELAY_TRY(reader, core::with_context(SquashfsReader::open(file), name));
    Image out{.digest = "",
              .squashfs = std::filesystem::absolute(file).lexically_normal(),
              .config = {},
              .bytes = static_cast<uint64_t>(status.st_size),
              .created = core::time_from_nanoseconds(int64_t{status.st_mtim.tv_sec} * 1'000'000'000 +
                                                     status.st_mtim.tv_nsec)};
    out.config.platform = host_platform();
    BELAY_TRY(environment, reader.read_if_there(std::string(kEnvironmentFile), kMaxTextBytes));
    if (environment) out.config.environment = parse_environment_file(*environment);
    BELAY_TRY(script, reader.read_if_there(std::string(kScript), kMaxTextBytes));
    if (script) {
        out.config.working_directory = working_directory_of_rc(*script);
        out.config.entrypoint = {"/bin/sh", "/" + std::string(kScript)};
    }
    return out;
}

}  // namespace belay::image
