// With a real daemon of munge, of a key of its own.
#include "server/login/munge_decode.h"

#include "core/file.h"
#include "core/process.h"
#include "server/login/munge_payload.h"

#include <chrono>
#include <fcntl.h>
#include <optional>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

namespace belay::server {
namespace {

using namespace std::chrono_literals;
using core::Deadline;

class MungeDaemon {
  public:
    MungeDaemon() : directory_(core::TemporaryDirectory::create().value()) {
        const core::Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
        const auto file = [&](const char* name) { return (directory_.path() / name).string(); };
        chmod(directory_.path().c_str(), 0755);
        EXPECT_TRUE(core::replace_file(file("key"), std::string(128, 'k')));
        chmod(file("key").c_str(), 0600);
        process_.emplace(
            core::spawn({.argv = {"/usr/sbin/munged", "--foreground", "--force", "--socket=" + socket(),
                                  "--key-file=" + file("key"), "--pid-file=" + file("pid"),
                                  "--seed-file=" + file("seed"), "--log-file=" + file("log")},
                         .stdout_fd = null.get(),
                         .stderr_fd = null.get()})
                .value());
        for (const auto until = Deadline::after(30s);
             access(socket().c_str(), F_OK) != 0 && !until.is_over();)
            std::this_thread::sleep_for(5ms);
        EXPECT_EQ(access(socket().c_str(), F_OK), 0) << "munged did not make its socket within 30 s";
    }
    std::string socket() const { return (directory_.path() / "socket").string(); }
    // As any user makes one.
    std::string encode(const std::string& text) const {
        const auto made =
            core::output_of({.argv = {"/usr/bin/munge", "--socket=" + socket(), "--string=" + text}});
        EXPECT_TRUE(made) << (made ? "" : made.error().render());
        std::string credential = made.value_or("");
        while (credential.ends_with('\n')) credential.pop_back();
        return credential;
    }

  private:
    core::TemporaryDirectory directory_;
    std::optional<core::Process> process_;
};

bool is_munge_installed() {
    return access("/usr/sbin/munged", X_OK) == 0 && access("/usr/bin/munge", X_OK) == 0;
}

TEST(server_login, munge_opens_what_users_encode_once) {
    if (!is_munge_installed()) GTEST_SKIP() << "munge is not installed";
    const MungeDaemon daemon;
    const DecodeMunge decode = decode_by_munge(daemon.socket());
    for (const char* text : {"belayd/1 host GET abc 1700000000", "a", "ab", "abc"}) {
        const std::string credential = daemon.encode(text);
        EXPECT_TRUE(is_munge_text(credential)) << credential;
        const auto opened = decode(credential, Deadline::after(60s));
        ASSERT_TRUE(opened) << opened.error().render();
        EXPECT_EQ(opened->payload, text);
        EXPECT_EQ(opened->uid, geteuid());
        const auto again = decode(credential, Deadline::after(60s));
        ASSERT_FALSE(again) << "twice";
        EXPECT_EQ(again.error().cause(), core::Cause::kDenied);
    }
    std::string forged = daemon.encode("text");
    forged[forged.size() / 2] = forged[forged.size() / 2] == 'A' ? 'B' : 'A';
    for (const std::string& text : {forged, std::string("MUNGE:AwQF:"), std::string("x")}) {
        const auto refused = decode(text, Deadline::after(60s));
        ASSERT_FALSE(refused) << text;
        EXPECT_EQ(refused.error().cause(), core::Cause::kDenied) << refused.error().render();
    }
    EXPECT_EQ(decode(daemon.encode("late"), Deadline::after(0s)).error().cause(), core::Cause::kTimedOut);
}

TEST(server_login, without_munge_it_is_not_the_senders_fault) {
    const auto none = decode_by_munge("/nonexistent/socket")("MUNGE:AwQF:", Deadline::after(60s));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().cause(), core::Cause::kNotFound);
}

TEST(server_login, users_have_names) {
    EXPECT_EQ(name_of_user(0).value(), "root");
    EXPECT_EQ(name_of_user(3'999'999'999).error().cause(), core::Cause::kNotFound);
}

}  // namespace
}  // namespace belay::server
