#include "image/testing/tar_builder.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <isa-l/igzip_lib.h>
#include <memory>
#include <vector>

#include <fmt/format.h>
#include <zstd.h>

namespace belay::image::testing {

namespace {

constexpr size_t kBlock = 512;

void put(std::string& header, size_t at, size_t size, std::string_view text) {
    std::memcpy(header.data() + at, text.data(), std::min(size, text.size()));
}
std::string padded(std::string bytes) {
    bytes.resize((bytes.size() + kBlock - 1) / kBlock * kBlock, '\0');
    return bytes;
}

}  // namespace

std::string tar_entry(const TarField& field, bool gnu) {
    std::string header(kBlock, '\0');
    put(header, 0, 100, field.name);
    put(header, 100, 8, fmt::format("{:07o}", field.mode));
    put(header, 108, 8, fmt::format("{:07o}", field.user));
    put(header, 116, 8, fmt::format("{:07o}", field.user));
    put(header, 124, 12,
        field.size_field.empty() ? fmt::format("{:011o}", field.content.size()) : field.size_field);
    // Negative times are written as GNU tar does: base 256, two's complement.
    if (field.mtime >= 0) {
        put(header, 136, 12, fmt::format("{:011o}", field.mtime));
    } else {
        put(header, 136, 4, std::string(4, '\xff'));
        for (size_t i = 0; i < 8; ++i)
            header[140 + i] = static_cast<char>(static_cast<uint64_t>(field.mtime) >> (56 - 8 * i));
    }
    put(header, 148, 8, "        ");
    header[156] = field.type;
    put(header, 157, 100, field.link);
    put(header, 257, 8, gnu ? std::string_view("ustar  \0", 8) : std::string_view("ustar\00000", 8));
    unsigned sum = 0;
    for (unsigned char c : header) sum += c;
    put(header, 148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
    return header + padded(field.content);
}

std::string pax_raw(std::string_view records) {
    return tar_entry({.name = "PaxHeaders/x", .type = 'x', .content = std::string(records)});
}

std::string pax(std::string_view key, std::string_view value) {
    size_t length = key.size() + value.size() + 3;  // blank, "=", line feed
    size_t total = length + 1;
    while (std::to_string(total).size() + length != total) ++total;
    return pax_raw(fmt::format("{} {}={}\n", total, key, value));
}

std::string gnu_long(char type, std::string_view text) {
    return tar_entry({.name = "././@LongLink", .type = type, .content = std::string(text) + '\0'}, true);
}

std::string tar_end() {
    return std::string(2 * kBlock, '\0');
}

std::string tar_file(std::string name, std::string content) {
    return tar_entry({.name = std::move(name), .content = std::move(content)});
}
std::string tar_directory(std::string name, uint32_t mode) {
    return tar_entry({.name = std::move(name), .type = '5', .mode = mode});
}
std::string tar_symlink(std::string name, std::string target) {
    return tar_entry({.name = std::move(name), .type = '2', .link = std::move(target), .mode = 0777});
}
std::string tar_hard_link(std::string name, std::string target) {
    return tar_entry({.name = std::move(name), .type = '1', .link = std::move(target)});
}

std::string gzip(std::string_view bytes) {
    auto stream = std::make_unique<isal_zstream>();
    isal_deflate_init(stream.get());
    std::vector<uint8_t> level(ISAL_DEF_LVL1_DEFAULT);
    std::string out(bytes.size() + 1024, '\0');
    stream->level = 1;
    stream->level_buf = level.data();
    stream->level_buf_size = static_cast<uint32_t>(level.size());
    stream->gzip_flag = IGZIP_GZIP;
    stream->end_of_stream = 1;
    stream->flush = NO_FLUSH;
    stream->next_in = reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()));
    stream->avail_in = static_cast<uint32_t>(bytes.size());
    stream->next_out = reinterpret_cast<uint8_t*>(out.data());
    stream->avail_out = static_cast<uint32_t>(out.size());
    if (isal_deflate(stream.get()) != COMP_OK) std::abort();
    out.resize(stream->total_out);
    return out;
}

std::string zstd(std::string_view bytes) {
    std::string out(ZSTD_compressBound(bytes.size()), '\0');
    size_t n = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), 1);
    if (ZSTD_isError(n) != 0) std::abort();
    out.resize(n);
    return out;
}

}  // namespace belay::image::testing
