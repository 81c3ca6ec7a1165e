#include "core/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using testing::HasSubstr;

size_t entries(const std::filesystem::path& directory) {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
}

TEST(core, file_descriptor_is_closed_once) {
    Descriptor first = open_file("/dev/null", O_RDONLY).value();
    int number = first.get();
    Descriptor second = std::move(first);
    EXPECT_FALSE(first);
    EXPECT_EQ(second.get(), number);
    EXPECT_EQ(fcntl(number, F_GETFD), FD_CLOEXEC);
    second.reset();
    EXPECT_EQ(fcntl(number, F_GETFD), -1);
}

TEST(core, file_replace_is_the_old_or_the_new) {
    auto directory = TemporaryDirectory::create().value();
    auto path = directory.path() / "file";
    ASSERT_TRUE(replace_file(path, "old", 0600));
    Descriptor reader = open_file(path, O_RDONLY).value();
    ASSERT_TRUE(replace_file(path, "new"));
    std::string held;
    ASSERT_TRUE(reread(reader.get(), held, "file"));
    EXPECT_EQ(held, "old");  // a reader of the old file is not disturbed
    EXPECT_EQ(read_file(path).value(), "new");
    EXPECT_EQ(entries(directory.path()), 1U);  // no temporary is left
    EXPECT_FALSE(replace_file(directory.path() / "absent" / "file", "x"));
}

TEST(core, file_replace_that_fails_leaves_the_old_file) {
    auto directory = TemporaryDirectory::create().value();
    auto path = directory.path() / "target";
    ASSERT_TRUE(make_directories(path / "not empty"));  // rename over it fails
    EXPECT_THAT(replace_file(path, "x").error().message(), HasSubstr("cannot replace"));
    EXPECT_TRUE(std::filesystem::is_directory(path));
    EXPECT_EQ(entries(directory.path()), 1U);
}

TEST(core, file_replace_takes_the_place_of_a_link_and_of_a_pipe) {
    auto directory = TemporaryDirectory::create().value();
    auto target = directory.path() / "target";
    auto link = directory.path() / "link";
    ASSERT_TRUE(replace_file(target, "old"));
    std::filesystem::create_symlink("target", link);
    ASSERT_TRUE(replace_file(link, "new"));
    EXPECT_EQ(read_file(link).value(), "new");
    EXPECT_EQ(read_file(target).value(), "old");
    auto fifo = directory.path() / "fifo";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    ASSERT_TRUE(replace_file(fifo, "text"));
    EXPECT_TRUE(std::filesystem::is_regular_file(fifo));
}

TEST(core, file_create_does_not_overwrite) {
    auto directory = TemporaryDirectory::create().value();
    auto path = directory.path() / "file";
    EXPECT_TRUE(create_file(path, "first").value());
    EXPECT_FALSE(create_file(path, "second").value());
    EXPECT_EQ(read_file(path).value(), "first");
    EXPECT_EQ(entries(directory.path()), 1U);
}

TEST(core, file_read_whole) {
    auto directory = TemporaryDirectory::create().value();
    std::string large(100'000, 'x');
    ASSERT_TRUE(replace_file(directory.path() / "large", large));
    EXPECT_EQ(read_file(directory.path() / "large").value(), large);
    auto refused = read_file(directory.path() / "large", 99'999);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind(), ErrorKind::kBadInput);
    EXPECT_EQ(refused.error().errno_value(), EFBIG);
    EXPECT_THAT(read_file("/proc/self/status").value(), HasSubstr("Pid:"));  // states size 0
    EXPECT_THAT(read_file("/no/such").error().message(), HasSubstr("/no/such: No such file"));
    EXPECT_THAT(read_file(directory.path()).error().message(), HasSubstr("Is a directory"));
}

TEST(core, a_pipe_is_read_if_somebody_writes) {
    auto directory = TemporaryDirectory::create();
    ASSERT_TRUE(directory);
    auto pipe = directory->path() / "pipe";
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    std::thread writer([&] {
        auto fd = open_file(pipe, O_WRONLY);
        ASSERT_TRUE(fd);
        EXPECT_TRUE(write_all(fd->get(), "late", "pipe"));
    });
    auto text = read_file(pipe);
    writer.join();
    EXPECT_EQ(text.value_or("nothing"), "late");
    auto silent = read_file(pipe);
    ASSERT_FALSE(silent);
    EXPECT_THAT(silent.error().message(), ::testing::HasSubstr("nobody has written into it"));
}

TEST(core, file_reread_sees_what_is_there_now) {
    auto directory = TemporaryDirectory::create().value();
    Descriptor file = open_file(directory.path() / "file", O_CREAT | O_RDWR).value();
    std::string buffer, large(50'000, 'y');
    ASSERT_TRUE(write_all(file.get(), large, "file"));
    ASSERT_TRUE(reread(file.get(), buffer, "file"));
    EXPECT_EQ(buffer, large);
    ASSERT_EQ(ftruncate(file.get(), 3), 0);
    ASSERT_TRUE(reread(file.get(), buffer, "file"));
    EXPECT_EQ(buffer, "yyy");
}

TEST(core, file_write_to_a_full_disk_is_an_error) {
    Descriptor full = open_file("/dev/full", O_WRONLY).value();
    EXPECT_EQ(write_all(full.get(), "x", "the record").error().message(),
              "cannot write the record: No space left on device");
}

TEST(core, file_directories_and_temporaries) {
    std::filesystem::path kept;
    {
        auto directory = TemporaryDirectory::create("belay-test").value();
        kept = directory.path();
        ASSERT_TRUE(make_directories(kept / "a" / "b"));
        ASSERT_TRUE(make_directories(kept / "a" / "b"));
        ASSERT_TRUE(sync_directory(kept / "a"));
        struct stat facts{};
        ASSERT_EQ(stat(kept.c_str(), &facts), 0);
        EXPECT_EQ(facts.st_mode & 0777, 0700U);
        ASSERT_TRUE(replace_file(kept / "file", "x"));
        EXPECT_THAT(make_directories(kept / "file" / "below").error().message(),
                    HasSubstr("cannot create directory"));
        TemporaryDirectory moved = std::move(directory);
        EXPECT_TRUE(std::filesystem::exists(kept));
    }
    EXPECT_FALSE(std::filesystem::exists(kept));
}

}  // namespace
}  // namespace belay::core
