#include "observe/collect/process.h"

#include "observe/collect/testing.h"

#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace belay::observe::collect {
namespace {

using namespace testing;

// As the kernel prints it: utime 12, stime 3, start 112123, 4096 bytes, 414 pages, CPU 11.
constexpr std::string_view kStat =
    "4242 (python3) S 4200 4242 4242 0 -1 4194304 100 0 5 0 12 3 0 0 20 0 7 0 112123 3133440 414 "
    "18446744073709551615 1 1 1 0 0 "
    "0 0 4096 0 1 0 0 17 11 0 0 0 0 0 1 1 1 1 2 3 4 0\n";

TEST(observe_collect, process_row_has_the_units_of_the_record) {
    FakeRoot root;
    root.write("proc/4242/stat", kStat);
    root.write("proc/4242/schedstat", "928858 2500000000 7\n");
    root.write("proc/4242/statm", "765 414 300 1 0 90 0\n");
    root.write("proc/4242/io",
               "rchar: 7289\nwchar: 313\nsyscr: 14\nsyscw: 2\nread_bytes: 4096\nwrite_bytes: 8192\n");
    root.write("proc/4242/environ", std::string_view("SLURM_PROCID=6\0", 15));
    CollectOptions options = root.options();
    options.job.roots = {4242};
    std::unique_ptr<Collector> process = make_process_collector(options);
    stream::Batch rows = sampled(*process, at_second(1));
    ASSERT_EQ(rows.rows(), 1u);
    int64_t ticks = sysconf(_SC_CLK_TCK);
    EXPECT_EQ(integer(rows, 0, "pid"), 4242);
    EXPECT_EQ(integer(rows, 0, "parent_pid"), 4200);
    EXPECT_EQ(integer(rows, 0, "start_time"), 1'000'000'000'000'000 + 112123 * (1'000'000'000 / ticks));
    EXPECT_EQ(integer(rows, 0, "task"), 6);
    EXPECT_EQ(text(rows, 0, "command"), "python3");
    EXPECT_EQ(text(rows, 0, "state"), "S");
    EXPECT_EQ(integer(rows, 0, "threads"), 7);
    EXPECT_EQ(integer(rows, 0, "processor"), 11);
    EXPECT_EQ(real(rows, 0, "cpu_user_seconds_total"), 12.0 / static_cast<double>(ticks));
    EXPECT_EQ(real(rows, 0, "cpu_system_seconds_total"), 3.0 / static_cast<double>(ticks));
    EXPECT_EQ(real(rows, 0, "cpu_children_unseen_seconds_total"), 0.0);
    EXPECT_EQ(real(rows, 0, "run_delay_seconds_total"), 2.5);
    EXPECT_EQ(integer(rows, 0, "resident_bytes"), 414 * sysconf(_SC_PAGESIZE));
    EXPECT_EQ(integer(rows, 0, "anonymous_bytes"), 114 * sysconf(_SC_PAGESIZE));
    EXPECT_EQ(integer(rows, 0, "virtual_bytes"), 3133440);
    EXPECT_EQ(integer(rows, 0, "page_faults_major_total"), 5);
    EXPECT_EQ(integer(rows, 0, "read_bytes_total"), 4096);
    EXPECT_EQ(integer(rows, 0, "written_bytes_total"), 8192);
    EXPECT_EQ(integer(rows, 0, "read_characters_total"), 7289);
    EXPECT_EQ(integer(rows, 0, "written_characters_total"), 313);
}

TEST(observe_collect, what_may_not_be_read_of_a_process_is_null) {
    FakeRoot root;
    root.write("proc/4242/stat", kStat);
    CollectOptions options = root.options();
    options.job.roots = {4242};
    std::unique_ptr<Collector> process = make_process_collector(options);
    stream::Batch rows = sampled(*process, at_second(1));
    ASSERT_EQ(rows.rows(), 1u);
    for (std::string_view name : {"task", "anonymous_bytes", "run_delay_seconds_total", "read_bytes_total",
                                  "written_bytes_total", "read_characters_total", "written_characters_total"})
        EXPECT_TRUE(is_null(rows, 0, name)) << name;
}

TEST(observe_collect, names_of_programs_become_utf8) {
    FakeRoot root;
    std::string stat(kStat);
    stat.replace(stat.find("python3"), 7, "a\xFFz");
    root.write("proc/4242/stat", stat);
    CollectOptions options = root.options();
    options.job.roots = {4242};
    EXPECT_EQ(text(sampled(*make_process_collector(options), at_second(1)), 0, "command"), "a\uFFFDz");
}

// A child of this test, seen by the collector in the real /proc.
class Child {
  public:
    template <typename Work>
    explicit Child(Work work) {
        int ends[2];
        EXPECT_EQ(pipe(ends), 0);
        pid_ = fork();
        if (pid_ == 0) {
            work();
            if (write(ends[1], "x", 1) != 1) _exit(1);
            while (true) pause();
        }
        close(ends[1]);
        char done = 0;
        EXPECT_EQ(read(ends[0], &done, 1), 1);
        close(ends[0]);
    }
    ~Child() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    pid_t pid() const { return pid_; }

  private:
    pid_t pid_ = -1;
};

stream::Batch sample_children() {
    CollectOptions options;
    options.job = {.roots = {getpid()}, .exclude = {getpid()}, .exclude_own_executable = false};
    std::unique_ptr<Collector> process = make_process_collector(options);
    stream::Batch rows = sampled(*process, core::system_clock().now());
    EXPECT_FALSE(row_where(rows, "pid", getpid()).has_value());
    return rows;
}

TEST(observe_collect, a_real_process_shows_its_cpu_time) {
    Child child([] {
        timespec spent{};
        do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
        while (spent.tv_sec == 0 && spent.tv_nsec < 200'000'000);
    });
    stream::Batch rows = sample_children();
    size_t row = row_where(rows, "pid", child.pid()).value();
    // The kernel counts in ticks of 10 ms and splits user from system time by sampling.
    EXPECT_GE(*real(rows, row, "cpu_user_seconds_total") + *real(rows, row, "cpu_system_seconds_total"),
              0.17);
    EXPECT_EQ(integer(rows, row, "parent_pid"), getpid());
    EXPECT_EQ(integer(rows, row, "threads"), 1);
    EXPECT_GT(integer(rows, row, "resident_bytes"), 0);
    EXPECT_FALSE(is_null(rows, row, "run_delay_seconds_total"));
}

TEST(observe_collect, a_real_process_shows_its_start) {
    core::Time before = core::system_clock().now();
    Child child([] {});
    core::Time after = core::system_clock().now();
    stream::Batch rows = sample_children();
    core::Time start =
        core::time_from_nanoseconds(*integer(rows, *row_where(rows, "pid", child.pid()), "start_time"));
    EXPECT_GE(start, before - std::chrono::milliseconds(
                                  100));  // to one tick, and what the clock was adjusted by since
    EXPECT_LE(start, after + std::chrono::milliseconds(100));
}

TEST(observe_collect, a_real_process_shows_what_it_wrote) {
    constexpr size_t kBytes = 1 << 20;
    core::Result<core::TemporaryDirectory> directory = core::TemporaryDirectory::create();
    std::string path = (directory->path() / "written").string();
    Child child([&] {
        static char bytes[kBytes];
        int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (write(fd, bytes, sizeof bytes) != sizeof bytes) _exit(1);
        if (pread(fd, bytes, sizeof bytes / 2, 0) != sizeof bytes / 2) _exit(1);
    });
    stream::Batch rows = sample_children();
    size_t row = row_where(rows, "pid", child.pid()).value();
    if (is_null(rows, row, "written_characters_total"))
        GTEST_SKIP() << "the kernel was built without task I/O accounting";
    EXPECT_GE(integer(rows, row, "written_characters_total"), kBytes);
    EXPECT_GE(integer(rows, row, "read_characters_total"), kBytes / 2);
}

TEST(observe_collect, a_real_step_is_found_by_its_daemon) {
    // slurmstepd → this one → its child
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    pid_t daemon = fork();
    if (daemon == 0) {
        if (write(open("/proc/self/comm", O_WRONLY), "slurmstepd", 10) != 10) _exit(1);
        pid_t task = fork();
        if (task == 0) {
            if (write(open("/proc/self/comm", O_WRONLY), "train", 5) != 5) _exit(1);
            pid_t self = getpid();
            if (write(ends[1], &self, sizeof self) != sizeof self) _exit(1);
        }
        while (true) pause();
    }
    pid_t task = -1;
    ASSERT_EQ(read(ends[0], &task, sizeof task), static_cast<ssize_t>(sizeof task));
    CollectOptions options;
    options.job = {.step_of = task, .exclude_own_executable = false};
    std::unique_ptr<Collector> process = make_process_collector(options);
    stream::Batch rows = sampled(*process, core::system_clock().now());
    EXPECT_EQ(rows.rows(), 1u);
    EXPECT_TRUE(row_where(rows, "pid", task).has_value());
    kill(daemon, SIGKILL);
    waitpid(daemon, nullptr, 0);
    // An orphan by now, and in the job still.
    rows = sampled(*process, core::system_clock().now());
    EXPECT_EQ(rows.rows(), 1u);
    kill(task, SIGKILL);
    for (int end : ends) close(end);
}

}  // namespace
}  // namespace belay::observe::collect
