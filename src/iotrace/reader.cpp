#include "iotrace/reader.h"

#include "core/new_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace belay::iotrace {

namespace {

core::Result<> fill(const core::NewFile& file) {
    // Returns its error instead of setting errno.
    if (const int error = posix_fallocate(file.fd(), 0, static_cast<off_t>(kFileBytes)); error != 0)
        return core::errno_error(
            error, fmt::format("cannot allocate {} bytes for {}", kFileBytes, file.path().string()));
    return core::write_all(file.fd(), encode_header(core::system_clock().now()), file.path().string());
}

}  // namespace

core::Result<bool> IoTraceReader::make(const std::filesystem::path& path) {
    BELAY_TRY(directory, core::Directory::open(path.parent_path()));
    BELAY_TRY(file, core::NewFile::begin(directory, path.filename().native()));
    BELAY_CHECK(fill(file));
    return std::move(file).create();
}

core::Result<IoTraceReader> IoTraceReader::create(const std::filesystem::path& path) {
    BELAY_TRY(is_first, make(path));
    if (!is_first) return core::errno_error(EEXIST, fmt::format("cannot create {}", path.string()));
    return open(path);
}

core::Result<IoTraceReader> IoTraceReader::open(const std::filesystem::path& path) {
    BELAY_TRY(file, core::open_file(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
    struct stat facts{};
    if (fstat(file.get(), &facts) != 0)
        return core::errno_error(errno, fmt::format("cannot look at {}", path.string()));
    if (!S_ISREG(facts.st_mode)) return core::bad_input("{} is not a regular file", path.string());
    IoTraceReader reader(std::move(file), path);
    BELAY_CHECK(reader.totals());
    return reader;
}

core::Result<> IoTraceReader::read_part(size_t place, size_t size) {
    while (size > 0) {
        const ssize_t done = pread(fd_.get(), bytes_.data() + place, size, static_cast<off_t>(place));
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return core::errno_error(errno, fmt::format("cannot read {}", path_.string()));
        if (done == 0)
            return core::bad_input("{}: not an I/O trace: it ends at byte {}", path_.string(), place);
        place += static_cast<size_t>(done);
        size -= static_cast<size_t>(done);
    }
    return {};
}

core::Result<IoTotals> IoTraceReader::totals() {
    constexpr size_t kDeviceBytes = kSlots * kCellBytes;
    bytes_.resize(kFileBytes);
    BELAY_CHECK(read_part(0, kHeaderBytes));
    for (unsigned device = 0; device < kDevices; ++device)
        if (device == kNoDevice || device == kOtherDevices || is_device_set(bytes_, device))
            BELAY_CHECK(read_part(cell_place(device, 0), kDeviceBytes));
    return core::with_context(decode(bytes_), path_.string());
}

core::Result<core::Environment> traced_environment(const std::filesystem::path& library,
                                                   const std::filesystem::path& file,
                                                   const std::optional<std::string>& preloaded_before) {
    if (library.string().find_first_of(" :") != std::string::npos)
        return core::bad_input("{}: its path holds a space or a colon, at which LD_PRELOAD is parted",
                               library.string())
            .hint("install Belay in another directory");
    const std::string before = preloaded_before.value_or("");
    return core::Environment{
        {"LD_PRELOAD", before.empty() ? library.string() : before + ":" + library.string()},
        {kTraceVariable, file.string()}};
}

}  // namespace belay::iotrace
