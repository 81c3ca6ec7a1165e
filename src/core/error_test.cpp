#include "core/error.h"

#include "core/utf8.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace belay::core {
namespace {

Result<int> half(int number) {
    if (number % 2 != 0) return bad_input("{} is odd", number).hint("take an even one");
    return number / 2;
}

Result<int> quarter(int number) {
    BELAY_TRY(once, half(number));
    BELAY_TRY(twice, with_context(half(once), "second half"));
    return twice;
}

Result<> check(int number) {
    BELAY_CHECK(quarter(number));
    return {};
}

TEST(core, error_keeps_all_but_its_kind_as_somebody_elses_fault) {
    Error failed = std::move(errno_error(ENOENT, "cannot open x")).error().hint("name another");
    Error theirs = Error(failed).as(ErrorKind::kBadInput);
    EXPECT_EQ(theirs.kind(), ErrorKind::kBadInput);
    EXPECT_EQ(std::move(theirs).as(ErrorKind::kSystem), failed);
}

TEST(core, error_goes_up_with_context) {
    EXPECT_EQ(quarter(8).value(), 2);
    EXPECT_TRUE(check(8));
    EXPECT_EQ(quarter(3).error().message(), "3 is odd");
    EXPECT_EQ(check(6).error().message(), "second half: 3 is odd");
    EXPECT_EQ(check(6).error().hint_text(), "take an even one");
}

TEST(core, error_keeps_kind_and_cause_beside_a_second_failure) {
    const Error full = errno_error(ENOSPC, "cannot write x").error();
    const Error left = system_error("cannot remove y").hint("remove it").error();
    const Error both = Error(full).also(left);
    EXPECT_EQ(both.message(), full.message() + "; cannot remove y");
    EXPECT_EQ(both.cause(), Cause::kNoSpace);
    EXPECT_EQ(both.errno_value(), ENOSPC);
    EXPECT_EQ(both.hint_text(), "remove it");
    EXPECT_EQ(Error(left).also(bad_input("z").hint("another").error()).hint_text(), "remove it");
}

TEST(core, error_kind_is_the_exit_status) {
    EXPECT_EQ(negative("no").error().exit_status(), 1);
    EXPECT_EQ(bad_input("wrong").error().exit_status(), 2);
    EXPECT_EQ(system_error("broken").error().exit_status(), 3);
    EXPECT_EQ(Error(ErrorKind::kStoppedEarly, "enough").exit_status(), 4);
    EXPECT_EQ(errno_error(ENOENT, "cannot open x").error().message(),
              "cannot open x: No such file or directory");
}

TEST(core, error_is_shown_with_caret_and_hint) {
    Error error = bad_input("unknown key \"mount\"")
                      .hint("did you mean \"mounts\"?")
                      .at({"env.toml", 5, 3, "\t mount = [\"/a:/b\"]"})
                      .error();
    EXPECT_EQ(error.render(),
              "belay: env.toml:5:3: unknown key \"mount\"\n"
              "      mount = [\"/a:/b\"]\n"
              "      ^\n"
              "hint: did you mean \"mounts\"?\n");
    EXPECT_EQ(Error(ErrorKind::kSystem, "broken").render("belayd"), "belayd: broken\n");
    EXPECT_EQ(bad_input("x").at({"f", 1, 1, ""}).error().render(), "belay: f:1:1: x\n");
}

TEST(core, error_caret_counts_characters_and_stays_in_the_line) {
    EXPECT_EQ(bad_input("x").at({"f", 1, 5, "\u00e4\u00f6b"}).error().render(),
              "belay: f:1:5: x\n    \u00e4\u00f6b\n      ^\n");
    EXPECT_EQ(bad_input("x").at({"f", 1, 99, "ab"}).error().render(), "belay: f:1:99: x\n    ab\n      ^\n");
}

TEST(core, error_shows_of_a_long_line_what_stands_around_its_place) {
    std::string line = std::string(1000, 'a') + "here" + std::string(1000, 'b');
    auto shown = [&](int column) {
        return mark_line({.file = "f", .line = 1, .column = column, .line_text = line}, 4);
    };
    auto [middle, mark] = shown(1001);
    EXPECT_EQ(middle, "…" + std::string(100, 'a') + "here" + std::string(96, 'b') + "…");
    EXPECT_EQ(mark, std::string(101, ' ') + "^~~~");
    EXPECT_EQ(shown(1).line, std::string(200, 'a') + "…");
    EXPECT_EQ(shown(1).mark, "^~~~");
    EXPECT_EQ(shown(2004).line, "…" + std::string(200, 'b'));
    EXPECT_EQ(shown(2004).mark, std::string(200, ' ') + "^");
    line.clear();
    for (int i = 0; i < 300; ++i) line += "ö";
    for (int column = 1; column <= 600; ++column)
        EXPECT_EQ(to_valid_utf8(shown(column).line), shown(column).line);
}

TEST(core, error_shows_no_control_characters) {
    Error error = bad_input("\x1b[2J\nbelay: done").hint("\r\x7f").at({"a\nb", 1, 1, "\x1b]0;x\x07"}).error();
    EXPECT_EQ(error.render(), "belay: a?b:1:1: ?[2J?belay: done\n    ?]0;x?\n    ^\nhint: ??\n");
}

}  // namespace
}  // namespace belay::core
