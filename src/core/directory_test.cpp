#include "core/directory.h"

#include "core/new_file.h"
#include "core/testing/sandbox.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <functional>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// `inside` is what a test opens; `outside` lies beside it, with a file that nobody may reach from there.
class DirectoryFixture {
  public:
    DirectoryFixture() : directory_(TemporaryDirectory::create("directory_test").value()) {
        fs::create_directories(path() / "inside/tables");
        fs::create_directories(path() / "outside");
        std::ofstream(path() / "inside/tables/host") << "rows";
        std::ofstream(path() / "outside/secret") << "secret";
    }
    fs::path path() const { return directory_.path(); }
    fs::path inside() const { return path() / "inside"; }
    Directory open() const { return Directory::open(inside()).value(); }
    std::string secret() const { return read_file(path() / "outside/secret").value(); }

  private:
    TemporaryDirectory directory_;
};

// Where files need no name, where they do, and where that is not known.
void with_and_without_names(const std::function<void()>& test) {
    test();
    expect_where_files_have_names(test);
    expect_where_call_fails(SYS_fstatfs, ENOSYS, test);
}

// With openat2, and without it.
void each_way(const std::function<void()>& test) {
    test();
    expect_without_openat2(ENOSYS, test);
    expect_without_openat2(EPERM, test);
}

TEST(core, files_beneath_a_directory_are_read_and_listed) {
    each_way([] {
        DirectoryFixture fixture;
        const Directory directory = fixture.open();
        EXPECT_EQ(directory.read_file("tables/host", 100).value(), "rows");
        EXPECT_FALSE(directory.read_file("tables/host", 3)) << "more than the limit";
        EXPECT_THAT(directory.list().value(), ElementsAre("tables"));
        EXPECT_THAT(directory.enter("tables")->list().value(), ElementsAre("host"));
        EXPECT_EQ(directory.facts("tables/host").value()->bytes, 4u);
        EXPECT_EQ(directory.facts("tables/host").value()->owner, geteuid());
        EXPECT_FALSE(directory.facts("tables/absent").value());
        EXPECT_FALSE(directory.facts("absent/host").value());
        EXPECT_THAT(directory.read_file("absent", 1).error().message(),
                    HasSubstr("inside/absent: No such file"));
    });
}

// The kernel takes no path of that length in one piece.
TEST(core, a_name_may_be_longer_than_the_kernel_takes) {
    each_way([] {
        DirectoryFixture fixture;
        const Directory directory = fixture.open();
        const std::string part(200, 'p');
        std::string name = part;
        for (size_t depth = 1; name.size() < 2 * PATH_MAX; ++depth, name += "/" + part)
            ASSERT_TRUE(directory.make_directory(name).value()) << depth;
        EXPECT_FALSE(directory.facts(name).value().has_value());
        const auto made = directory.open_file(name, O_RDWR | O_CREAT | O_EXCL);
        ASSERT_TRUE(made) << made.error().message();
        ASSERT_TRUE(write_all(made->get(), "content", "file"));
        EXPECT_EQ(directory.read_file(name, 100).value(), "content");
        EXPECT_EQ(directory.facts(name).value()->bytes, 7u);
        const std::string parent = name.substr(0, name.rfind('/'));
        EXPECT_EQ(directory.enter(parent)->list().value(), std::vector<std::string>{part});
        EXPECT_TRUE(directory.remove_file(name));
        // A part of it is still no link.
        fs::create_directory_symlink(fixture.path() / "outside", fixture.inside() / "link");
        EXPECT_EQ(directory.open_file("link/" + name, O_RDONLY).error().errno_value(), ELOOP);
        while (!name.empty()) {
            name = name.contains('/') ? name.substr(0, name.rfind('/')) : "";
            if (!name.empty()) {
                EXPECT_TRUE(directory.remove_directory(name));
            }
        }
    });
}

TEST(core, no_name_leads_out_of_a_directory) {
    each_way([] {
        DirectoryFixture fixture;
        const Directory directory = fixture.open();
        for (const std::string& name :
             {std::string("../outside/secret"), std::string("tables/../../outside/secret"), std::string(".."),
              std::string("."), std::string("/"), std::string("tables//host"), std::string("host\0x", 6),
              (fixture.path() / "outside/secret").string()}) {
            EXPECT_FALSE(directory.open_file(name, O_RDONLY)) << name;
            EXPECT_FALSE(directory.enter(name)) << name;
            EXPECT_FALSE(directory.remove_file(name)) << name;
            EXPECT_FALSE(directory.rename(name, "mine")) << name;
            EXPECT_FALSE(directory.make_directory(name)) << name;
            EXPECT_FALSE(NewFile::begin(directory, name)) << name;
        }
        EXPECT_EQ(fixture.secret(), "secret");
    });
}

TEST(core, no_link_beneath_a_directory_is_followed) {
    each_way([] {
        DirectoryFixture fixture;
        const Directory directory = fixture.open();
        fs::create_symlink(fixture.path() / "outside/secret", fixture.inside() / "file");
        fs::create_symlink("tables", fixture.inside() / "here");
        fs::create_symlink(fixture.path() / "outside", fixture.inside() / "there");
        for (const char* name : {"file", "here/host", "there/secret"}) {
            EXPECT_THAT(directory.open_file(name, O_RDONLY).error().message(), HasSubstr("symbolic link"))
                << name;
            EXPECT_FALSE(directory.open_file(name, O_WRONLY | O_TRUNC)) << name;
            EXPECT_FALSE(directory.open_file(name, O_WRONLY | O_CREAT, 0600)) << name;
        }
        EXPECT_THAT(directory.enter("there").error().message(), HasSubstr("symbolic link"));
        EXPECT_THAT(directory.make_directory("there").error().message(), HasSubstr("is a symbolic link"));
        EXPECT_FALSE(directory.make_directory("there/new"));
        EXPECT_FALSE(directory.remove_file("there/secret"));
        EXPECT_FALSE(directory.rename("there/secret", "mine"));
        EXPECT_FALSE(directory.rename("tables/host", "there/host"));
        EXPECT_EQ(directory.facts("file").value()->type, FileType::kLink) << "it is looked at itself";
        ASSERT_TRUE(directory.remove_file("file"));
        EXPECT_EQ(fixture.secret(), "secret");
    });
}

TEST(core, only_regular_files_are_opened_and_nothing_else_is_waited_for) {
    each_way([] {
        DirectoryFixture fixture;
        const Directory directory = fixture.open();
        ASSERT_EQ(mkfifo((fixture.inside() / "pipe").c_str(), 0600), 0);
        Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
        const std::string place = fmt::format("/proc/self/fd/{}/socket", directory.fd());
        place.copy(address.sun_path, sizeof address.sun_path - 1);
        ASSERT_EQ(bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
        for (int flags : {O_RDONLY, O_WRONLY, O_RDWR}) {
            EXPECT_THAT(directory.open_file("pipe", flags).error().message(),
                        HasSubstr("is a named pipe, not a regular file"));
            EXPECT_THAT(directory.open_file("socket", flags).error().message(), HasSubstr("is a socket"));
            EXPECT_THAT(directory.open_file("tables", flags).error().message(), HasSubstr("is a directory"));
        }
        EXPECT_THAT(directory.make_directory("pipe").error().message(), HasSubstr("is a named pipe"));
    });
}

// A file server lends files out; who opens one without waiting is told to try again.
TEST(core, a_file_that_is_lent_out_is_taken_back) {
    DirectoryFixture fixture;
    const Directory directory = fixture.open();
    Descriptor holder = open_file(fixture.inside() / "tables/host", O_RDWR).value();
    signal(SIGIO, SIG_IGN);
    ASSERT_EQ(fcntl(holder.get(), F_SETLEASE, F_WRLCK), 0);
    std::atomic<bool> over = false;
    std::thread server([&] {
        // Asked for it back, F_GETLEASE says what it is to become.
        while (!over && fcntl(holder.get(), F_GETLEASE) == F_WRLCK)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        fcntl(holder.get(), F_SETLEASE, F_UNLCK);
    });
    auto text = directory.read_file("tables/host", 100);
    over = true;
    server.join();
    ASSERT_TRUE(text) << text.error().message();
    EXPECT_EQ(*text, "rows");
}

TEST(core, directories_are_made_once_and_removed) {
    DirectoryFixture fixture;
    const Directory directory = fixture.open();
    EXPECT_TRUE(directory.make_directory("tables/new").value());
    EXPECT_FALSE(directory.make_directory("tables/new").value());
    EXPECT_EQ(directory.facts("tables/new").value()->mode, 0700u);
    EXPECT_FALSE(directory.remove_directory("tables")) << "it is not empty";
    EXPECT_TRUE(directory.remove_directory("tables/new"));
    EXPECT_TRUE(directory.rename("tables/host", "host"));
    EXPECT_TRUE(directory.remove_directory("tables"));
    EXPECT_THAT(directory.list().value(), ElementsAre("host"));
}

void replace_names_and_never_what_they_lead_to() {
    DirectoryFixture fixture;
    const Directory directory = fixture.open();
    fs::create_symlink(fixture.path() / "outside/secret", fixture.inside() / "link");
    for (const char* name : {"link", "tables/host", "fresh"}) {
        auto file = NewFile::begin(directory, name, 0640);
        ASSERT_TRUE(file) << file.error().message();
        ASSERT_TRUE(write_all(file->fd(), "new", name));
        ASSERT_TRUE(std::move(*file).replace());
        EXPECT_EQ(directory.read_file(name, 10).value(), "new");
    }
    EXPECT_EQ(fixture.secret(), "secret");
    EXPECT_THAT(directory.list().value(), ElementsAre("fresh", "link", "tables")) << "no temporary is left";
    EXPECT_THAT(directory.enter("tables")->list().value(), ElementsAre("host"));
}

TEST(core, new_files_replace_a_name_and_never_what_it_leads_to) {
    each_way([] { with_and_without_names(replace_names_and_never_what_they_lead_to); });
}

// Not even where the process is killed: nothing is removed then.
TEST(core, new_files_have_no_name_until_they_are_whole) {
    DirectoryFixture fixture;
    const Directory directory = fixture.open();
    auto file = NewFile::begin(directory, "file").value();
    ASSERT_TRUE(write_all(file.fd(), "a part", "file"));
    EXPECT_THAT(directory.list().value(), ElementsAre("tables"));
    ASSERT_TRUE(std::move(file).replace());
    EXPECT_THAT(directory.list().value(), ElementsAre("file", "tables"));
}

TEST(core, new_files_that_are_given_up_leave_nothing) {
    with_and_without_names([] {
        DirectoryFixture fixture;
        const Directory directory = fixture.open();
        {
            auto first = NewFile::begin(directory, "file").value();
            auto second = NewFile::begin(directory, "file").value();
        }
        EXPECT_THAT(directory.list().value(), ElementsAre("tables"));
    });
}

void have_a_name_each() {
    DirectoryFixture fixture;
    const Directory directory = fixture.open();
    auto first = NewFile::begin(directory, "file").value();
    auto second = NewFile::begin(directory, "file").value();
    EXPECT_EQ(directory.list()->size(), 3u) << "each has a name of its own";
}

TEST(core, new_files_that_need_a_name_have_one_each) {
    expect_where_files_have_names(have_a_name_each);
}

// Some file systems make a file without a name and cannot name it later.
TEST(core, new_files_have_a_name_where_the_file_system_is_not_known) {
    expect_where_call_fails(SYS_fstatfs, ENOSYS, have_a_name_each);
}

TEST(core, a_new_file_may_be_named_by_whoever_looks_for_what_is_left_behind) {
    expect_where_files_have_names([] {
        DirectoryFixture fixture;
        const Directory directory = fixture.open();
        auto file = NewFile::begin(directory, "file", 0600, ".key.host.").value();
        EXPECT_THAT(directory.list().value(), ElementsAre(testing::StartsWith(".key.host."), "tables"));
        ASSERT_TRUE(std::move(file).replace());
        EXPECT_THAT(directory.list().value(), ElementsAre("file", "tables"));
    });
}

TEST(core, of_two_new_files_one_is_created) {
    with_and_without_names([] {
        DirectoryFixture fixture;
        const Directory directory = fixture.open();
        auto write = [&](std::string_view text) {
            auto file = NewFile::begin(directory, "file").value();
            EXPECT_TRUE(write_all(file.fd(), text, "file"));
            return std::move(file).create().value();
        };
        EXPECT_TRUE(write("first"));
        EXPECT_FALSE(write("second"));
        EXPECT_EQ(directory.read_file("file", 10).value(), "first");
        EXPECT_THAT(directory.list().value(), ElementsAre("file", "tables"));
    });
}

TEST(core, a_new_file_goes_also_where_no_descriptor_is_left) {
    with_and_without_names([] {
        DirectoryFixture fixture;
        const Directory directory = fixture.open();
        rlimit limit{};
        ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
        {
            auto file = NewFile::begin(directory, "file");
            ASSERT_TRUE(file);
            rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
            ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
        }
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
        EXPECT_THAT(directory.list().value(), ElementsAre("tables"));
    });
}

TEST(core, the_last_link_of_a_path_is_followed_if_it_is_ones_own) {
    DirectoryFixture fixture;
    const fs::path link = fixture.path() / "link";
    fs::create_symlink("inside", link);
    EXPECT_THAT(Directory::open_trusted(link)->list().value(), ElementsAre("tables"));
    EXPECT_THAT(Directory::open_trusted(link.string() + "/")->list().value(), ElementsAre("tables"));
    EXPECT_THAT(Directory::open_trusted(fixture.inside())->list().value(), ElementsAre("tables"));
    EXPECT_FALSE(Directory::open_trusted(fixture.path() / "absent"));
    EXPECT_FALSE(Directory::open_trusted(fixture.inside() / "tables/host"));
}

TEST(core, the_last_link_of_a_path_is_not_followed_if_it_is_another_users) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a link away";
    DirectoryFixture fixture;
    const fs::path link = fixture.path() / "link";
    fs::create_symlink("inside", link);
    ASSERT_EQ(lchown(link.c_str(), 65534, 65534), 0);
    for (const std::string& name : {link.string(), link.string() + "/"}) {
        auto refused = Directory::open_trusted(name);
        ASSERT_FALSE(refused);
        EXPECT_THAT(refused.error().message(), HasSubstr("is a symbolic link of another user"));
    }
}

TEST(core, a_guarded_directory_is_one_that_nobody_else_can_exchange) {
    DirectoryFixture fixture;
    fs::create_directory_symlink("../inside/tables", fixture.path() / "outside/link");
    fs::create_directory_symlink(fixture.path() / "outside", fixture.path() / "whole");
    for (const char* name : {"inside/tables", "inside/../outside/link", "whole/link/", "whole/./link/."})
        EXPECT_THAT(Directory::open_guarded(fixture.path() / name)->list().value(), ElementsAre("host"));
    ASSERT_EQ(chmod((fixture.path() / "outside").c_str(), 0777), 0);
    auto refused = Directory::open_guarded(fixture.path() / "whole/link");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().cause(), Cause::kDenied);
    EXPECT_THAT(refused.error().message(), HasSubstr("/outside (mode 0777)"));
    EXPECT_TRUE(Directory::open_guarded(fixture.inside()));
    ASSERT_EQ(chmod((fixture.path() / "outside").c_str(), 01777), 0);
    EXPECT_TRUE(Directory::open_guarded(fixture.path() / "whole/link"));
    fs::create_directory_symlink("round", fixture.path() / "round");
    EXPECT_EQ(Directory::open_guarded(fixture.path() / "round").error().errno_value(), ELOOP);
    EXPECT_EQ(Directory::open_guarded(fixture.path() / "absent").error().errno_value(), ENOENT);
    EXPECT_EQ(Directory::open_guarded(fixture.inside() / "tables/host").error().errno_value(), ENOTDIR);
}

TEST(core, a_guarded_directory_is_made_where_nobody_else_leads_to) {
    DirectoryFixture fixture;
    for (const char* name : {"inside/a/b/c", "inside/a/b/c/", "inside/a/./d"}) {
        ASSERT_TRUE(Directory::make_guarded(fixture.path() / name)) << name;
        EXPECT_TRUE(fs::is_directory(fixture.path() / name));
    }
    fs::create_directory_symlink("outside", fixture.path() / "link");
    ASSERT_EQ(chmod((fixture.path() / "outside").c_str(), 0777), 0);
    auto refused = Directory::make_guarded(fixture.path() / "link/x/y");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().cause(), Cause::kDenied);
    EXPECT_FALSE(fs::exists(fixture.path() / "outside/x")) << "nothing was made there";
}

TEST(core, a_directory_below_another_users_is_not_guarded) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory or a link away";
    DirectoryFixture fixture;
    fs::create_directory_symlink("inside", fixture.path() / "link");
    ASSERT_EQ(lchown((fixture.path() / "link").c_str(), 65534, 65534), 0);
    ASSERT_EQ(chown((fixture.path() / "outside").c_str(), 65534, 65534), 0);
    fs::create_directory(fixture.path() / "outside/own");
    for (const char* name : {"link/tables", "outside/own"}) {
        auto refused = Directory::open_guarded(fixture.path() / name);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().cause(), Cause::kDenied);
    }
}

}  // namespace
}  // namespace belay::core
