#include "spank/step.h"

#include "core/file.h"

#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::spank {

namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Ended {
    int status;
    std::string shown;
};

Ended end_of(const std::vector<std::string>& words) {
    setenv("BELAY_CONFIG_DIR", "/nonexistent", 1);
    testing::internal::CaptureStderr();
    const int status = run(words);
    return {status, testing::internal::GetCapturedStderr()};
}

}  // namespace

TEST(spank, belay_step_ends_with_the_kind_of_what_failed) {
    const auto directory = core::TemporaryDirectory::create("step_test").value();
    const auto loop = directory.path() / "loop.toml";
    std::filesystem::create_symlink("loop.toml", loop);
    Ended missing = end_of({"prepare", "--environment=/no/such/environment.toml"});
    EXPECT_EQ(missing.status, 2);
    EXPECT_THAT(missing.shown, StartsWith("belay: "));
    EXPECT_THAT(missing.shown, HasSubstr("/no/such/environment.toml"));
    EXPECT_EQ(end_of({"prepare", "--vet=/no/such/protocol.yaml"}).status, 2);
    for (const char* option : {"--vet=", "--environment="}) {
        Ended broken = end_of({"prepare", option + loop.string()});
        EXPECT_EQ(broken.status, 3) << option;
        EXPECT_THAT(broken.shown, HasSubstr(loop.string()));
    }
    EXPECT_EQ(end_of({"node", "x"}).status, 2);
    EXPECT_EQ(end_of({"supervise"}).status, 2);
}

TEST(spank, belay_step_is_not_for_people) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{}, {"--help"}}) {
        Ended ended = end_of(words);
        EXPECT_EQ(ended.status, 2);
        EXPECT_EQ(
            ended.shown,
            "belay: belay-step is started by Belay's Slurm plugin\nhint: what people type is belay; see "
            "belay(1)\n");
    }
}

}  // namespace belay::spank
