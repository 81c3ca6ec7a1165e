#include "cli/libexec.h"

#include <fmt/format.h>

namespace belay::cli {

core::Result<std::filesystem::path> libexec_program(std::string_view name) {
    std::error_code error;
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    if (error) return core::errno_error(error, "cannot find the path of this program");
    auto program = self.parent_path().parent_path() / "libexec" / "belay" / name;
    const bool is_there = std::filesystem::exists(program, error);
    if (error) return core::errno_error(error, fmt::format("cannot look at {}", program.string()));
    if (!is_there)
        return core::system_error("{} is missing", program.string())
            .because(core::Cause::kNotFound)
            .hint("it is built where libtorch is found; ./bootstrap installs that");
    return program;
}

}  // namespace belay::cli
