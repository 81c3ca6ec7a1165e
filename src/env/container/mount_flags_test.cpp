#include "env/container/mount_flags.h"

#include <sys/mount.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::env {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(env_container, flags_of_mounts_are_those_of_the_plan) {
    EXPECT_THAT(flags_of({}), IsEmpty());
    EXPECT_THAT(
        flags_of({{"/a", "/x", {"rbind", "rro", "rnosuid", "rslave"}}, {"/b", "/y", {"bind", "noexec"}}}),
        ElementsAre(MountFlags{"/x", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID},
                    MountFlags{"/y", MOUNT_ATTR_NOEXEC}));
    EXPECT_THAT(flags_of({{"/a", "/x", {"rbind", "rro"}}, {"/b", "/x", {"rbind", "rnodev"}}}),
                ElementsAre(MountFlags{"/x", MOUNT_ATTR_NODEV}))
        << "the later mount is what is seen there";
}

TEST(env_container, flags_of_mounted_files_are_not_for_the_runtime) {
    ContainerPlan plan;
    plan.binds = {{"/a", "/x", {"rbind", "rro"}}, {"/b", "/y", {"rbind", "rslave", "rro", "noexec"}}};
    plan.binds[1].is_file = true;
    const auto config = nlohmann::json::parse(oci_config(plan, "/root", {}, 1, 1));
    EXPECT_EQ(config["mounts"][0]["options"], (nlohmann::json{"rbind", "rro"}));
    EXPECT_EQ(config["mounts"][1]["options"], (nlohmann::json{"rbind", "rslave"}));
}

}  // namespace
}  // namespace belay::env
