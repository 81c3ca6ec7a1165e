#include "observe/cgroup/live_cgroups.h"

#include "observe/cgroup/fake_cgroups.h"

#include <cerrno>
#include <fcntl.h>

#include <gmock/gmock.h>

namespace belay::observe::cgroup {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::string kTop(kScope);

void collect_paths(const Cgroup& cgroup, std::vector<std::string>& paths) {
    paths.push_back(cgroup.path);
    for (const auto& [name, child] : cgroup.children) collect_paths(*child, paths);
}

// A host that is looked at.
class Watched {
  public:
    explicit Watched(const FakeCgroups& host) : Watched(host.live()) {}
    explicit Watched(LiveOptions options) : live_(std::move(options)) {}

    // Below their tops.
    std::vector<std::string> look() {
        live_.look(at_second(++second_));
        std::vector<std::string> paths;
        for (const SlurmTree& tree : live_.trees())
            for (const auto& [path, top] : tree.tops)
                for (const auto& [name, child] : top->children) collect_paths(*child, paths);
        for (std::string& path : paths)
            if (path.starts_with(kTop)) path.erase(0, kTop.size() + 1);
        return paths;
    }
    Cgroup* find(std::string_view path) {
        for (const SlurmTree& tree : live_.trees())
            for (const auto& [at, top] : tree.tops)
                if (Cgroup* found = find_in(*top, path)) return found;
        return nullptr;
    }
    LiveCgroups& live() { return live_; }

  private:
    static Cgroup* find_in(Cgroup& cgroup, std::string_view path) {
        if (cgroup.path.ends_with(path)) return &cgroup;
        for (const auto& [name, child] : cgroup.children)
            if (Cgroup* found = find_in(*child, path)) return found;
        return nullptr;
    }

    LiveCgroups live_;
    int64_t second_ = 0;
};

FakeCgroups one_job() {
    FakeCgroups host;
    host.mount_unified();
    for (const char* below : {"", "job_7", "job_7/step_0", "job_7/step_0/slurm", "job_7/step_0/user",
                              "job_7/step_0/user/task_0", "job_7/step_0/user/task_1"})
        host.add_unified(fs::path(kTop) / below);
    host.write(kTop + "/system/cgroup.procs", "5\n");
    for (const char* empty : {"job_7", "job_7/step_0", "job_7/step_0/user"})
        host.write(fs::path(kTop) / empty / "cgroup.procs", "");  // as the kernel wants it (version 2)
    return host;
}

TEST(observe_cgroup, jobs_steps_and_tasks_are_followed_and_slurmstepd_is_not) {
    const FakeCgroups host = one_job();
    Watched watched(host);
    EXPECT_THAT(watched.look(), ElementsAre("job_7", "job_7/step_0", "job_7/step_0/user",
                                            "job_7/step_0/user/task_0", "job_7/step_0/user/task_1"));
    EXPECT_EQ(watched.find("task_1")->place.task, 1);
    EXPECT_EQ(watched.find("task_1")->readings.memory_bytes, 34'359'738'368);
    EXPECT_EQ(watched.find("step_0/user")->readings.memory_bytes, std::nullopt) << "it has no row";
    EXPECT_EQ(watched.find("job_7")->processes, 4);
    EXPECT_EQ(watched.find("step_0")->processes, 4);
    EXPECT_EQ(watched.find("task_0")->processes, 2);
}

TEST(observe_cgroup, what_changes_is_seen_through_open_files) {
    const FakeCgroups host = one_job();
    Watched watched(host);
    watched.look();
    host.write(kTop + "/job_7/memory.current", "5\n");
    host.write(kTop + "/job_7/memory.max", "max\n");
    host.write(kTop + "/job_7/step_0/user/task_0/cgroup.procs", "1\n");
    watched.look();
    EXPECT_EQ(watched.find("job_7")->readings.memory_bytes, 5);
    EXPECT_EQ(watched.find("job_7")->readings.memory_limit_bytes, std::nullopt);
    EXPECT_EQ(watched.find("job_7")->processes, 3);
}

TEST(observe_cgroup, what_seldom_changes_is_read_seldom) {
    const FakeCgroups host = one_job();
    LiveOptions options = host.live();
    options.slow_every = 3;
    Watched watched(options);
    watched.look();
    host.write(kTop + "/job_7/memory.max", "9\n");
    host.remove(kTop + "/job_7/memory.peak");
    host.write(kTop + "/job_7/cpuset.cpus.effective", "1\n");
    watched.look();
    watched.look();
    EXPECT_EQ(watched.find("job_7")->readings.memory_limit_bytes, 68'719'476'736);
    watched.look();
    EXPECT_EQ(watched.find("job_7")->readings.memory_limit_bytes, 9);
    EXPECT_EQ(watched.find("job_7")->readings.cpuset, "1");
}

TEST(observe_cgroup, steps_and_tasks_come_and_go) {
    const FakeCgroups host = one_job();
    Watched watched(host);
    watched.look();
    EXPECT_FALSE(watched.find("job_7")->start_time) << "nobody knows since when";
    host.add_unified(kTop + "/job_7/step_1");
    host.add_unified(kTop + "/job_7/step_1/user/task_0");
    host.remove(kTop + "/job_7/step_0/user/task_1");
    EXPECT_THAT(watched.look(),
                ElementsAre("job_7", "job_7/step_0", "job_7/step_0/user", "job_7/step_0/user/task_0",
                            "job_7/step_1", "job_7/step_1/user", "job_7/step_1/user/task_0"));
    EXPECT_EQ(watched.find("step_1")->start_time, at_second(2));
    EXPECT_EQ(watched.find("step_1/user/task_0")->start_time, at_second(2));
    host.remove(kTop + "/job_7");
    EXPECT_THAT(watched.look(), IsEmpty());
    host.remove(kTop);
    EXPECT_THAT(watched.look(), IsEmpty());
    host.add_unified(kTop + "/job_8");
    EXPECT_THAT(watched.look(), ElementsAre("job_8"));
}

TEST(observe_cgroup, one_that_returns_under_its_path_is_another) {
    const FakeCgroups host = one_job();
    Watched watched(host);
    watched.look();
    const ino_t before = watched.find("task_0")->id;
    host.replace_unified(kTop + "/job_7/step_0/user/task_0");
    host.write(kTop + "/job_7/step_0/user/task_0/memory.current", "1\n");
    watched.look();
    const Cgroup* now = watched.find("task_0");
    ASSERT_NE(now, nullptr);
    EXPECT_NE(now->id, before);
    EXPECT_EQ(now->start_time, at_second(2));
    EXPECT_EQ(now->readings.memory_bytes, 1) << "none of the files of the one before";
}

TEST(observe_cgroup, one_that_vanishes_before_it_is_read_is_gone) {
    const FakeCgroups host = one_job();
    const auto hierarchies = find_hierarchies(host.root());
    const std::string path = kTop + "/job_7/step_0/user/task_0";
    const std::vector<Part> parts = {{.inode = 1, .links = 2}};  // of another directory than is there now
    Room room{.cgroups = 1, .files = 100};
    TextReader reader;
    Readings readings;
    {
        CgroupFiles files(Version::kUnified, false, room);
        EXPECT_EQ(room.cgroups, 0U);
        EXPECT_FALSE(files.read({hierarchies.front(), path, parts}, true, reader, readings));
        host.remove(path);
        EXPECT_FALSE(files.read({hierarchies.front(), path, parts}, true, reader, readings));
    }
    EXPECT_EQ(values_in(readings), 0U);
    EXPECT_EQ(room.cgroups, 1U);
    EXPECT_EQ(room.files, 100U);
}

TEST(observe_cgroup, without_room_for_open_files_they_are_opened_every_time) {
    const FakeCgroups host = one_job();
    LiveOptions options = host.live();
    options.files_limit = 3;
    Watched watched(options);
    watched.look();
    host.write(kTop + "/job_7/memory.current", "5\n");
    host.write(kTop + "/job_7/step_0/user/task_0/memory.current", "6\n");
    EXPECT_EQ(watched.look().size(), 5U);
    EXPECT_EQ(watched.find("job_7")->readings.memory_bytes, 5);
    EXPECT_EQ(watched.find("task_0")->readings.memory_bytes, 6);
}

TEST(observe_cgroup, what_is_beyond_the_limit_is_counted_and_followed_once_there_is_room) {
    const FakeCgroups host = one_job();
    LiveOptions options = host.live();
    options.cgroups_limit = 5;
    Watched watched(options);
    EXPECT_THAT(watched.look(),
                ElementsAre("job_7", "job_7/step_0", "job_7/step_0/user", "job_7/step_0/user/task_0"));
    EXPECT_EQ(watched.live().left_out(), 1U);
    EXPECT_EQ(watched.find("step_0")->processes, std::nullopt) << "some are not known";
    host.remove(kTop + "/job_7/step_0/user/task_0");
    watched.look();
    EXPECT_EQ(watched.live().left_out(), 0U);
    ASSERT_NE(watched.find("task_1"), nullptr);
    EXPECT_EQ(watched.find("task_1")->start_time, std::nullopt) << "it was there before";
    EXPECT_EQ(watched.find("step_0")->processes, 2);
}

TEST(observe_cgroup, very_many_cgroups_are_followed_up_to_the_limit) {
    FakeCgroups host;
    host.mount_unified();
    for (int task = 0; task < 200; ++task)
        host.write(fmt::format("{}/job_1/step_0/user/task_{}/cgroup.procs", kTop, task), "1\n");
    LiveOptions options = host.live();
    options.cgroups_limit = 104;
    options.files_limit = 50;
    Watched watched(options);
    EXPECT_EQ(watched.look().size(), 103U);
    EXPECT_EQ(watched.live().left_out(), 100U);
}

TEST(observe_cgroup, only_one_job_and_one_slurmd_of_the_machine_may_be_asked_for) {
    FakeCgroups host;
    host.mount_unified();
    for (const char* path : {"n1_slurmstepd.scope/job_7/step_0", "n1_slurmstepd.scope/job_8/step_0",
                             "n2_slurmstepd.scope/job_7/step_0"})
        host.add_unified(fs::path("system.slice") / path);
    LiveOptions options = host.live();
    options.node = "n1";
    options.job_id = 7;
    EXPECT_THAT(Watched(options).look(), ElementsAre("system.slice/n1_slurmstepd.scope/job_7",
                                                     "system.slice/n1_slurmstepd.scope/job_7/step_0"));
}

TEST(observe_cgroup, once_its_job_is_known_a_directory_of_another_one_is_left_alone) {
    FakeCgroups host;
    host.mount_unified();
    host.add_unified(kTop + "/s5K1KKYAYG5D00/step_0");
    LiveOptions options = host.live();
    options.job_id = 7;
    Watched watched(options);
    EXPECT_THAT(watched.look(), ElementsAre("s5K1KKYAYG5D00", "s5K1KKYAYG5D00/step_0"));
    watched.find("s5K1KKYAYG5D00")->place.job_id = 8;
    EXPECT_THAT(watched.look(), ElementsAre("s5K1KKYAYG5D00"));
}

TEST(observe_cgroup, of_version_1_a_cgroup_is_what_its_hierarchies_have_of_it) {
    FakeCgroups host;
    host.add_legacy("slurm/uid_7/job_3/step_0/task_2");
    host.write("freezer/slurm/uid_7/job_3/step_0/cgroup.procs", "1\n2\n");
    Watched watched(host);
    EXPECT_THAT(watched.look(), ElementsAre("slurm/uid_7", "slurm/uid_7/job_3", "slurm/uid_7/job_3/step_0",
                                            "slurm/uid_7/job_3/step_0/task_2"));
    const Cgroup* task = watched.find("task_2");
    EXPECT_EQ(task->readings.cpu_seconds, 1673.659831152);
    EXPECT_EQ(task->readings.memory_bytes, 2'147'483'648);
    EXPECT_EQ(task->readings.io_read_bytes, 4196);
    EXPECT_EQ(task->readings.cpuset, "0-3");
    host.remove("memory/slurm/uid_7/job_3/step_0/task_2");
    watched.look();
    ASSERT_EQ(watched.find("task_2"), task) << "the others are there still";
    EXPECT_EQ(task->readings.memory_bytes, std::nullopt);
    EXPECT_EQ(task->readings.cpu_seconds, 1673.659831152);
    host.add_legacy("slurm/uid_7/job_3/step_0/task_2");
    watched.look();
    EXPECT_EQ(task->readings.memory_bytes, 2'147'483'648);
}

TEST(observe_cgroup, a_text_is_read_whole_up_to_a_megabyte) {
    FakeCgroups host;
    const std::string long_text(100'000, 'x');
    host.write("long", long_text);
    host.write("longer", std::string(size_t{2} << 20, 'x'));
    TextReader reader;
    const auto file = core::open_file(host.root() / "long", O_RDONLY).value();
    EXPECT_EQ(reader.read(file.get(), false).value(), long_text);
    EXPECT_EQ(reader.read(file.get(), true).value(), long_text);
    EXPECT_EQ(reader.read(core::open_file(host.root() / "longer", O_RDONLY).value().get(), true).error(),
              EFBIG);
}

}  // namespace
}  // namespace belay::observe::cgroup
