// Files of one line in the directory of a port.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace belay::observe::fabric {

// The first 63 bytes of a file, which are all of it where the driver wrote it.
struct PortText {
    std::array<char, 63> bytes;
    size_t length = 0;
    std::string_view view() const { return {bytes.data(), length}; }
};

// From the start of an open file, with one read. Errors: the errno.
std::expected<PortText, int> read_text(int fd);

// Opens, reads and closes a file beneath a directory. Errors: the errno.
std::expected<PortText, int> read_text(int directory, const char* file);

// The same by a parser of port_text.h; nothing, or "", where it cannot be read.
std::optional<int64_t> number_in(int directory, const char* file,
                                 std::optional<int64_t> (*parse)(std::string_view));
std::string name_in(int directory, const char* file, std::string_view (*parse)(std::string_view));

// The last part of a link beneath a directory, such as that to a driver; "" where there is none.
std::string link_name(int directory, const char* link);

}  // namespace belay::observe::fabric
