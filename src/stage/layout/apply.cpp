#include "stage/layout/apply.h"

#include "core/process.h"
#include "core/text.h"

#include <cerrno>
#include <chrono>
#include <sys/stat.h>
#include <sys/vfs.h>

namespace belay::stage {

namespace {

using core::Result;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr uint32_t kLustreMagic =
    0x0BD00BD0;  // LL_SUPER_MAGIC, lustre/include/uapi/linux/lustre/lustre_user.h
constexpr auto kPatience = 30s;

fs::path directory_of(const fs::path& path) {
    const fs::path parent = (path.has_filename() ? path : path.parent_path()).parent_path();
    return parent.empty() ? fs::path(".") : parent;
}

}  // namespace

uint64_t count_osts(std::string_view text) {
    uint64_t count = 0;
    for (const std::string_view line : core::split(text, '\n')) {
        const auto words = core::split_words(line);
        if (words.size() >= 3 && words[0].ends_with(':') &&
            core::parse_number<uint64_t>(words[0].substr(0, words[0].size() - 1)) && words[2] == "ACTIVE")
            ++count;
    }
    return count;
}

Result<LayoutTarget> look_at_layout_target(const fs::path& path) {
    LayoutTarget target{.path = path};
    struct stat status{};
    if (::stat(path.c_str(), &status) == 0) {
        target.exists = true;
        target.is_directory = S_ISDIR(status.st_mode);
        target.file_bytes = S_ISREG(status.st_mode) ? static_cast<uint64_t>(status.st_size) : 0;
    } else if (errno != ENOENT) {
        return core::errno_error(errno, fmt::format("cannot look at {}", path.string()));
    }
    const fs::path place = target.exists ? path : directory_of(path);
    struct statfs system{};
    if (statfs(place.c_str(), &system) != 0)
        return core::errno_error(errno, fmt::format("cannot look at the file system of {}", place.string()));
    target.is_lustre = static_cast<uint32_t>(system.f_type) == kLustreMagic;
    if (auto lfs = core::find_program("lfs")) target.lfs = std::move(*lfs);
    if (target.lfs && target.is_lustre)
        if (auto listed = core::output_of({.argv = {target.lfs->string(), "osts", place.string()}},
                                          {.timeout = kPatience}))
            if (const uint64_t osts = count_osts(*listed); osts > 0) target.osts = osts;
    return target;
}

bool needs_migration(const LayoutTarget& target) {
    return target.exists && !target.is_directory;
}

std::optional<std::string> why_not_applied(const LayoutTarget& target) {
    if (!target.is_lustre) return fmt::format("{} is not on a Lustre file system", target.path.string());
    if (!target.lfs) return "the program lfs is not in PATH";
    if (needs_migration(target))
        return fmt::format("{} exists, and a new layout means a copy of it", target.path.string());
    return std::nullopt;
}

Result<> apply_layout(const LayoutAdvice& advice, const LayoutTarget& target) {
    if (const auto why = why_not_applied(target)) return core::negative("the layout was not set: {}", *why);
    std::vector<std::string> argv = layout_command(advice, target.path);
    argv[0] = target.lfs->string();
    BELAY_CHECK(core::output_of({.argv = argv}, {.timeout = kPatience}));
    return {};
}

}  // namespace belay::stage
