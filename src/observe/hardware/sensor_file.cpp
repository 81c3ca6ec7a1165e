#include "observe/hardware/sensor_file.h"

#include "core/directory.h"
#include "observe/hardware/sensor_text.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace belay::observe::hardware {

namespace {

constexpr size_t kLongestNumber = 64;
constexpr size_t kLongestLine = 512;

}  // namespace

std::string_view SensorFile::read(std::span<char> buffer) {
    error_ = 0;
    // Files of /sys never wait; whatever else has the name must not do so either.
    if (!fd_) fd_ = core::Descriptor(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    ssize_t length = -1;
    do {
        length = fd_ ? pread(fd_.get(), buffer.data(), buffer.size(), 0) : -1;
    } while (length < 0 && fd_ && errno == EINTR);
    if (length < 0) {
        error_ = errno;
        fd_.reset();
        return {};
    }
    return {buffer.data(), static_cast<size_t>(length)};
}

std::optional<int64_t> SensorFile::number() {
    std::array<char, kLongestNumber> buffer;
    return parse_sensor_number(read(buffer));
}

std::string name_in(const std::filesystem::path& path) {
    std::array<char, kLongestLine> buffer;
    return parse_name(SensorFile(path).read(buffer));
}

std::vector<std::string> names_in(const std::filesystem::path& directory) {
    core::Result<core::Directory> opened = core::Directory::open(directory);
    if (!opened) return {};
    return opened->list().value_or(std::vector<std::string>());
}

}  // namespace belay::observe::hardware
