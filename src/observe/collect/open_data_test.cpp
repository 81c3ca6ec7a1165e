#include "observe/collect/open_data.h"

#include "observe/collect/testing.h"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace belay::observe::collect {
namespace {

using namespace testing;
using ::testing::ElementsAre;

class Watched {
  public:
    void open(pid_t pid, const std::string& fd, const std::string& path) const {
        fs::create_directories(of(pid) / "fd");
        fs::create_symlink(path, of(pid) / "fd" / fd);
    }
    fs::path of(pid_t pid) const { return root.proc() / std::to_string(pid); }
    std::vector<std::string> look(const std::vector<pid_t>& pids) {
        std::vector<JobProcess> processes;
        for (pid_t pid : pids)
            processes.push_back(
                {.stat = {.pid = pid, .command = "python3"}, .task = 7, .job_id = {}, .step_id = {}});
        told.clear();
        data.look(processes);
        return told;
    }

    FakeRoot root;
    std::vector<std::string> told;
    OpenData data{root.proc(), [this](const stream::Event& event) {
                      EXPECT_EQ(event.task, 7);
                      told.push_back(*event.subject);
                  }};
};

TEST(observe_collect, directories_of_shards_and_images_are_told_once) {
    Watched watched;
    watched.open(10, "0", "/dev/null");
    watched.open(10, "1", "pipe:[1234.tar]");
    watched.open(10, "2", "/scratch/notes.txt");
    watched.open(10, "3", "/scratch/train/s-0.tar");
    watched.open(10, "4", "/scratch/train/s-1.tar");
    watched.open(11, "3", "/scratch/train/s-2.tar");
    watched.open(11, "4", "/x.sqsh");
    EXPECT_THAT(watched.look({10, 11}), ElementsAre("/scratch/train", "/"));
    EXPECT_THAT(watched.look({10, 11}), ElementsAre());
}

TEST(observe_collect, a_directory_is_told_as_the_node_names_it) {
    Watched watched;
    watched.root.write("proc/self/mountinfo", "2 1 0:50 / /scratch rw - lustre fs rw\n");
    watched.root.write("proc/10/mountinfo", "9 9 0:50 /train /data rw - lustre fs rw\n");
    watched.open(10, "3", "/data/s-0.tar");
    watched.open(10, "4", "/of/the/image.tar");
    EXPECT_THAT(watched.look({10}), ::testing::UnorderedElementsAre("/scratch/train", "/of/the"));
}

TEST(observe_collect, a_look_that_would_take_long_goes_on_at_the_next) {
    Watched watched;
    for (int i = 0; i < 600; ++i) watched.open(10, std::to_string(i), "/dev/null");
    watched.open(20, "3", "/late/s-0.tar");
    EXPECT_THAT(watched.look({10, 20}), ElementsAre());
    EXPECT_THAT(watched.look({10, 20}), ElementsAre("/late"));
}

TEST(observe_collect, all_descriptors_of_a_process_are_looked_at_in_the_end) {
    Watched watched;
    for (int i = 0; i < 1200; ++i)
        watched.open(10, std::to_string(i), fmt::format("/data{}/s-0.tar", i / 12));
    std::set<std::string> told;
    for (int look = 0; look < 3; ++look)
        for (const std::string& directory : watched.look({10})) told.insert(directory);
    EXPECT_EQ(told.size(), 100u);
}

TEST(observe_collect, processes_that_cannot_be_looked_into_are_passed_over) {
    Watched watched;
    watched.open(20, "3", "/a/s-0.tar");
    EXPECT_THAT(watched.look({10, 20, 30}), ElementsAre("/a"));
    EXPECT_THAT(watched.look({}), ElementsAre());
}

}  // namespace
}  // namespace belay::observe::collect
