#include "core/terminal.h"

#include "core/file.h"

#include <cstdlib>
#include <fcntl.h>
#include <sys/ioctl.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

// A terminal of 60 columns that nobody looks at.
class Terminal {
  public:
    Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
        EXPECT_EQ(grantpt(master_.get()), 0);
        EXPECT_EQ(unlockpt(master_.get()), 0);
        screen_ = Descriptor(open(ptsname(master_.get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
        winsize size{.ws_row = 24, .ws_col = 60, .ws_xpixel = 0, .ws_ypixel = 0};
        EXPECT_EQ(ioctl(screen_.get(), TIOCSWINSZ, &size), 0);
    }
    int fd() const { return screen_.get(); }

  private:
    Descriptor master_;
    Descriptor screen_;
};

TEST(core, terminal_colour_is_asked_for_by_its_name_and_by_people) {
    const Terminal terminal;
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    EXPECT_TRUE(shows_colour(terminal.fd()));
    setenv("NO_COLOR", "", 1);
    EXPECT_TRUE(shows_colour(terminal.fd()));
    setenv("NO_COLOR", "1", 1);
    EXPECT_FALSE(shows_colour(terminal.fd()));
    unsetenv("NO_COLOR");
    setenv("TERM", "dumb", 1);
    EXPECT_FALSE(shows_colour(terminal.fd()));
    setenv("TERM", "xterm", 1);
    const Descriptor nothing(open("/dev/null", O_WRONLY | O_CLOEXEC));
    EXPECT_FALSE(shows_colour(nothing.get()));
}

TEST(core, terminal_columns) {
    const Terminal terminal;
    EXPECT_EQ(terminal_columns(terminal.fd()), 60U);
    const Descriptor nothing(open("/dev/null", O_WRONLY | O_CLOEXEC));
    EXPECT_EQ(terminal_columns(nothing.get(), 100), 100U);
}

}  // namespace
}  // namespace belay::core
