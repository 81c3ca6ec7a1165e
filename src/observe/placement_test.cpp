#include "observe/placement.h"

#include "core/file.h"

#include <cstdlib>
#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::observe {
namespace {

using ::testing::HasSubstr;

// Variables of this process while it lives.
class Variables {
  public:
    explicit Variables(const std::map<std::string, std::string>& values) {
        for (const auto& [name, value] : values) {
            if (const char* before = getenv(name.c_str())) before_[name] = before;
            names_.push_back(name);
            setenv(name.c_str(), value.c_str(), 1);
        }
    }
    ~Variables() {
        for (const std::string& name : names_) {
            auto found = before_.find(name);
            found == before_.end() ? unsetenv(name.c_str()) : setenv(name.c_str(), found->second.c_str(), 1);
        }
    }

  private:
    std::vector<std::string> names_;
    std::map<std::string, std::string> before_;
};

TEST(observe, a_record_that_lacks_what_scontrol_did_not_tell_says_so) {
    auto directory = core::TemporaryDirectory::create().value();
    const auto program = directory.path() / "scontrol";
    ASSERT_TRUE(core::replace_file(program, "#!/bin/sh\necho 'no controller' >&2; exit 1\n"));
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    Variables variables({{"PATH", directory.path().string() + ":" + getenv("PATH")},
                         {"SLURM_JOB_ID", "7"},
                         {"SLURM_JOB_NODELIST", "n1"},
                         {"SLURMD_NODENAME", "n1"}});
    testing::internal::CaptureStderr();
    auto placement = find_placement_and_times();
    const std::string said = testing::internal::GetCapturedStderr();
    ASSERT_TRUE(placement) << placement.error().message();
    EXPECT_EQ(placement->job.submit, std::nullopt);
    EXPECT_THAT(said,
                HasSubstr("belay: n1: the record will lack when the job was submitted: scontrol show job 7: "
                          "exit status 1: no controller; the job goes on"));
    testing::internal::CaptureStderr();
    ASSERT_TRUE(find_placement());
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the controller is not asked for it";
}

}  // namespace
}  // namespace belay::observe
