// Reads what /proc tells of single processes. Any of them may end between two reads.
#pragma once

#include "core/error.h"
#include "core/file.h"
#include "core/process.h"
#include "procfs/pid_stat.h"

#include <array>
#include <dirent.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>
#include <unordered_map>
#include <utility>
#include <vector>

namespace belay::observe::collect {

enum class PidFile { kStat, kSchedstat, kIo, kStatm };
inline constexpr size_t kPidFiles = 4;

class ProcessFiles {
  public:
    explicit ProcessFiles(std::filesystem::path proc);

    // The ids of all processes, ascending. Errors: kSystem.
    core::Result<> list(std::vector<pid_t>& pids);

    // A small file of a process, at most 4 KiB of it; "" if it is gone or may not be read, and then failure()
    // says why (errno). Valid until the next read. With `keep` the file stays open for the next time, which
    // costs a third of opening it again, as far as the limit of open files leaves room.
    std::string_view read(pid_t pid, PidFile file, bool keep);
    std::optional<procfs::PidStat> stat(pid_t pid, bool keep);
    // Closes what was kept open.
    void forget(pid_t pid) { kept_.erase(pid); }
    int failure() const { return failure_; }

    // Device and inode of the program that the process runs; of this process for "self".
    using FileIdentity = std::pair<dev_t, ino_t>;
    std::optional<FileIdentity> executable(std::string_view pid) const;
    std::optional<FileIdentity> executable(pid_t pid) const;

    // The number that a variable of the process's initial environment holds. Nothing else of the environment
    // is kept.
    std::optional<int64_t> environment_number(pid_t pid, std::string_view variable) const;
    // Those of these variables that it was started with, where they are no longer than that; nothing if its
    // environment cannot be read, and then failure() says why.
    std::optional<core::Environment> environment(pid_t pid, std::span<const std::string_view> variables,
                                                 size_t longest);
    // The beginning of its command line as it stands in memory, which a daemon makes its title.
    std::string title(pid_t pid) const;
    // Whose process it is: of its directory, since the files of one that may not be dumped are root's.
    std::optional<uid_t> owner(pid_t pid) const;
    // False where it is known to run another program than one whose name begins so and that belongs to root
    // or to who looks.
    bool may_run(pid_t pid, std::string_view program) const;

  private:
    using Kept = std::array<core::Descriptor, kPidFiles>;  // by PidFile

    core::Result<> open();
    Kept* kept_of(pid_t pid);
    std::string_view take(ssize_t length);
    core::Descriptor open_at(pid_t pid, std::string_view name) const;
    std::optional<struct ::statx> known_executable(std::string_view pid) const;

    std::filesystem::path path_;
    std::unique_ptr<DIR, int (*)(DIR*)> directory_{nullptr, &closedir};
    std::unordered_map<pid_t, Kept> kept_;
    size_t kept_limit_;  // processes
    int failure_ = 0;
    char buffer_[4096];
};

}  // namespace belay::observe::collect
