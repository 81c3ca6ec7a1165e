#include "stage/space/memory_room.h"

#include "core/file.h"
#include "core/text.h"

#include <algorithm>
#include <linux/magic.h>
#include <sys/statfs.h>
#include <vector>

namespace belay::stage {

namespace fs = std::filesystem;
using core::Result;

namespace {

// The value behind a name, of lines "name value" or "name: value kB".
std::optional<uint64_t> value_of(std::string_view text, std::string_view name) {
    for (std::string_view line : core::split(text, '\n')) {
        if (!line.starts_with(name)) continue;
        line.remove_prefix(name.size());
        if (!line.starts_with(' ') && !line.starts_with(':')) continue;
        if (line.starts_with(':')) line.remove_prefix(1);
        line = core::trim(line);
        const bool is_kib = line.ends_with(" kB");
        if (is_kib) line.remove_suffix(3);
        const auto number = core::parse_number<uint64_t>(core::trim(line));
        if (!number) return std::nullopt;
        return is_kib ? *number * 1024 : *number;
    }
    return std::nullopt;
}

// What the two versions of cgroups call things.
struct Names {
    const char* hierarchy;  // beneath /sys/fs/cgroup
    const char* limit;
    const char* shared;  // of memory.stat, the groups below included
};
constexpr Names kUnified{"", "memory.max", "shmem"};
constexpr Names kLegacy{"memory", "memory.limit_in_bytes", "total_shmem"};
constexpr uint64_t kNoLimit = uint64_t{1} << 60;  // what version 1 calls one that is none is just below 2^63

std::optional<uint64_t> limit_of(const fs::path& group, const Names& names) {
    const auto text = core::read_file(group / names.limit);
    const auto limit =
        text ? core::parse_number<uint64_t>(core::trim(*text)) : std::nullopt;  // "max" is none
    return limit && *limit < kNoLimit ? limit : std::nullopt;
}

std::optional<MemoryRoom> room_of(const MemoryCgroup& cgroup, const fs::path& root) {
    const Names& names = cgroup.is_unified ? kUnified : kLegacy;
    const fs::path top = root / names.hierarchy;
    std::optional<uint64_t> lowest;
    fs::path limiting, job;
    // The last is the top itself, which has a limit where it is that of a container (cgroup namespaces).
    for (fs::path at = fs::path(cgroup.path).relative_path();; at = at.parent_path()) {
        const auto limit = limit_of(top / at, names);
        if (limit && (!lowest || *limit < *lowest)) {
            lowest = limit;
            limiting = at;
        }
        if (at.filename().native().starts_with("job_")) job = at;  // as Slurm names it
        if (at.empty()) break;
    }
    if (!lowest) return std::nullopt;
    // What other steps of the job hold takes its memory too.
    const fs::path& all = job.empty() ? limiting : job;
    const auto text = core::read_file(top / all / "memory.stat");
    const auto held = text ? value_of(*text, names.shared) : std::nullopt;
    return MemoryRoom{.limit = *lowest, .held = held.value_or(0), .of = "the job"};
}

}  // namespace

bool is_in_memory(const core::Directory& directory) {
    struct statfs facts{};
    return fstatfs(directory.fd(), &facts) == 0 &&
           (facts.f_type == TMPFS_MAGIC || facts.f_type == RAMFS_MAGIC);
}

std::optional<MemoryCgroup> find_memory_cgroup(std::string_view text) {
    std::optional<MemoryCgroup> unified;
    for (std::string_view line : core::split(text, '\n')) {
        const size_t first = line.find(':');
        const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
        if (second == std::string_view::npos) continue;
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        const std::string path(line.substr(second + 1));
        if (controllers.empty()) unified = MemoryCgroup{.is_unified = true, .path = path};
        for (std::string_view controller : core::split(controllers, ','))
            if (controller == "memory") return MemoryCgroup{.is_unified = false, .path = path};
    }
    return unified;
}

Result<MemoryRoom> memory_room(const MemoryPlaces& places) {
    if (const auto text = core::read_file(places.proc / "self/cgroup"))
        if (const auto cgroup = find_memory_cgroup(*text))
            if (auto room = room_of(*cgroup, places.cgroup)) return std::move(*room);
    BELAY_TRY(text, core::read_file(places.proc / "meminfo"));
    const auto total = value_of(text, "MemTotal");
    const auto held = value_of(text, "Shmem");
    if (!total || !held)
        return core::system_error("{} does not say how much memory there is",
                                  (places.proc / "meminfo").string());
    return MemoryRoom{.limit = *total, .held = *held, .of = "the node"};
}

}  // namespace belay::stage
