#include "core/output.h"

#include "core/file.h"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class OutputFixture {
  public:
    OutputFixture() : directory_(TemporaryDirectory::create("output_test").value()) {}
    fs::path operator/(const char* name) const { return directory_.path() / name; }
    size_t entries() const {
        return static_cast<size_t>(std::distance(fs::directory_iterator(directory_.path()), {}));
    }

  private:
    TemporaryDirectory directory_;
};

TEST(core, outputs_appear_and_replace_files) {
    OutputFixture there;
    const mode_t before = umask(027);
    ASSERT_TRUE(write_output(there / "page.html", "old"));
    ASSERT_TRUE(write_output(there / "page.html", "new"));
    umask(before);
    EXPECT_EQ(read_file(there / "page.html").value(), "new");
    struct stat status{};
    ASSERT_EQ(stat((there / "page.html").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0640U) << "as the umask says";
    ASSERT_TRUE(write_output(there / "page.html", "secret", 0600));
    ASSERT_EQ(stat((there / "page.html").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    EXPECT_EQ(there.entries(), 1U);
}

TEST(core, outputs_follow_no_link) {
    OutputFixture there;
    std::ofstream(there / "precious") << "precious";
    fs::create_symlink(there / "precious", there / "page.html");
    fs::create_symlink(there / "absent", there / "broken");
    for (const char* name : {"page.html", "broken"}) {
        auto written = write_output(there / name, "x");
        ASSERT_FALSE(written);
        EXPECT_EQ(written.error().kind(), ErrorKind::kBadInput);
        EXPECT_THAT(written.error().message(), HasSubstr("is a symbolic link of"));
    }
    EXPECT_EQ(read_file(there / "precious").value(), "precious");
    EXPECT_EQ(there.entries(), 3U);
}

TEST(core, outputs_go_into_no_pipe_that_lies_at_their_name) {
    OutputFixture there;
    ASSERT_EQ(mkfifo((there / "page.html").c_str(), 0600), 0);
    Descriptor reader = open_file(there / "page.html", O_RDONLY | O_NONBLOCK).value();
    auto written = write_output(there / "page.html", "secret");
    ASSERT_FALSE(written);
    EXPECT_THAT(written.error().render(), HasSubstr("is a named pipe of"));
    EXPECT_THAT(written.error().render(), HasSubstr("-o /dev/stdout | COMMAND"));
    char byte = 0;
    EXPECT_EQ(read(reader.get(), &byte, 1), 0) << "nobody opened it for writing";
    EXPECT_THAT(write_output(there / ".", "x").error().message(), HasSubstr("directory"));
    EXPECT_THAT(write_output(there / "", "x").error().message(), HasSubstr("directory"));
}

TEST(core, outputs_that_cannot_be_written_are_known_before) {
    OutputFixture directory;
    std::ofstream(directory / "file") << "before";
    fs::create_directory(directory / "directory");
    fs::create_symlink(directory / "file", directory / "link");
    for (const fs::path& good : {directory / "file", directory / "new", fs::path("/dev/null")})
        EXPECT_TRUE(check_output(good)) << good;
    for (const char* name : {"directory", "link", "none/file", "file/x"}) {
        const auto checked = check_output(directory / name);
        const auto written = write_output(directory / name, "x");
        ASSERT_FALSE(checked) << name;
        ASSERT_FALSE(written) << name;
        EXPECT_EQ(checked.error().render(), written.error().render());
    }
    EXPECT_EQ(directory.entries(), 3U);
    EXPECT_EQ(read_file(directory / "file").value(), "before");
}

TEST(core, outputs_go_where_a_descriptor_or_device_is_named) {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    Descriptor reader(ends[0]), writer(ends[1]);
    for (const char* directory : {"/dev/fd", "/proc/self/fd"})
        ASSERT_TRUE(write_output(fmt::format("{}/{}", directory, writer.get()), "through"));
    writer.reset();
    EXPECT_EQ(read_to_end(reader.get(), "the pipe").value(), "throughthrough");
    EXPECT_TRUE(write_output("/dev/null", "x"));
    EXPECT_EQ(write_output("/dev/full", "x").error().errno_value(), ENOSPC);
    EXPECT_FALSE(write_output("/dev/fd/999999", "x"));
}

}  // namespace
}  // namespace belay::core
