#include "stage/pack/sink.h"

#include "core/directory.h"
#include "core/file.h"
#include "core/new_file.h"

#include <algorithm>
#include <fcntl.h>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

struct Written {
    std::string content, sha256;
    uint64_t bytes = 0, done = 0;
};

// `content` in pieces of random sizes, by each way in.
Written write_in_pieces(const std::filesystem::path& directory, const std::string& content, unsigned seed) {
    std::mt19937 random(seed);
    auto opened = core::Directory::open(directory);
    auto file = core::NewFile::begin(*opened, "file");
    std::atomic<uint64_t> done{0};
    Sink sink(file->fd(), "file", done);
    std::string_view rest = content;
    while (!rest.empty()) {
        const size_t most =
            std::uniform_int_distribution<size_t>(0, 3)(random) == 0 ? 3 * Sink::kRoomBytes : 9000;
        const size_t size = std::min(rest.size(), std::uniform_int_distribution<size_t>(0, most)(random));
        const std::string_view piece = rest.substr(0, size);
        if (size <= Sink::kRoomBytes && random() % 2 == 0) {
            const auto place = sink.room(size);
            EXPECT_TRUE(place.has_value());
            std::ranges::copy(piece, place->begin());
            sink.take(size);
        } else if (std::ranges::all_of(piece, [](char byte) { return byte == 0; })) {
            EXPECT_TRUE(sink.zeros(size).has_value());
        } else {
            EXPECT_TRUE(sink.put(piece).has_value());
        }
        rest.remove_prefix(size);
        EXPECT_EQ(sink.bytes(), content.size() - rest.size());
    }
    EXPECT_TRUE(sink.finish().has_value());
    EXPECT_EQ(fcntl(file->fd(), F_GETFL) & O_DIRECT, 0);
    Written written{.sha256 = sink.sha256(), .bytes = sink.bytes(), .done = done};
    EXPECT_TRUE(std::move(*file).replace().has_value());
    written.content = core::read_file(directory / "file").value();
    return written;
}

TEST(stage_sink, what_was_put_is_in_the_file_however_it_came) {
    std::mt19937 random(7);
    const auto here = core::TemporaryDirectory::create().value();
    const auto memory = "/dev/shm" / std::filesystem::path(core::random_name("belay-sink-").value());
    ASSERT_TRUE(std::filesystem::create_directory(memory));
    for (const size_t bytes : {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{65537},
                               4 * Sink::kRoomBytes, 4 * Sink::kRoomBytes + 1, 11 * Sink::kRoomBytes + 77}) {
        std::string content(bytes, '\0');
        for (size_t i = bytes / 2; i < bytes; ++i) content[i] = static_cast<char>(random());
        for (const auto& directory : {here.path(), memory}) {
            const Written written = write_in_pieces(directory, content, static_cast<unsigned>(bytes));
            EXPECT_TRUE(written.content == content) << bytes << " bytes in " << directory;
            EXPECT_EQ(written.sha256, core::to_hex(core::sha256(content)));
            EXPECT_EQ(written.bytes, bytes);
            EXPECT_EQ(written.done, bytes);
        }
    }
    std::filesystem::remove_all(memory);
}

TEST(stage_sink, a_full_file_system_is_an_error_that_names_the_file) {
    const core::Descriptor full(open("/dev/full", O_WRONLY | O_CLOEXEC));
    std::atomic<uint64_t> done{0};
    Sink sink(full.get(), "out/train-000000.tar", done);
    ASSERT_TRUE(sink.put("what does not fit").has_value());
    const auto finished = sink.finish();
    ASSERT_FALSE(finished.has_value());
    EXPECT_NE(finished.error().message().find("out/train-000000.tar"), std::string::npos);
    EXPECT_EQ(finished.error().errno_value(), ENOSPC);
    EXPECT_EQ(done, 0U);
}

}  // namespace
}  // namespace belay::stage
