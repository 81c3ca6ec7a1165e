#include "env/container/mount_flags.h"

#include <sys/statvfs.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::env {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(env_container, flags_of_mounts_are_those_of_the_plan) {
    EXPECT_THAT(flags_of({}), IsEmpty());
    EXPECT_THAT(
        flags_of({{"/a", "/x", {"rbind", "rro", "rnosuid", "rslave"}}, {"/b", "/y", {"bind", "noexec"}}}),
        ElementsAre(MountFlags{"/x", ST_RDONLY | ST_NOSUID}, MountFlags{"/y", ST_NOEXEC}));
    EXPECT_THAT(flags_of({{"/a", "/x", {"rbind", "rro"}}, {"/b", "/x", {"rbind", "rnodev"}}}),
                ElementsAre(MountFlags{"/x", ST_NODEV}))
        << "the later mount is what is seen there";
}

TEST(env_container, flags_of_mounted_files_are_not_for_the_runtime) {
    std::vector<Bind> binds = {{"/", "/x", {"rbind", "rro"}},
                               {"/proc/self/status", "/y", {"rbind", "rslave", "rro", "noexec"}},
                               {"/nonexistent", "/z", {"rbind", "rro"}}};
    take_flags_of_files(binds);
    EXPECT_THAT(binds[0].options, ElementsAre("rbind", "rro"));
    EXPECT_THAT(binds[1].options, ElementsAre("rbind", "rslave"));
    EXPECT_THAT(binds[2].options, ElementsAre("rbind", "rro"));
}

}  // namespace
}  // namespace belay::env
