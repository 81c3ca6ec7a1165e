#include "env/container/holder.h"

#include "core/file.h"
#include "env/container/root_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::env {

TEST(env_container, holder_replies_are_understood) {
    auto good = decode_holder_reply(encode({.init = 4711, .error = {}}));
    ASSERT_TRUE(good);
    EXPECT_EQ(good->init, 4711);
    EXPECT_FALSE(good->error);
}

TEST(env_container, holder_replies_carry_variables) {
    core::Environment variables = {{"A", ""}, {"B", "x=y\nz"}};
    auto reply = decode_holder_reply(encode({.init = 1, .error = {}, .variables = variables}));
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->variables, variables);
}

TEST(env_container, holder_errors_keep_lines_hint_and_kind) {
    core::Error sent = core::bad_input("first\nsecond").hint("do this").error();
    auto reply = decode_holder_reply(encode({.init = -1, .error = sent}));
    ASSERT_TRUE(reply);
    ASSERT_TRUE(reply->error);
    EXPECT_EQ(reply->error->message(), "first\nsecond");
    EXPECT_EQ(reply->error->hint_text(), "do this");
    EXPECT_EQ(reply->error->kind(), core::ErrorKind::kBadInput);

    auto plain = decode_holder_reply(encode({.init = -1, .error = core::system_error("x").error()}));
    ASSERT_TRUE(plain && plain->error);
    EXPECT_EQ(plain->error->hint_text(), "");
    EXPECT_EQ(plain->error->kind(), core::ErrorKind::kSystem);
}

TEST(env_container, a_holder_that_was_killed_is_an_error) {
    for (const char* text : {"", "o", "ok", "ok ", "ok -3", "ok 0", "ok 12x", "error", "error 2\nno hint"}) {
        SCOPED_TRACE(text);
        EXPECT_FALSE(decode_holder_reply(text));
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
