// With a real munge daemon, of a key of its own.
#include "slurm/munge.h"

#include "core/file.h"
#include "core/process.h"
#include "core/work.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::slurm {
namespace {

using namespace std::chrono_literals;
using core::Deadline;
using testing::HasSubstr;

class Daemon {
  public:
    Daemon() : directory_(core::TemporaryDirectory::create().value()) {
        core::Descriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
        auto file = [&](const char* name) { return (directory_.path() / name).string(); };
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
        for (auto until = Deadline::after(30s); access(socket().c_str(), F_OK) != 0 && !until.is_over();)
            std::this_thread::sleep_for(5ms);
    }
    std::string socket() const { return (directory_.path() / "socket").string(); }

  private:
    core::TemporaryDirectory directory_;
    std::optional<core::Process> process_;
};

TEST(slurm, munge_carries_a_text_to_processes_of_this_user) {
    Daemon daemon;
    Credentials munge = munge_at(daemon.socket());
    const std::string secret("\0secret\n", 8);
    auto credential = munge.encode(secret, Deadline::after(20s));
    ASSERT_TRUE(credential) << credential.error().render();
    EXPECT_THAT(*credential, testing::StartsWith("MUNGE:"));
    EXPECT_THAT(*credential, testing::Not(HasSubstr("secret")));
    EXPECT_EQ(munge.decode(*credential, Deadline::after(20s)).value(), secret);
    EXPECT_EQ(munge.decode(*credential, Deadline::after(20s)).value(), secret)
        << "another node on this machine";
    auto forged = *credential;
    forged[forged.size() / 2] ^= 1;
    EXPECT_EQ(munge.decode(forged, Deadline::after(20s)).error().cause(), core::Cause::kDenied);
}

TEST(slurm, munge_of_another_user_is_told_apart) {
    if (geteuid() != 0) GTEST_SKIP() << "needs root to become another user";
    Daemon daemon;
    Credentials munge = munge_at(daemon.socket());
    auto as_nobody = [&](const std::function<core::Result<std::string>()>& work) {
        return core::Work::start({.what = "another user"},
                                 [&]() -> core::Result<std::string> {
                                     if (setresuid(65534, 65534, 65534) != 0)
                                         return core::system_error("root");
                                     return work();
                                 })
            .value()
            .finish(Deadline::after(30s));
    };
    auto ours = munge.encode("text", Deadline::after(20s)).value();
    auto read = as_nobody([&] { return munge.decode(ours, Deadline::after(20s)); });
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().cause(), core::Cause::kDenied) << read.error().render();
    auto theirs = as_nobody([&] { return munge.encode("text", Deadline::after(20s)); });
    ASSERT_TRUE(theirs) << theirs.error().render();
    EXPECT_EQ(munge.decode(*theirs, Deadline::after(20s)).error().cause(), core::Cause::kDenied);
}

TEST(slurm, without_munge_the_reason_is_told) {
    auto none = munge_at("/nonexistent/socket").encode("text", Deadline::after(60s));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().cause(), core::Cause::kNotFound);
    EXPECT_THAT(none.error().message(), HasSubstr("munge"));
}

}  // namespace
}  // namespace belay::slurm
