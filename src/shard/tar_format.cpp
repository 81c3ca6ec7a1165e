#include "shard/tar_format.h"

#include "core/utf8.h"

#include <array>
#include <cstring>

#include <fmt/format.h>

namespace belay::shard {

namespace {

struct Header {
    std::array<char, 100> name;
    std::array<char, 8> mode;
    std::array<char, 8> user;
    std::array<char, 8> group;
    std::array<char, 12> size;
    std::array<char, 12> mtime;
    std::array<char, 8> checksum;
    char type;
    std::array<char, 100> link;
    std::array<char, 8> magic;  // with the version
    std::array<char, 32> user_name;
    std::array<char, 32> group_name;
    std::array<char, 8> device_major;
    std::array<char, 8> device_minor;
    std::array<char, 155> prefix;
    std::array<char, 12> padding;
};
static_assert(sizeof(Header) == kTarBlock);

template <size_t kSize>
void put(std::array<char, kSize>& field, std::string_view text) {
    std::memcpy(field.data(), text.data(), std::min(text.size(), kSize));
}

std::string block(std::string_view name, uint64_t size, char type) {
    Header header{};
    put(header.name, name);
    put(header.mode, "0000644");
    put(header.user, "0000000");
    put(header.group, "0000000");
    put(header.size, fmt::format("{:011o}", size));
    put(header.mtime, "00000000000");
    put(header.checksum, "        ");  // while it is added up
    header.type = type;
    put(header.magic, std::string_view("ustar\00000", 8));
    put(header.device_major, "0000000");
    put(header.device_minor, "0000000");
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    unsigned sum = 0;
    for (char byte : bytes) sum += static_cast<unsigned char>(byte);
    const std::string checksum = fmt::format("{:06o}", sum);
    std::memcpy(bytes.data() + offsetof(Header, checksum), checksum.c_str(), checksum.size() + 1);
    return bytes;
}

// "LENGTH KEY=VALUE\n", where LENGTH counts its own digits.
std::string pax_record(std::string_view key, std::string_view value) {
    const size_t rest = key.size() + value.size() + 3;
    size_t length = rest + 1;
    while (rest + std::to_string(length).size() != length) length = rest + std::to_string(length).size();
    return fmt::format("{} {}={}\n", length, key, value);
}

std::string pax_records(std::string_view name, uint64_t size) {
    std::string records;
    const bool long_name = name.size() > kTarNameBytes;
    // Else readers would take the name for UTF-8.
    if (long_name && core::to_valid_utf8(name) != name) records += pax_record("hdrcharset", "BINARY");
    if (long_name) records += pax_record("path", name);
    if (size >= kTarSizeLimit) records += pax_record("size", std::to_string(size));
    return records;
}

}  // namespace

std::string tar_header(std::string_view name, uint64_t size) {
    const std::string records = pax_records(name, size);
    std::string bytes;
    if (!records.empty()) {
        bytes = block("PaxHeader", records.size(), 'x') + records;
        bytes.append(tar_padding(records.size()), '\0');
    }
    return bytes + block(name.substr(0, kTarNameBytes), size < kTarSizeLimit ? size : 0, '0');
}

uint64_t tar_header_bytes(std::string_view name, uint64_t size) {
    const uint64_t records = pax_records(name, size).size();
    return kTarBlock + (records > 0 ? kTarBlock + records + tar_padding(records) : 0);
}

}  // namespace belay::shard
