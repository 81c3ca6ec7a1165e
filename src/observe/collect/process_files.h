// Reads what /proc tells of single processes. Any of them may end between two reads.
#pragma once

#include "core/error.h"
#include "core/file.h"
#include "observe/collect/procfs/pid_stat.h"

#include <dirent.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace belay::observe::collect {

class ProcessFiles {
  public:
    explicit ProcessFiles(std::filesystem::path proc) : path_(std::move(proc)) {}

    // The ids of all processes, ascending. Errors: kSystem.
    core::Result<> list(std::vector<pid_t>& pids);

    // A small file of a process, such as "io", at most 4 KiB of it; "" if it is gone or may not be read, and
    // then failure() says why (errno). Valid until the next read.
    std::string_view read(pid_t pid, std::string_view name);
    std::optional<procfs::PidStat> stat(pid_t pid);
    int failure() const { return failure_; }

    // Device and inode of the program that the process runs; of this process for "self".
    using FileIdentity = std::pair<dev_t, ino_t>;
    std::optional<FileIdentity> executable(std::string_view pid) const;
    std::optional<FileIdentity> executable(pid_t pid) const;

    // The number that a variable of the process's initial environment holds. Nothing else of the environment
    // is kept.
    std::optional<int64_t> environment_number(pid_t pid, std::string_view variable) const;

  private:
    core::Result<> open();
    core::Descriptor open_at(pid_t pid, std::string_view name) const;

    std::filesystem::path path_;
    std::unique_ptr<DIR, int (*)(DIR*)> directory_{nullptr, &closedir};
    int failure_ = 0;
    char buffer_[4096];
};

}  // namespace belay::observe::collect
