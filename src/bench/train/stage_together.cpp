#include "bench/train/stage_together.h"

#include "core/directory.h"
#include "core/program.h"

#include <algorithm>
#include <cerrno>
#include <future>
#include <numeric>
#include <sys/stat.h>

namespace belay::bench {

namespace fs = std::filesystem;
using core::Result;

namespace {

enum Progress : uint64_t { kWorks, kDone, kFailed };

// How long until the others are asked again: soon at first, so that short work does not get longer.
constexpr core::Duration kLeastPause = std::chrono::milliseconds(5), kMostPause = std::chrono::seconds(1);

// What tells a directory from all others of its node; it is made where it is missing.
Result<std::string> place_of(const fs::path& path) {
    BELAY_TRY(directory, core::Directory::make_guarded(path, 0700));
    struct stat status{};
    if (fstat(directory.fd(), &status) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", path.string()));
    return fmt::format("{} {}", status.st_dev, status.st_ino);
}

Result<uint64_t> sum_of(Group& group, uint64_t value) {
    BELAY_TRY(all, group.gather(value));
    return std::accumulate(all.begin(), all.end(), uint64_t{0});
}

}  // namespace

Result<> while_all_are_there(Group& group, const std::function<Result<>(const std::atomic<bool>&)>& work) {
    std::atomic<bool> stop = false;
    if (group.size() == 1) return work(stop);
    auto work_of_this_rank =
        std::async(std::launch::async, [&] { return core::without_exceptions([&] { return work(stop); }); });
    uint64_t progress = kWorks;
    Result<> done;
    for (core::Duration pause = kLeastPause;; pause = std::min(2 * pause, kMostPause)) {
        if (progress == kWorks && work_of_this_rank.wait_for(pause) == std::future_status::ready) {
            done = work_of_this_rank.get();
            progress = done ? kDone : kFailed;
        }
        const auto all = group.gather(progress);
        const auto failed = all ? std::ranges::find(*all, kFailed) : std::vector<uint64_t>::const_iterator();
        if (all && failed == all->end()) {
            if (std::ranges::count(*all, kDone) == group.size()) return {};
            continue;
        }
        stop = true;
        if (work_of_this_rank.valid()) work_of_this_rank.wait();
        if (!done) return done;
        if (!all) return std::unexpected(all.error());
        return core::system_error("rank {} failed, for the reason that it gives itself",
                                  failed - all->begin());
    }
}

Result<Staged> stage_together(Group& group, const fs::path& from, const fs::path& to,
                              const std::function<Result<std::vector<std::string>>()>& needed) {
    std::vector<std::string> names;
    std::string place;
    BELAY_CHECK(while_all_are_there(group, [&](const std::atomic<bool>&) -> Result<> {
        BELAY_TRY(found, needed());
        names = std::move(found);
        BELAY_TRY(directory, core::with_context(place_of(to), "--stage-to"));
        place = std::move(directory);
        return {};
    }));
    BELAY_TRY(shared, sharing(group, place));
    const Sharing part = names.empty() ? shared : Sharing();  // all need all, or each its own
    Staged staged;
    BELAY_CHECK(while_all_are_there(group, [&](const std::atomic<bool>& stop) -> Result<> {
        BELAY_TRY(copied, stage_files(from, to, std::move(names), part, stop));
        staged = copied;
        return {};
    }));
    BELAY_TRY(files, sum_of(group, staged.files));
    BELAY_TRY(bytes, sum_of(group, staged.bytes));
    return Staged{.files = files, .bytes = bytes};
}

}  // namespace belay::bench
