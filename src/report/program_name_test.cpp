#include "report/program_name.h"

#include <vector>

#include <gtest/gtest.h>

namespace belay::report {
namespace {

TEST(report, a_run_is_called_after_its_program_or_script) {
    const auto name = [](std::vector<std::string> command) { return program_name(command); };
    EXPECT_EQ(name({}), "");
    EXPECT_EQ(name({"/opt/a/train"}), "train");
    EXPECT_EQ(name({"python3", "-u", "src/train.py", "--lr", "1"}), "train.py");
    EXPECT_EQ(name({"/usr/bin/python3.11", "-m", "torch.distributed.run", "t.py"}), "torch.distributed.run");
    EXPECT_EQ(name({"python", "-W", "ignore", "t.py"}), "t.py");
    EXPECT_EQ(name({"python", "-c", "print(1)"}), "python");
    EXPECT_EQ(name({"bash", "-ec", "sleep 1"}), "bash");
    EXPECT_EQ(name({"bash", "run.sh"}), "run.sh");
    EXPECT_EQ(name({"env", "-u", "A", "B=1", "python3", "t.py"}), "t.py");
    EXPECT_EQ(name({"env", "A=1"}), "env");
    EXPECT_EQ(name({"python3"}), "python3");
    EXPECT_EQ(name({"sleep", "5"}), "sleep");
}

}  // namespace
}  // namespace belay::report
