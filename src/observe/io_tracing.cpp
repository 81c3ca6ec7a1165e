#include "observe/io_tracing.h"

#include "core/tell.h"
#include "iotrace/reader.h"
#include "observe/collect/tiers.h"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

namespace belay::observe {

namespace fs = std::filesystem;
using core::Result;

namespace {

constexpr std::string_view kNotTraced = "I/O is not traced";
constexpr const char* kMemory = "/dev/shm";
constexpr std::string_view kLibrary = "libbelay_io.so";

}  // namespace

Result<fs::path> io_trace_library() {
    std::error_code error;
    const fs::path own = fs::read_symlink("/proc/self/exe", error);
    if (error) return core::errno_error(error, "cannot tell where this program is");
    const fs::path prefix = own.parent_path().parent_path();
    for (const char* place : {"lib/belay", "lib"})  // installed; as it was built
        if (fs::path library = prefix / place / kLibrary; access(library.c_str(), R_OK) == 0) return library;
    return core::system_error("{} is not in {}", kLibrary, (prefix / "lib/belay").string())
        .hint("install all of the package belay; in a build directory: cmake --build . --target belay_io");
}

Result<std::optional<IoTracing>> io_tracing_of(const core::Configuration& configuration) {
    IoTracing tracing{.library = {}, .tiers = configuration.text_list("record.tiers")};
    BELAY_CHECK(collect::parse_tiers(tracing.tiers));
    if (!configuration.boolean("record.io_trace")) return std::nullopt;
    auto library = io_trace_library();
    if (!library) {
        core::tell_error(kNotTraced, library.error(), core::kJobGoesOn);
        return std::nullopt;
    }
    tracing.library = std::move(*library);
    return tracing;
}

// Nodes and clusters may share a machine, as those of a test do; a program outside Slurm is alone.
fs::path io_trace_path(const Placement& placement) {
    std::string node = placement.node;
    std::ranges::replace(node, '/', '_');
    const std::string step = placement.job.id
                                 ? fmt::format("{}.{}.{}", *placement.job.id,
                                               placement.step.value_or("batch"), placement.job.restart)
                                 : fmt::format("p{}", getpid());
    return fs::path(kMemory) /
           fmt::format("belay-io-{}-{}-{}-{}", geteuid(), placement.job.cluster, node, step);
}

std::optional<iotrace::SharedTrace> hold_io_trace(const Placement& placement) {
    const fs::path path = io_trace_path(placement);
    auto held = iotrace::SharedTrace::join(path.parent_path(), path.filename().native());
    if (held) return std::move(*held);
    core::tell_error(kNotTraced, held.error(), core::kJobGoesOn);
    return std::nullopt;
}

core::Environment io_traced_variables(const fs::path& library, const Placement& placement,
                                      const std::optional<std::string>& preloaded_before) {
    auto variables = iotrace::traced_environment(library, io_trace_path(placement), preloaded_before);
    if (variables) return std::move(*variables);
    core::tell_error(kNotTraced, variables.error(), core::kJobGoesOn);
    return {};
}

}  // namespace belay::observe
