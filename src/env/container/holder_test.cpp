#include "env/container/holder.h"

#include "core/file.h"
#include "core/fork.h"
#include "env/container/holder_link.h"
#include "env/container/root_files.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::env {

struct Link {
    Link() {
        int ends[2] = {-1, -1};
        EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        ours = core::Descriptor(ends[0]);
        theirs = core::Descriptor(ends[1]);
    }
    core::Descriptor ours, theirs;
};

core::Error as_it_is(core::Error error) {
    return error;
}

TEST(env_container, holder_replies_carry_process_and_variables) {
    Link link;
    core::Environment variables = {{"A", ""}, {"B", "x=y\nz"}};
    ASSERT_TRUE(tell_part(link.theirs.get(), HolderPart::kCreate));
    ASSERT_TRUE(tell_reply(link.theirs.get(), HolderReply{.init = 4711, .variables = variables}));
    auto reply = receive_reply(link.ours.get(), 1, as_it_is);
    ASSERT_TRUE(reply) << reply.error().render();
    EXPECT_EQ(reply->init, 4711);
    EXPECT_EQ(reply->variables, variables);
}

TEST(env_container, holder_errors_arrive_whole) {
    Link link;
    core::Error sent =
        core::bad_input("first\nsecond").hint("do\nthis").because(core::Cause::kDenied).error();
    ASSERT_TRUE(tell_reply(link.theirs.get(), std::unexpected(sent)));
    auto reply = receive_reply(link.ours.get(), 1, as_it_is);
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().message(), "first\nsecond");
    EXPECT_EQ(reply.error().hint_text(), "do\nthis");
    EXPECT_EQ(reply.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_EQ(reply.error().cause(), core::Cause::kDenied);
}

TEST(env_container, holder_that_is_silent_is_given_up_with_its_part) {
    Link link;
    ASSERT_TRUE(tell_part(link.theirs.get(), HolderPart::kSources));
    auto reply = receive_reply(link.ours.get(), 1, as_it_is, {.sources = std::chrono::milliseconds(1)});
    ASSERT_FALSE(reply);
    EXPECT_EQ(reply.error().cause(), core::Cause::kTimedOut);
    EXPECT_EQ(reply.error().message(),
              "the container: looking for what is mounted from the host: no answer in time");
}

TEST(env_container, holder_that_was_killed_is_an_error) {
    Link link;
    ASSERT_TRUE(tell_part(link.theirs.get(), HolderPart::kCreate));
    link.theirs.reset();
    EXPECT_EQ(receive_reply(link.ours.get(), 1, as_it_is).error().cause(), core::Cause::kEnded);
}

TEST(env_container, holder_silence_is_not_what_the_holder_says_that_it_waited_for) {
    auto silent = [](core::Error error) { return std::move(error).after(" (silent)"); };
    Link told, lost;
    core::Error late = core::system_error("crun: no answer").because(core::Cause::kTimedOut).error();
    ASSERT_TRUE(tell_reply(told.theirs.get(), std::unexpected(late)));
    EXPECT_EQ(receive_reply(told.ours.get(), 1, silent).error(), late);
    lost.theirs.reset();
    EXPECT_THAT(receive_reply(lost.ours.get(), 1, silent).error().message(),
                ::testing::EndsWith(" (silent)"));
}

// 16 MiB of variables of an entrypoint once met a reader of 1 MiB.
TEST(env_container, holder_replies_may_be_as_long_as_an_entrypoint_makes_them) {
    Link link;
    core::Environment variables = {{"LONG", std::string(kMostVariables - 16, 'x')}};
    auto holder = core::fork_process({.keep = {link.theirs.get()}}, [&] {
        return tell_reply(link.theirs.get(), HolderReply{.init = 1, .variables = variables}) ? 0 : 1;
    });
    link.theirs.reset();
    auto reply = receive_reply(link.ours.get(), 1, as_it_is);
    ASSERT_TRUE(reply) << reply.error().render();
    EXPECT_EQ(reply->variables, variables);
    EXPECT_TRUE(holder.value().wait().value().success());
}

TEST(env_container, holder_replies_that_are_cut_are_errors) {
    for (const char* text : {"", "v", "v-3", "v0", "v12x", "e", "eBE1", "x"}) {
        SCOPED_TRACE(text);
        EXPECT_FALSE(decode_reply(text));
    }
}

TEST(env_container, ids_are_found_in_their_field_only) {
    const char* lines = "root:x:0:0:root:/root:/bin/sh\nanna:x:1000:100:1000:/home/1000:/bin/sh\n";
    EXPECT_TRUE(names_id(lines, 0));
    EXPECT_TRUE(names_id(lines, 1000));
    EXPECT_FALSE(names_id(lines, 100));
    EXPECT_FALSE(names_id(lines, 10));
    EXPECT_FALSE(names_id("", 0));
    EXPECT_FALSE(names_id("broken line\n:::\n", 0));
}

TEST(env_container, a_name_service_that_fails_is_told_and_one_that_knows_nobody_is_not) {
    auto directory = core::TemporaryDirectory::create().value();
    ASSERT_TRUE(core::make_directories(directory.path() / "etc"));
    ASSERT_TRUE(core::replace_file(directory.path() / "etc/passwd", "root:x:0:0::/root:/bin/sh\n"));
    auto answer = [](int reason) {
        return AccountService{.user = [reason](uid_t, passwd*, char*, size_t, passwd**) { return reason; },
                              .group = [](gid_t, group*, char*, size_t, group**) { return 0; }};
    };
    EXPECT_TRUE(name_user(directory.path(), 4711, 4711, answer(0)));
    EXPECT_TRUE(name_user(directory.path(), 4711, 4711, answer(ENOENT)));
    auto failed = name_user(directory.path(), 4711, 4711, answer(ECONNREFUSED));
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message(), "cannot look up user 4711: Connection refused");
    EXPECT_EQ(failed.error().cause(), core::Cause::kUnreachable);
}

TEST(env_container, an_entry_of_the_name_service_may_be_long) {
    auto directory = core::TemporaryDirectory::create().value();
    ASSERT_TRUE(core::make_directories(directory.path() / "etc"));
    ASSERT_TRUE(core::replace_file(directory.path() / "etc/group", ""));
    const AccountService service{.user = [](uid_t, passwd*, char*, size_t, passwd**) { return 0; },
                                 .group =
                                     [](gid_t id, group* entry, char* texts, size_t size, group** found) {
                                         if (size < 100'000) return ERANGE;
                                         *entry = {.gr_name = strcpy(texts, "all"), .gr_gid = id};
                                         *found = entry;
                                         return 0;
                                     }};
    ASSERT_TRUE(name_user(directory.path(), 4711, 4711, service));
    EXPECT_EQ(core::read_file(directory.path() / "etc/group").value(), "all:x:4711:\n");
}

TEST(env_container, only_an_image_without_the_files_of_names_stays_without) {
    auto directory = core::TemporaryDirectory::create().value();
    const AccountService service{.user =
                                     [](uid_t id, passwd* entry, char* texts, size_t, passwd** found) {
                                         char* text = strcpy(texts, "ada");
                                         *entry = {.pw_name = text,
                                                   .pw_passwd = text,
                                                   .pw_uid = id,
                                                   .pw_gid = id,
                                                   .pw_gecos = text,
                                                   .pw_dir = text,
                                                   .pw_shell = text};
                                         *found = entry;
                                         return 0;
                                     },
                                 .group = [](gid_t, group*, char*, size_t, group**) { return 0; }};
    EXPECT_TRUE(name_user(directory.path(), 4711, 4711, service)) << "no etc";
    ASSERT_TRUE(core::make_directories(directory.path() / "etc"));
    const auto passwd_file = directory.path() / "etc/passwd";
    EXPECT_TRUE(name_user(directory.path(), 4711, 4711, service)) << "no file";
    std::filesystem::create_symlink("passwd", passwd_file);
    EXPECT_TRUE(name_user(directory.path(), 4711, 4711, service)) << "a link to itself";
    std::filesystem::remove(passwd_file);
    ASSERT_TRUE(core::replace_file(passwd_file, ""));
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const int first_free = dup(STDERR_FILENO);
    close(first_free);
    // Room for the root, and for a look at the file.
    const rlimit few{static_cast<rlim_t>(first_free) + 2, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    const auto named = name_user(directory.path(), 4711, 4711, service);
    setrlimit(RLIMIT_NOFILE, &before);
    ASSERT_FALSE(named);
    EXPECT_EQ(named.error().errno_value(), EMFILE);
    EXPECT_EQ(named.error().message(), "cannot open etc/passwd of the image: Too many open files");
}

// What would never end is not read, and not written to.
TEST(env_container, odd_files_of_an_image_are_left_alone) {
    auto directory = core::TemporaryDirectory::create();
    ASSERT_TRUE(directory);
    const std::filesystem::path etc = directory->path() / "etc";
    ASSERT_TRUE(core::make_directories(etc));
    ASSERT_EQ(mkfifo((etc / "passwd").c_str(), 0644), 0);
    constexpr off_t kHuge = off_t{1} << 40;
    {
        auto file = core::open_file(etc / "group", O_RDWR | O_CREAT);
        ASSERT_TRUE(file);
        ASSERT_EQ(ftruncate(file->get(), kHuge), 0);
    }
    auto named = name_user(directory->path(), getuid(), getgid());
    EXPECT_TRUE(named) << named.error().render();
    EXPECT_EQ(std::filesystem::file_size(etc / "group"), static_cast<uintmax_t>(kHuge));
}

}  // namespace belay::env
