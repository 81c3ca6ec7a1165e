// A trace that the supervisors of a node's tasks share: whoever comes first makes it, the last one removes
// it. One that was killed leaves the file to whoever comes next.
//
//   BELAY_TRY(held, SharedTrace::join("/dev/shm", "belay-io-node1-12.0"));
//   ... start tasks with traced_environment(library, held.path(), …) ...
#pragma once

#include "core/error.h"
#include "core/file.h"

#include <filesystem>
#include <string>
#include <string_view>

namespace belay::iotrace {

class SharedTrace {
  public:
    // Removes what others of this user left in the directory: traces whose names begin as this one does until
    // its last "-", and that nobody holds. Errors: kSystem, also where somebody else's file has the name:
    // anybody may put one there.
    static core::Result<SharedTrace> join(const std::filesystem::path& directory, std::string_view name);
    SharedTrace(SharedTrace&& other) noexcept = default;
    SharedTrace& operator=(SharedTrace&&) = delete;
    SharedTrace(const SharedTrace&) = delete;
    SharedTrace& operator=(const SharedTrace&) = delete;
    ~SharedTrace();

    const std::filesystem::path& path() const { return path_; }

  private:
    SharedTrace(core::Descriptor held, std::filesystem::path path)
        : held_(std::move(held)), path_(std::move(path)) {}

    core::Descriptor held_;  // with a lock, shared
    std::filesystem::path path_;
};

}  // namespace belay::iotrace
