#include "record/archive/query_limits.h"

#include "core/deadline.h"
#include "core/file.h"
#include "core/program.h"
#include "core/text.h"

#include <algorithm>
#include <cerrno>
#include <unistd.h>

namespace belay::record {

namespace {

// DuckDB forgets an interrupt that comes before a statement has begun: one query is several statements.
constexpr core::Duration kAgain = std::chrono::milliseconds(100);
// Stacks and buffers of threads, what DuckDB takes beside its own limit, and the answer.
constexpr uint64_t kRoom = uint64_t{1} << 30;

// What RLIMIT_DATA counts, in bytes; nothing where the kernel does not tell. proc(5): statm, "data".
std::optional<uint64_t> private_memory() {
    const auto text = core::read_file("/proc/self/statm");
    if (!text) return std::nullopt;
    const auto words = core::split_words(*text);
    const auto pages = words.size() > 5 ? core::parse_number<uint64_t>(words[5]) : std::nullopt;
    if (!pages) return std::nullopt;
    return *pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

core::Error too_slow(Statement statement, const QueryLimits& limits) {
    const bool is_own = statement != Statement::kQuery;
    return core::Error(is_own ? core::ErrorKind::kSystem : core::ErrorKind::kBadInput,
                       fmt::format("{} took longer than {}", is_own ? "asking the record" : "the query",
                                   core::to_text(limits.time)))
        .because(core::Cause::kTimedOut)
        .hint(is_own ? "raise the setting query.time"
                     : "raise the setting query.time, or aggregate fewer rows");
}

core::Error too_large(Statement statement, const QueryLimits& limits) {
    const bool is_own = statement != Statement::kQuery;
    const std::string_view what = is_own ? "asking the record" : "the query";
    const auto kind = is_own ? core::ErrorKind::kSystem : core::ErrorKind::kBadInput;
    if (!limits.memory)
        return core::Error(kind, fmt::format("{} needs more memory than there is", what))
            .because_of_errno(ENOMEM)
            .hint(is_own ? "run it where there is more memory, or ask Slurm for more (--mem)"
                         : "use an aggregate or a LIMIT, or ask it where there is more memory");
    return core::Error(kind,
                       fmt::format("{} needs more than {} of memory", what, core::to_text(*limits.memory)))
        .because_of_errno(ENOMEM)
        .hint(is_own ? "raise the setting query.memory"
                     : "raise the setting query.memory, or use an aggregate or a LIMIT");
}

Interrupter::Interrupter(const DuckdbApi* api, duckdb_connection connection, Statement statement,
                         const QueryLimits& limits) {
    const core::Deadline deadline = core::Deadline::after(limits.time);
    if (deadline.is_never()) return;
    thread_ = std::jthread([this, api, connection, deadline, statement, limits](const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        const auto never = [] { return false; };
        wake_.wait_for(lock, stop, deadline.left(), never);
        const core::Deadline last = core::Deadline::after(kGrace);
        while (!stop.stop_requested()) {
            api->interrupt(connection);
            wake_.wait_for(lock, stop, kAgain, never);
            if (stop.stop_requested() || !last.is_over()) continue;
            _exit(core::show_error("belay", too_slow(statement, limits)));
        }
    });
}

MemoryLimit::MemoryLimit(std::optional<core::ByteSize> memory) {
    const auto taken = private_memory();
    rlimit now{};
    if (!memory || !taken || getrlimit(RLIMIT_DATA, &now) != 0) return;
    rlimit less = now;
    less.rlim_cur = std::min<rlim_t>(now.rlim_cur, *taken + memory->bytes + kRoom);
    if (setrlimit(RLIMIT_DATA, &less) == 0) before_ = now;
}

MemoryLimit::~MemoryLimit() {
    if (before_) setrlimit(RLIMIT_DATA, &*before_);
}

}  // namespace belay::record
