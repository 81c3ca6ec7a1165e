#include "observe/fabric/port_file.h"

#include "core/file.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace belay::observe::fabric {

std::expected<PortText, int> read_text(int fd) {
    PortText text;
    ssize_t length = -1;
    do length = pread(fd, text.bytes.data(), text.bytes.size(), 0);
    while (length < 0 && errno == EINTR);
    if (length < 0) return std::unexpected(errno);
    text.length = static_cast<size_t>(length);
    return text;
}

std::expected<PortText, int> read_text(int directory, const char* file) {
    const core::Descriptor fd(openat(directory, file, O_RDONLY | O_CLOEXEC));
    if (!fd) return std::unexpected(errno);
    return read_text(fd.get());
}

std::optional<int64_t> number_in(int directory, const char* file,
                                 std::optional<int64_t> (*parse)(std::string_view)) {
    const std::expected<PortText, int> text = read_text(directory, file);
    return text ? parse(text->view()) : std::nullopt;
}

std::string name_in(int directory, const char* file, std::string_view (*parse)(std::string_view)) {
    const std::expected<PortText, int> text = read_text(directory, file);
    return text ? std::string(parse(text->view())) : std::string();
}

std::string link_name(int directory, const char* link) {
    std::array<char, 256> target;
    const ssize_t length = readlinkat(directory, link, target.data(), target.size());
    if (length <= 0) return {};
    const std::string_view path(target.data(), static_cast<size_t>(length));
    return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace belay::observe::fabric
