// Tars for tests, byte by byte, so that they can be as wrong as an attacker's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace belay::image::testing {

struct TarField {
    std::string name;
    char type = '0';
    std::string content = {};
    std::string link = {};
    uint32_t mode = 0644;
    int64_t mtime = 7;
    std::string size_field = {};  // instead of the content's size: 12 bytes at most
    uint32_t user = 0;
};

// One header and its content, padded. `gnu` writes the magic of old GNU tar.
std::string tar_entry(const TarField& field, bool gnu = false);
// A PAX header of records such as "path=a/b" for the entry that follows.
std::string pax(std::string_view key, std::string_view value);
std::string pax_raw(std::string_view records);
// A GNU long name ('L') or link ('K').
std::string gnu_long(char type, std::string_view text);
std::string tar_end();

std::string tar_file(std::string name, std::string content = "x");
std::string tar_directory(std::string name, uint32_t mode = 0755);
std::string tar_symlink(std::string name, std::string target);
std::string tar_hard_link(std::string name, std::string target);

std::string gzip(std::string_view bytes);
std::string zstd(std::string_view bytes);

}  // namespace belay::image::testing
