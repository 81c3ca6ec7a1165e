// Imports layers beside a canary and compares what the image holds, or why it was refused.
#pragma once

#include "core/file.h"
#include "image/import.h"
#include "image/squashfs_reader.h"
#include "image/testing/tar_builder.h"

#include <algorithm>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::image::testing {

// What an image holds: "a/ a/x=CONTENT l->TARGET", with "[MODE]" where it is none of the usual ones.
inline core::Result<std::string> describe(const std::filesystem::path& path) {
    BELAY_TRY(reader, SquashfsReader::open(path));
    BELAY_TRY(entries, reader.list());
    std::string out;
    for (const SquashfsEntry& entry : entries) {
        if (entry.path.empty()) continue;
        EXPECT_EQ(entry.user, 0u);
        EXPECT_EQ(entry.group, 0u);
        EXPECT_EQ(entry.mode & 06000U, 0u) << entry.path;
        std::string mode = entry.mode == 0644 || entry.mode == 0755 || entry.mode == 0777
                               ? ""
                               : fmt::format("[{:o}]", entry.mode);
        out += out.empty() ? "" : " ";
        if (entry.type == 'd') out += entry.path + "/" + mode;
        if (entry.type == 'l') out += entry.path + "->" + entry.target;
        if (entry.type == '?') out += entry.path + "?";
        if (entry.type != 'f') continue;
        BELAY_TRY(content, reader.read(entry.path, 1 << 20));
        if (content.size() > 40) content = fmt::format("{} bytes", content.size());
        out += entry.path + "=" + content + mode;
    }
    return out;
}

struct Sandbox {
    core::TemporaryDirectory directory = *core::TemporaryDirectory::create("belay-image");
    std::filesystem::path inside = directory.path() / "inside";
    std::filesystem::path canary = directory.path() / "canary";

    Sandbox() {
        std::filesystem::create_directory(inside);
        std::ofstream(canary) << "alive";
    }
    // Names, sizes, modes and times of everything but the image.
    std::string state() const {
        std::vector<std::string> lines;
        for (const auto& item : std::filesystem::recursive_directory_iterator(directory.path())) {
            if (item.path().filename() == "image.sqsh" || item.path() == inside) continue;
            struct stat facts{};
            EXPECT_EQ(lstat(item.path().c_str(), &facts), 0);
            lines.push_back(fmt::format("{} {} {:o} {}.{} {}", item.path().string(), facts.st_size,
                                        facts.st_mode, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec,
                                        facts.st_nlink));
        }
        std::ranges::sort(lines);
        return fmt::format("{}", fmt::join(lines, "\n"));
    }
};

inline core::Result<std::string> import_layers(const std::vector<std::string>& layers,
                                               const ImportLimits& limits,
                                               const std::filesystem::path& image) {
    std::vector<LayerInput> inputs;
    for (const std::string& layer : layers)
        inputs.push_back(
            {.name = "layer", .open = [&]() -> core::Result<ByteSource> { return read_from_memory(layer); }});
    std::filesystem::remove(image);
    BELAY_TRY(fd, core::open_file(image, O_RDWR | O_CREAT | O_EXCL));
    auto open_writer = [&]() -> core::Result<SquashfsWriter> {
        if (ftruncate(fd.get(), 0) != 0) return core::errno_error(errno, "cannot empty the image");
        return SquashfsWriter::create(fd.get(), image.string(), 2);
    };
    BELAY_CHECK(write_image(inputs, limits, open_writer, 0));
    return describe(image);
}

struct Case {
    std::string what;
    std::vector<std::string> layers;
    std::string expected;  // the image's content, or "refused: PART OF THE MESSAGE"
    ImportLimits limits = {};
};

inline void check_cases(std::span<const Case> cases) {
    Sandbox sandbox;
    std::filesystem::current_path(sandbox.inside);
    const std::string before = sandbox.state();
    for (const Case& row : cases) {
        auto result = import_layers(row.layers, row.limits, sandbox.inside / "image.sqsh");
        std::string got = result ? *result : "refused: " + result.error().message();
        constexpr std::string_view kRefused = "refused: ";
        if (row.expected.starts_with(kRefused)) {
            EXPECT_THAT(got, ::testing::StartsWith(std::string(kRefused))) << row.what;
            EXPECT_THAT(got, ::testing::HasSubstr(row.expected.substr(kRefused.size()))) << row.what;
        } else {
            EXPECT_EQ(got, row.expected) << row.what;
        }
        EXPECT_EQ(sandbox.state(), before) << row.what;
    }
    std::filesystem::current_path("/");
}

inline std::string one(const std::string& entries) {
    return entries + tar_end();
}

}  // namespace belay::image::testing
