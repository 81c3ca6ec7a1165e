#include "image/import.h"

#include "core/file.h"
#include "image/squashfs_reader.h"
#include "image/testing/tar_builder.h"

#include <fcntl.h>
#include <random>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
                              .open = [&]() -> core::Result<ByteSource> { return read_from_memory(layer); },
                              .diff_id = diff_id,
                              .compressed_bytes = layer.size()});
        BELAY_TRY(fd, core::open_file(file, O_RDWR | O_CREAT | O_TRUNC));
        begun = 0;
        auto open_writer = [&]() -> core::Result<SquashfsWriter> {
            ++begun;
            if (ftruncate(fd.get(), 0) != 0) return core::errno_error(errno, "cannot empty it");
            return SquashfsWriter::create(fd.get(), file.string(), 2);
        };
        return write_image(inputs, {}, open_writer, 0,
                           [this](uint64_t done, uint64_t total) { progress = {done, total}; });
    }
    std::string content(const std::string& path) const {
        auto reader = SquashfsReader::open(file);
        if (!reader) return reader.error().message();
        auto text = reader->read(path, size_t{1} << 24);
        return text ? *text : text.error().message();
    }

    core::TemporaryDirectory directory = *core::TemporaryDirectory::create("belay-import");
    fs::path file = directory.path() / "i.sqsh";
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

TEST(image, import_refuses_a_layer_with_another_hash) {
    ImportTest test;
    auto done = test.import({tar_file("a") + tar_end()}, "sha256:0");
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message(), HasSubstr("has not the hash sha256:0"));
    EXPECT_THAT(done.error().hint_text(), HasSubstr("put together wrongly"));
}

}  // namespace belay::image
