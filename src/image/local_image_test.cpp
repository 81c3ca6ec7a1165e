#include "image/local_image.h"

#include "core/file.h"
#include "image/import.h"
#include "image/store_settings.h"
#include "image/testing/tar_builder.h"

#include <array>
#include <fcntl.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::image {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::tar_end;
using testing::tar_file;

void write_squashfs(const fs::path& file, const std::string& tar) {
    auto fd = core::open_file(file, O_RDWR | O_CREAT);
    ASSERT_TRUE(fd);
    auto open = [&]() -> core::Result<ByteSource> { return read_from_memory(tar); };
    std::array layers = {LayerInput{.name = "layer", .open = open}};
    auto writer = [&] { return SquashfsWriter::create(fd->get(), file.string(), 1); };
    ASSERT_TRUE(write_image(layers, {}, writer, 0));
}

const std::string kEnroot =
    tar_file("etc/environment", "PATH=/opt/bin:/bin\n# no\nQUOTED=\"a b\"\n$(id)=x\nexport X=1\nEMPTY=\n") +
    tar_file("etc/rc",
             "mkdir -p \"/work\" 2> /dev/null\ncd \"/work\" && unset OLDPWD || exit 1\nexec \"$@\"\n") +
    tar_file("etc/fstab", "/etc/shadow /shadow none bind\n") + tar_end();

TEST(image, local_file_says_what_enroot_left_in_it) {
    auto directory = core::TemporaryDirectory::create();
    ASSERT_TRUE(directory);
    const fs::path file = directory->path() / "i.sqsh";
    write_squashfs(file, kEnroot);
    auto image = local_image(file);
    ASSERT_TRUE(image) << image.error().render();
    EXPECT_EQ(image->squashfs, file);
    EXPECT_EQ(image->digest, "");
    EXPECT_EQ(image->bytes, fs::file_size(file));
    EXPECT_THAT(image->config.environment, ElementsAre("PATH=/opt/bin:/bin", "QUOTED=a b", "EMPTY="));
    EXPECT_THAT(image->config.entrypoint, ElementsAre("/bin/sh", "/etc/rc"));
    EXPECT_EQ(image->config.working_directory, "/work");

    write_squashfs(directory->path() / "plain.sqsh", tar_file("a") + tar_end());
    image = local_image(directory->path() / "plain.sqsh");
    ASSERT_TRUE(image);
    EXPECT_THAT(image->config.environment, IsEmpty());
    EXPECT_THAT(image->config.entrypoint, IsEmpty());
}

// It would run without what it says otherwise.
TEST(image, local_file_that_cannot_be_read) {
    auto directory = core::TemporaryDirectory::create();
    ASSERT_TRUE(directory);
    const fs::path file = directory->path() / "i.sqsh";
    for (const std::string name : {"etc/environment", "etc/rc"}) {
        std::string text;
        for (int i = 0; i < 2000; ++i) text += fmt::format("A{}={}\n", i, i);
        fs::remove(file);
        write_squashfs(file, tar_file(name, text) + tar_end());
        ASSERT_TRUE(local_image(file));
        auto bytes = core::read_file(file);
        ASSERT_TRUE(bytes);
        bytes->replace(120, 1000, std::string(1000, '\xff'));  // behind the super block lies the content
        ASSERT_TRUE(core::replace_file(file, *bytes));
        auto image = local_image(file);
        ASSERT_FALSE(image) << name;
        EXPECT_EQ(image.error().kind(), core::ErrorKind::kSystem);
        EXPECT_THAT(image.error().message(), HasSubstr("its compressed data is damaged"));
        fs::remove(file);
        write_squashfs(file, tar_file(name, std::string(2 << 20, 'x')) + tar_end());
        EXPECT_THAT(local_image(file).error().message(), HasSubstr(name + " in "));
    }
}

TEST(image, local_file_that_promises_too_much) {
    auto directory = core::TemporaryDirectory::create();
    ASSERT_TRUE(directory);
    const fs::path file = directory->path() / "i.sqsh";
    write_squashfs(file, kEnroot);
    auto bytes = core::read_file(file);
    ASSERT_TRUE(bytes);
    bytes->replace(16, 4, "\xff\xff\xff\x7f");  // of the super block: how many fragments there are
    ASSERT_TRUE(core::replace_file(file, *bytes));
    EXPECT_THAT(local_image(file).error().message(), HasSubstr("2147483647 fragments"));
}

TEST(image, local_file_that_is_none) {
    auto directory = core::TemporaryDirectory::create();
    ASSERT_TRUE(directory);
    const fs::path file = directory->path() / "i.sqsh";
    EXPECT_THAT(local_image(file).error().message(), HasSubstr("there is no image"));
    EXPECT_THAT(local_image(directory->path()).error().message(), HasSubstr("is not a file"));
    for (std::string text : {"", "hsqs", "#!/bin/sh\n"}) {
        ASSERT_TRUE(core::replace_file(file, text));
        auto image = local_image(file);
        ASSERT_FALSE(image);
        EXPECT_EQ(image.error().kind(), core::ErrorKind::kBadInput) << text;
        EXPECT_THAT(image.error().message(), HasSubstr(file.string()));
    }
}

TEST(image, local_file_in_the_store_of_enroot) {
    auto directory = core::TemporaryDirectory::create();
    ASSERT_TRUE(directory);
    write_squashfs(directory->path() / "nvidia+cuda+12.sqsh", kEnroot);
    write_squashfs(directory->path() / "ubuntu+latest.sqsh", kEnroot);
    auto store = Store::open(directory->path());
    ASSERT_TRUE(store);
    auto found = [&](const std::string& reference) {
        auto image = store->find(*parse_reference(reference));
        return image && *image ? (*image)->squashfs.filename().string() : "none";
    };
    EXPECT_EQ(found("nvidia/cuda:12"), "nvidia+cuda+12.sqsh");
    EXPECT_EQ(found("ubuntu"), "ubuntu+latest.sqsh");
    EXPECT_EQ(found("nvidia/cuda:13"), "none");
    EXPECT_EQ(found("quay.io/nvidia/cuda:12"), "none");  // may be another
    EXPECT_EQ(found((directory->path() / "ubuntu+latest.sqsh").string()), "ubuntu+latest.sqsh");
}

TEST(image, store_is_where_it_is_said_to_be) {
    auto root = [](const std::string& setting, const core::Environment& environment) {
        auto path = store_root(setting, environment);
        return path ? path->string() : path.error().message();
    };
    const core::Environment kAll = {
        {"EDF_IMAGESTORE", "/edf/"}, {"SCRATCH", "/s"}, {"XDG_CACHE_HOME", "/c"}, {"HOME", "/h"}};
    EXPECT_EQ(root("/set", kAll), "/edf/");
    core::Environment environment = kAll;
    environment["EDF_IMAGESTORE"] = "";
    EXPECT_EQ(root("/set", environment), "/set");
    EXPECT_EQ(root("", environment), "/s/.edf_imagestore");
    environment.erase("SCRATCH");
    EXPECT_EQ(root("", environment), "/c/belay/images");
    environment.erase("XDG_CACHE_HOME");
    EXPECT_EQ(root("", environment), "/h/.cache/belay/images");
    EXPECT_THAT(root("", {}), HasSubstr("no image store is configured"));
    EXPECT_THAT(root("images", {}), HasSubstr("\"images\" (env.image_store) is not an absolute path"));
    EXPECT_THAT(root("", {{"EDF_IMAGESTORE", "void"}}), HasSubstr("disables the image store"));
}

}  // namespace
}  // namespace belay::image
