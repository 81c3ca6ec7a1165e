// The recorder's side of a job's I/O trace: makes the file that processes count into, says what they need to
// find it, and sums up what they have counted.
//
//   BELAY_TRY(trace, IoTraceReader::create("/dev/shm/belay-io-1234"));
//   BELAY_TRY(variables, traced_environment(library, trace.path(), environment_variable("LD_PRELOAD")));
//   ... start the job with these variables ...
//   every second:  BELAY_TRY(totals, trace.totals());
#pragma once

#include "core/error.h"
#include "core/file.h"
#include "core/process.h"
#include "iotrace/trace_file.h"

#include <filesystem>
#include <optional>
#include <string>

namespace belay::iotrace {

class IoTraceReader {
  public:
    // A new file, all of it allocated before it has its name, readable and writable by this user only. On a
    // file system in memory (/dev/shm): the kernel would write the pages of another one back again and again.
    // Errors: kSystem, also if there is something of that name (EEXIST), and where the file system cannot
    // allocate.
    static core::Result<IoTraceReader> create(const std::filesystem::path& path);
    // Makes the file and does not open it: others may find and remove it at once. Whether it was this one that
    // made it; false where there is something of that name. Errors: kSystem.
    static core::Result<bool> make(const std::filesystem::path& path);
    // One that was made before. Errors: kSystem; kBadInput for anything but such a file.
    static core::Result<IoTraceReader> open(const std::filesystem::path& path);

    // What was counted until now; processes go on counting meanwhile. Reads 64 KiB for each device that was
    // seen. Never waits for a process, and is not disturbed by one that damages the file. Errors: kSystem;
    // kBadInput for a file that is damaged.
    core::Result<IoTotals> totals();

    const std::filesystem::path& path() const { return path_; }

  private:
    IoTraceReader(core::Descriptor fd, std::filesystem::path path)
        : fd_(std::move(fd)), path_(std::move(path)) {}
    core::Result<> read_part(size_t place, size_t size);

    core::Descriptor fd_;
    std::filesystem::path path_;
    std::string bytes_ = {};  // of the file, as far as it is in use
};

// The variables by which a process and its descendants are traced: LD_PRELOAD, with the library behind what
// was there before, and kTraceVariable. Errors: kBadInput for a library whose path LD_PRELOAD cannot hold,
// since ld.so parts it at spaces and colons.
core::Result<core::Environment> traced_environment(const std::filesystem::path& library,
                                                   const std::filesystem::path& file,
                                                   const std::optional<std::string>& preloaded_before);

}  // namespace belay::iotrace
