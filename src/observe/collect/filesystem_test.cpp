#include "observe/collect/filesystem.h"

#include "observe/collect/testing.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace belay::observe::collect {
namespace {

using namespace testing;
using namespace std::chrono_literals;

// Answers at once, with sizes that tell the paths apart.
int fake_statvfs(const char* path, struct statvfs* size) {
    *size = {};
    if (std::strcmp(path, "/tmp") == 0) return 0;  // a tmpfs without size
    if (std::strcmp(path, "/scratch") == 0) {
        errno = EACCES;
        return -1;
    }
    size->f_frsize = 4096;
    size->f_blocks = 1000 + std::strlen(path);
    size->f_bfree = 500;
    size->f_bavail = 400;
    size->f_files = std::strcmp(path, "/boot") == 0 ? 0 : 77;
    size->f_ffree = 66;
    return 0;
}

struct Watch {
    FakeRoot root;
    CollectOptions options = root.options();
    std::vector<stream::Event> events;

    Watch() {
        root.load("aarch64_no_psi");
        options.statvfs = fake_statvfs;
        options.filesystem_deadline = 10s;  // machines may be slow; tests of hangs set their own
        options.on_event = [this](const stream::Event& event) { events.push_back(event); };
    }
};

TEST(observe_collect, disks_have_rows) {
    Watch watch;
    std::unique_ptr<Collector> filesystem = make_filesystem_collector(watch.options);
    stream::Batch rows = sampled(*filesystem, at_second(1));
    size_t disk = row_where(rows, "name", "nvme0n1").value();
    EXPECT_EQ(text(rows, disk, "kind"), "disk");
    EXPECT_EQ(integer(rows, disk, "reads_total"), 100);
    EXPECT_EQ(integer(rows, disk, "read_bytes_total"), 2000 * 512);
    EXPECT_EQ(real(rows, disk, "read_seconds_total"), 0.030);
    EXPECT_EQ(integer(rows, disk, "writes_total"), 200);
    EXPECT_EQ(integer(rows, disk, "written_bytes_total"), 6000 * 512);
    EXPECT_EQ(real(rows, disk, "write_seconds_total"), 0.070);
    EXPECT_EQ(integer(rows, disk, "requests_in_flight"), 3);
    EXPECT_EQ(real(rows, disk, "busy_seconds_total"), 0.080);
    for (std::string_view name : {"type", "source"}) EXPECT_FALSE(text(rows, disk, name).has_value()) << name;
    for (std::string_view name : {"responsive", "read_only", "size_bytes"})
        EXPECT_TRUE(is_null(rows, disk, name)) << name;
    std::vector<std::string> disks;
    for (size_t row = 0; row < rows.rows(); ++row)
        if (text(rows, row, "kind") == "disk") disks.push_back(*text(rows, row, "name"));
    EXPECT_EQ(disks, (std::vector<std::string>{"loop0", "nvme0n1", "nvme0n10", "sda", "dm-0"}));
}

TEST(observe_collect, mounts_have_rows) {
    Watch watch;
    std::unique_ptr<Collector> filesystem = make_filesystem_collector(watch.options);
    stream::Batch rows = sampled(*filesystem, at_second(1));
    std::vector<std::string> mounts;
    for (size_t row = 0; row < rows.rows(); ++row)
        if (text(rows, row, "kind") == "mount") mounts.push_back(*text(rows, row, "name"));
    // Not /tmp, which has no size; not /users and /group, which are /home and /scratch once more.
    EXPECT_EQ(mounts, (std::vector<std::string>{"/", "/dev/shm", "/home", "/scratch", "/boot",
                                                "/mnt/with blank", "/mnt/hidden"}));

    size_t home = row_where(rows, "name", "/home").value();
    EXPECT_EQ(text(rows, home, "type"), "nfs4");
    EXPECT_EQ(text(rows, home, "source"), "filer:/export/home");
    EXPECT_EQ(integer(rows, home, "responsive"), 1);
    EXPECT_EQ(integer(rows, home, "read_only"), 0);
    EXPECT_EQ(integer(rows, home, "size_bytes"), 1005 * 4096);
    EXPECT_EQ(integer(rows, home, "free_bytes"), 500 * 4096);
    EXPECT_EQ(integer(rows, home, "available_bytes"), 400 * 4096);
    EXPECT_EQ(integer(rows, home, "inodes_total"), 77);
    EXPECT_EQ(integer(rows, home, "inodes_free"), 66);
    EXPECT_TRUE(is_null(rows, home, "read_bytes_total"));

    size_t scratch = row_where(rows, "name", "/scratch").value();  // answered, with an error
    EXPECT_EQ(integer(rows, scratch, "responsive"), 1);
    EXPECT_TRUE(is_null(rows, scratch, "size_bytes"));

    size_t boot = row_where(rows, "name", "/boot").value();
    EXPECT_EQ(integer(rows, boot, "read_only"), 1);
    EXPECT_TRUE(is_null(rows, boot, "inodes_total"));
    EXPECT_TRUE(is_null(rows, boot, "inodes_free"));
    EXPECT_TRUE(watch.events.empty());
    EXPECT_GE(filesystem->helper_cpu_seconds(), 0);
}

// statvfs hangs at /home as long as a file exists. Every question about /home leaves a byte in another.
struct HangingWatch : Watch {
    fs::path asked_file = root.proc().parent_path() / "asked";
    std::unique_ptr<Collector> filesystem;

    HangingWatch() {
        root.write("hang", "");
        root.write("asked", "");
        std::string hang_file = (root.proc().parent_path() / "hang").string();
        options.statvfs = [hang_file, asked = asked_file.string()](const char* path, struct statvfs* size) {
            if (std::strcmp(path, "/home") != 0) return fake_statvfs(path, size);
            int fd = open(asked.c_str(), O_WRONLY | O_APPEND);
            ssize_t written = write(fd, "x", 1);
            close(fd);
            while (written == 1 && access(hang_file.c_str(), F_OK) == 0) pause();
            return fake_statvfs(path, size);
        };
        options.filesystem_deadline = 1s;
        options.filesystem_retry = 60s;
        filesystem = make_filesystem_collector(options);
    }

    uintmax_t asked() const { return fs::file_size(asked_file); }

    // Ticks at one moment until something holds: on a busy machine a child may not get its turn at once, and
    // a killed one may take a while to end.
    template <typename Condition>
    stream::Batch tick_until(int64_t second, Condition holds) {
        for (int i = 0; i < 100; ++i) {
            stream::Batch rows = sampled(*filesystem, at_second(second));
            if (holds(rows)) return rows;
            usleep(10'000);
        }
        ADD_FAILURE() << "never came true at second " << second;
        return sampled(*filesystem, at_second(second));
    }
};

bool has_size(const stream::Batch& rows, std::string_view mount) {
    return !is_null(rows, row_where(rows, "name", mount).value(), "size_bytes");
}
std::optional<int64_t> is_responsive(const stream::Batch& rows, std::string_view mount) {
    return integer(rows, row_where(rows, "name", mount).value(), "responsive");
}

TEST(observe_collect, a_mount_that_hangs_is_told_and_hides_only_itself) {
    HangingWatch watch;
    stream::Batch rows = watch.tick_until(100, [&](const stream::Batch&) { return !watch.events.empty(); });
    EXPECT_EQ(is_responsive(rows, "/home"), 0);
    EXPECT_FALSE(has_size(rows, "/home"));
    EXPECT_TRUE(has_size(rows, "/"));
    EXPECT_FALSE(is_responsive(rows, "/mnt/hidden").has_value());  // stands behind it and had no turn
    EXPECT_TRUE(row_where(rows, "name", "sda").has_value());
    ASSERT_EQ(watch.events.size(), 1u);
    EXPECT_EQ(watch.events[0].kind.name(), "filesystem_hang");
    EXPECT_EQ(watch.events[0].severity, "critical");
    EXPECT_EQ(watch.events[0].subject, "/home");
    EXPECT_EQ(watch.events[0].message,
              "file system /home (nfs4, filer:/export/home) did not answer within 1000 ms; it is asked again "
              "every 60 s");

    rows = watch.tick_until(101, [](const stream::Batch& now) { return has_size(now, "/mnt/hidden"); });
    EXPECT_EQ(is_responsive(rows, "/home"), 0);
    EXPECT_EQ(is_responsive(rows, "/mnt/hidden"), 1);
}

TEST(observe_collect, a_mount_that_hangs_is_asked_again_later_and_last) {
    HangingWatch watch;
    watch.tick_until(100, [&](const stream::Batch&) { return !watch.events.empty(); });
    uintmax_t asked = watch.asked();
    sampled(*watch.filesystem, at_second(159));
    EXPECT_EQ(watch.asked(), asked);
    stream::Batch rows = watch.tick_until(160, [&](const stream::Batch&) { return watch.asked() > asked; });
    EXPECT_EQ(is_responsive(rows, "/home"), 0);
    EXPECT_TRUE(has_size(rows, "/mnt/hidden"));
    EXPECT_EQ(watch.events.size(), 1u);  // silent still: nothing new to tell

    asked = watch.asked();
    watch.root.remove("hang");
    sampled(*watch.filesystem, at_second(219));
    EXPECT_EQ(watch.asked(), asked);
    rows = watch.tick_until(220, [](const stream::Batch& now) { return has_size(now, "/home"); });
    EXPECT_EQ(is_responsive(rows, "/home"), 1);
    ASSERT_EQ(watch.events.size(), 2u);
    EXPECT_EQ(watch.events[1].kind.name(), "filesystem_back");
    EXPECT_EQ(watch.events[1].severity, "info");
    EXPECT_EQ(watch.events[1].message, "file system /home answers again after 120 s");
    EXPECT_EQ(watch.events[1].subject, "/home");
    EXPECT_EQ(watch.events[1].value, 120);
}

TEST(observe_collect, a_clock_that_went_back_does_not_put_off_the_next_try) {
    HangingWatch watch;
    watch.tick_until(100'000, [&](const stream::Batch&) { return !watch.events.empty(); });
    watch.root.remove("hang");
    watch.tick_until(100, [](const stream::Batch& rows) { return has_size(rows, "/home"); });
    EXPECT_EQ(watch.events.size(), 2u);
}

TEST(observe_collect, file_systems_that_nobody_can_ask_are_told_once) {
    Watch watch;
    watch.options.slow_every = 1;
    std::unique_ptr<Collector> filesystem = make_filesystem_collector(watch.options);
    ASSERT_TRUE(has_size(sampled(*filesystem, at_second(1)), "/"));
    watch.root.write("proc/self/mountinfo", "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n");  // for another child
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit few{STDERR_FILENO + 1, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
    stream::Batch rows = sampled(*filesystem, at_second(2));
    sampled(*filesystem, at_second(3));
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_FALSE(has_size(rows, "/"));
    EXPECT_TRUE(row_where(rows, "kind", "disk")) << "the rest goes on";
    ASSERT_EQ(watch.events.size(), 1u);
    EXPECT_EQ(watch.events[0].kind.name(), "filesystem_unread");
    EXPECT_EQ(watch.events[0].severity, "warning");
    EXPECT_EQ(watch.events[0].message,
              "file systems are not asked for their size: cannot make a socket: Too many open files");
    EXPECT_TRUE(has_size(sampled(*filesystem, at_second(4)), "/"));
}

TEST(observe_collect, a_file_system_that_answers_with_an_error_is_told_once) {
    Watch watch;
    watch.options.statvfs = [](const char* path, struct statvfs* size) {
        if (std::strcmp(path, "/home") != 0) return fake_statvfs(path, size);
        errno = ESTALE;
        return -1;
    };
    std::unique_ptr<Collector> filesystem = make_filesystem_collector(watch.options);
    for (int second = 1; second <= 3; ++second) sampled(*filesystem, at_second(second));
    ASSERT_EQ(watch.events.size(), 1u);
    EXPECT_EQ(watch.events[0].kind.name(), "filesystem_unread");
    EXPECT_EQ(watch.events[0].severity, "warning");
    EXPECT_EQ(watch.events[0].message,
              "file system /home (nfs4, filer:/export/home) does not tell its size: Stale file handle");
}

TEST(observe_collect, mounts_that_come_and_go_are_seen) {
    Watch watch;
    watch.options.slow_every = 1;
    std::unique_ptr<Collector> filesystem = make_filesystem_collector(watch.options);
    EXPECT_FALSE(row_where(sampled(*filesystem, at_second(1)), "name", "/new").has_value());
    watch.root.write("proc/self/mountinfo",
                     "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 8:2 / /new rw - ext4 /dev/sda2 rw\n");
    stream::Batch rows = sampled(*filesystem, at_second(2));
    EXPECT_EQ(integer(rows, row_where(rows, "name", "/new").value(), "size_bytes"), 1004 * 4096);
    EXPECT_FALSE(row_where(rows, "name", "/home").has_value());
}

TEST(observe_collect, one_of_disks_and_mounts_is_enough) {
    Watch watch;
    watch.root.remove("proc/self");
    std::unique_ptr<Collector> filesystem = make_filesystem_collector(watch.options);
    stream::Batch rows = sampled(*filesystem, at_second(1));
    EXPECT_TRUE(row_where(rows, "kind", "disk").has_value());
    EXPECT_FALSE(row_where(rows, "kind", "mount").has_value());
    sampled(*filesystem, at_second(2));
    ASSERT_EQ(watch.events.size(), 1u);
    EXPECT_EQ(watch.events[0].kind.name(), "filesystem_unread");
    EXPECT_TRUE(watch.events[0].message.starts_with("mounts are not read: ")) << watch.events[0].message;

    watch.root.remove("proc/diskstats");
    std::unique_ptr<Collector> neither = make_filesystem_collector(watch.options);
    stream::Batch none(neither->table());
    EXPECT_FALSE(neither->collect({at_second(1), "n1"}, none).has_value());
    EXPECT_EQ(none.rows(), 0u);
}

TEST(observe_collect, sizes_beyond_63_bits_are_null) {
    Watch watch;
    watch.options.statvfs = [](const char*, struct statvfs* size) {
        *size = {};
        size->f_frsize = 1 << 20;
        size->f_blocks = UINT64_MAX / 2;
        size->f_bfree = 3;
        return 0;
    };
    std::unique_ptr<Collector> filesystem = make_filesystem_collector(watch.options);
    stream::Batch rows = sampled(*filesystem, at_second(1));
    size_t home = row_where(rows, "name", "/home").value();
    EXPECT_TRUE(is_null(rows, home, "size_bytes"));
    EXPECT_EQ(integer(rows, home, "free_bytes"), 3 << 20);
}

TEST(observe_collect, root_of_this_machine_has_a_size) {
    std::unique_ptr<Collector> filesystem = make_filesystem_collector({});
    stream::Batch rows = sampled(*filesystem, at_second(1));
    struct statvfs size{};
    ASSERT_EQ(statvfs("/", &size), 0);
    size_t root = row_where(rows, "name", "/").value();
    EXPECT_EQ(integer(rows, root, "size_bytes"), static_cast<int64_t>(size.f_blocks * size.f_frsize));
}

}  // namespace
}  // namespace belay::observe::collect
