#include "image/import.h"

#include "core/file.h"
#include "image/squashfs_reader.h"
#include "image/testing/tar_builder.h"

#include <csignal>
#include <fcntl.h>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

// After a failed write libsquashfs 1.2 gives up the block that it was filling, 128 KiB, whatever is called.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:sqfs_block_processor_append\nleak:libsquashfs.so";
}

namespace belay::image {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::tar_end;
using testing::tar_file;
using testing::tar_hard_link;

// Bytes that do not compress.
std::string noise(size_t size, unsigned seed) {
    std::mt19937 random(seed);
    std::string out(size, '\0');
    for (char& byte : out) byte = static_cast<char>(random());
    return out;
}

class ImportTest {
  public:
    core::Result<> import(const std::vector<std::string>& layers, std::string diff_id = "") {
        std::vector<LayerInput> inputs;
        for (const std::string& layer : layers)
            inputs.push_back({.name = "layer",
                              .open = [&]() -> core::Result<ByteSource> { return source(layer); },
                              .diff_id = diff_id,
                              .compressed_bytes = layer.size()});
        BELAY_TRY(fd, core::open_file(file, O_RDWR | O_CREAT | O_TRUNC));
        begun = 0;
        auto open_writer = [&]() -> core::Result<SquashfsWriter> {
            ++begun;
            if (ftruncate(fd.get(), 0) != 0) return core::errno_error(errno, "cannot empty it");
            return SquashfsWriter::create(fd.get(), file.string(), 2);
        };
        return write_image(inputs, limits, open_writer, 0,
                           [this](uint64_t done, uint64_t total) { progress = {done, total}; });
    }
    // Breaks when it has given more than `breaks_after` bytes.
    ByteSource source(std::string_view layer) const {
        return [this, given = uint64_t{0}, rest = read_from_memory(layer)](
                   char* buffer, size_t size) mutable -> core::Result<size_t> {
            if (given >= breaks_after) return core::errno_error(EIO, "cannot read it");
            auto n = rest(buffer, std::min<uint64_t>(size, breaks_after));
            given += n.value_or(0);
            return n;
        };
    }
    std::string content(const std::string& path) const {
        auto reader = SquashfsReader::open(file);
        if (!reader) return reader.error().message();
        auto text = reader->read(path, size_t{1} << 24);
        return text ? *text : text.error().message();
    }

    core::TemporaryDirectory directory = *core::TemporaryDirectory::create("belay-import");
    fs::path file = directory.path() / "i.sqsh";
    ImportLimits limits;
    uint64_t breaks_after = UINT64_MAX;
    int begun = 0;
    std::pair<uint64_t, uint64_t> progress;
};

}  // namespace

TEST(image, import_reads_layers_once) {
    ImportTest test;
    std::string big = noise(1 << 20, 1);
    std::vector<std::string> layers = {tar_file("big", big) + tar_file("small", "old") + tar_end(),
                                       tar_file("small", "new") + tar_end()};
    auto done = test.import(layers);
    ASSERT_TRUE(done) << done.error().render();
    EXPECT_EQ(test.begun, 1);
    EXPECT_EQ(test.content("small"), "new");
    EXPECT_EQ(test.content("big"), big);
    EXPECT_EQ(test.progress.first, layers[0].size() + layers[1].size());
    EXPECT_EQ(test.progress.second, test.progress.first);
}

TEST(image, import_leaves_nothing_big_that_nobody_sees) {
    ImportTest test;
    std::string kept = noise(1 << 20, 2);
    std::vector<std::string> layers = {
        tar_file("gone", noise(4 << 20, 3)) + tar_file("a", kept) + tar_file("twice", noise(1 << 20, 4)) +
            tar_end(),
        tar_hard_link("b", "a") + tar_end(),
        tar_file(".wh.a", "") + tar_file(".wh.gone", "") + tar_file("twice", "2") + tar_end()};
    auto done = test.import(layers);
    ASSERT_TRUE(done) << done.error().render();
    EXPECT_EQ(test.begun, 2);
    EXPECT_LT(fs::file_size(test.file), (1 << 20) + (64 << 10));
    EXPECT_EQ(test.content("b"), kept);
    EXPECT_EQ(test.content("twice"), "2");
}

// It was taken for a bomb, as little of the layer had been read when its header came.
TEST(image, import_takes_a_layer_that_begins_with_a_large_file) {
    ImportTest test;
    test.limits.ratio_floor_bytes = 100'000;
    test.limits.compression_ratio = 2;
    auto done = test.import({tar_file("big", noise(1 << 20, 5)) + tar_end()});
    EXPECT_TRUE(done) << done.error().render();
}

TEST(image, import_blames_the_disk_for_what_it_cannot_read) {
    ImportTest test;
    test.breaks_after = 100'000;
    auto done = test.import({tar_file("big", noise(1 << 20, 6)) + tar_end()});
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), HasSubstr("layer: cannot read it: Input/output error"));
    EXPECT_EQ(done.error().hint_text(), "");
}

TEST(image, import_blames_the_disk_for_what_it_cannot_write) {
    std::string many;
    for (int i = 0; i < 4000; ++i) many += tar_file(std::to_string(i), noise(500, 100 + i));
    std::string large;
    for (int i = 0; i < 20; ++i) large += tar_file(std::to_string(i), noise(200'000, 200 + i));
    for (const std::string& files : {many, large}) {
        ImportTest test;
        rlimit before{};
        ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
        const rlimit little{300'000, before.rlim_max};
        auto* handler = signal(SIGXFSZ, SIG_IGN);
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
        auto done = test.import({files + tar_end()});
        setrlimit(RLIMIT_FSIZE, &before);
        signal(SIGXFSZ, handler);
        ASSERT_FALSE(done);
        EXPECT_THAT(done.error().message(), HasSubstr("File too large"));
        EXPECT_EQ(done.error().hint_text(), "");
    }
}

TEST(image, import_refuses_a_layer_with_another_hash) {
    ImportTest test;
    auto done = test.import({tar_file("a") + tar_end()}, "sha256:0");
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), HasSubstr("not the sha256:0 that"));
    EXPECT_THAT(done.error().hint_text(), HasSubstr("built incorrectly"));
}

}  // namespace belay::image
