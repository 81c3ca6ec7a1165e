// For tests: a source to pack, and a place for what is packed.
#pragma once

#include "core/file.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>

#include <fmt/format.h>

namespace belay::stage {

class SourceForTests {
  public:
    SourceForTests() { std::filesystem::create_directory(source()); }
    std::filesystem::path source() const { return directory_.path() / "train"; }
    std::filesystem::path output(const std::string& name = "out") const { return directory_.path() / name; }
    void file(const std::string& name, const std::string& content) const {
        std::filesystem::create_directories((source() / name).parent_path());
        std::ofstream(source() / name, std::ios::binary) << content;
    }
    // 60 samples of two files each, in three directories.
    void some_files() const {
        std::mt19937_64 random(1);
        for (int i = 0; i < 60; ++i)
            for (const char* suffix : {".bin", ".cls"})
                file(fmt::format("class{}/{:03}{}", i % 3, i, suffix),
                     std::string(random() % 4000, static_cast<char>('a' + i % 26)));
    }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

inline std::string content_of(const std::filesystem::path& path) {
    return core::read_file(path).value();
}
// Of all files of a directory, by name.
inline std::map<std::string, std::string> contents_of(const std::filesystem::path& directory) {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        all[entry.path().filename()] = content_of(entry.path());
    return all;
}

}  // namespace belay::stage
