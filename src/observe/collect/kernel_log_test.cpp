#include "observe/collect/kernel_log.h"

#include "observe/collect/testing.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <gmock/gmock.h>

namespace belay::observe::collect {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct Log {
    FakeRoot root;
    fs::path path = root.proc().parent_path() / "kmsg";
    std::vector<std::string> told;

    Log() { root.write("kmsg", "4,1,1000000,-;NVRM: Xid (PCI:0000:81:00): 79, before the job\n"); }
    void add(std::string_view text) const {
        std::ofstream(path, std::ios::app) << "4,2,2000000,-;" << text << "\n";
    }
    EventSink sink() {
        return [this](const stream::Event& event) {
            told.push_back(fmt::format("{} {} {} {} {} {} {}", event.kind.name(), event.severity,
                                       event.source, event.subject.value_or("-"), event.device.value_or("-"),
                                       event.code.value_or(0), event.value.value_or(0)));
        };
    }
};

TEST(observe_collect, faults_in_the_kernels_log_become_events) {
    Log log;
    KernelLog kernel(log.path);
    ASSERT_TRUE(kernel.is_open());
    kernel.tell_new(log.sink(), false);
    EXPECT_THAT(log.told, IsEmpty()) << "what was there before is not the job's";
    log.add("NVRM: Xid (PCI:0000:81:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.");
    log.add("Memory cgroup out of memory: Killed process 4711 (python3) total-vm:1kB, anon-rss:1kB");
    log.add("usb 1-1: new high-speed USB device number 2 using xhci_hcd");
    for (int i = 0; i < 3; ++i) log.add("mlx5_core 0000:01:00.0 hsn0: Link down");
    kernel.tell_new(log.sink(), false);
    EXPECT_THAT(log.told,
                ElementsAre("xid critical kernel - 0000:81:00 79 1", "oom critical kernel python3 - 4711 1",
                            "link_down warning kernel - hsn0 0 3"));
    log.told.clear();
    kernel.tell_new(log.sink(), false);
    EXPECT_THAT(log.told, IsEmpty()) << "each is told once";
}

TEST(observe_collect, errors_of_nvlink_5_say_whether_they_are_fatal) {
    Log log;
    KernelLog kernel(log.path);
    log.add(
        "NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000)");
    log.add("NVRM: Xid (PCI:0009:01:00): 145, RLW_CTRL Nonfatal XC0 i0 Link 17 (0x00000003 0x80000000)");
    log.add("NVRM: Xid (PCI:0009:01:00): 145, RLW_CTRL Fatal XC0 i0 Link 16 (0x00000003 0x80000000)");
    kernel.tell_new(log.sink(), true);
    EXPECT_THAT(log.told, UnorderedElementsAre("xid critical kernel NETIR_LINK_EVT 0009:01:00 149 1",
                                               "xid warning kernel RLW_CTRL 0009:01:00 145 17",
                                               "xid critical kernel RLW_CTRL 0009:01:00 145 16"))
        << "also where the driver reports the numbers";
    const stream::Event reported{.kind = "xid", .source = "nvml", .code = 149};
    EXPECT_TRUE(kernel.says_more_than(reported));
    EXPECT_FALSE(KernelLog("/proc/none").says_more_than(reported));
    const stream::Event other{.kind = "xid", .source = "nvml", .code = 79};
    EXPECT_FALSE(kernel.says_more_than(other));
}

// The driver's events of these numbers are left out for them.
TEST(observe_collect, errors_of_nvlink_5_are_told_in_whatever_words_they_come) {
    Log log;
    KernelLog kernel(log.path);
    log.add("NVRM: Xid (PCI:0009:01:00): 150, MSE Degraded Fatal XC0 i0 Link -1 (0x00000001)");
    log.add("NVRM: Xid (PCI:0009:01:00): 149, words of a later driver");
    std::vector<std::string> messages;
    kernel.tell_new([&](const stream::Event& event) { messages.push_back(event.message); }, true);
    EXPECT_THAT(messages, UnorderedElementsAre(::testing::EndsWith("MSE Degraded, fatal"),
                                               HasSubstr("XID 149 of 0009:01:00")));
}

TEST(observe_collect, links_of_nvlink_5_are_told_apart) {
    Log log;
    KernelLog kernel(log.path);
    for (const char* link : {"16", "17", "17"})
        log.add(fmt::format(
            "NVRM: Xid (PCI:0009:01:00): 145, RLW_CTRL Fatal XC0 i0 Link {} (0x00000003 0x80000000)", link));
    log.add("NVRM: Xid (PCI:0009:01:00): 145, RLW_CTRL Fatal XC0 i1 Link 01 (0x00000003 0x80000000)");
    std::vector<std::string> messages;
    kernel.tell_new([&](const stream::Event& event) { messages.push_back(event.message); }, true);
    EXPECT_THAT(messages,
                UnorderedElementsAre(HasSubstr("fatal, link 16"), HasSubstr("fatal, link 17, 2 times"),
                                     HasSubstr("injected by a test, link 1")));
}

TEST(observe_collect, xids_that_the_driver_tells_are_not_told_twice) {
    Log log;
    KernelLog kernel(log.path);
    log.add("NVRM: Xid (PCI:0000:81:00): 79, x");
    log.add("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up");
    kernel.tell_new(log.sink(), true);
    EXPECT_THAT(log.told, ElementsAre("sxid critical kernel - 0000:c1:00.0 20034 1"));
}

TEST(observe_collect, a_flood_in_the_kernels_log_is_bounded) {
    Log log;
    KernelLog kernel(log.path);
    for (int i = 0; i < 500; ++i)
        log.add(fmt::format("Out of memory: Killed process {} (x) total-vm:1kB", i + 1));
    kernel.tell_new(log.sink(), false);
    ASSERT_EQ(log.told.size(), 51U);
    EXPECT_EQ(log.told.back(), "kernel_log_lost warning kernel - - 0 450");
}

TEST(observe_collect, a_line_that_is_not_finished_is_waited_for) {
    Log log;
    KernelLog kernel(log.path);
    std::ofstream(log.path, std::ios::app) << "4,2,2000000,-;Out of memory: Killed pro";
    kernel.tell_new(log.sink(), false);
    EXPECT_THAT(log.told, IsEmpty());
    std::ofstream(log.path, std::ios::app) << "cess 7 (x) total-vm:1kB\n";
    kernel.tell_new(log.sink(), false);
    EXPECT_THAT(log.told, ElementsAre("oom critical kernel x - 7 1"));
}

TEST(observe_collect, a_log_that_cannot_be_read_is_told_once) {
    Log log;
    KernelLog kernel("/proc/none");
    EXPECT_FALSE(kernel.is_open());
    for (int i = 0; i < 2; ++i) kernel.tell_new(log.sink(), false);
    EXPECT_THAT(log.told, ElementsAre(fmt::format("kernel_log_unread info kernel - - {} 0", ENOENT)));
    KernelLog directory("/proc");
    directory.tell_new(log.sink(), false);
    EXPECT_THAT(log.told, ElementsAre(HasSubstr("unread"), HasSubstr("unread")));
    KernelLog none("");
    none.tell_new(log.sink(), false);
    EXPECT_EQ(log.told.size(), 2U) << "nothing was asked for";
}

TEST(observe_collect, a_read_of_the_kernels_log_that_fails_is_told_once) {
    Log log;
    const int next = dup(STDERR_FILENO);  // the number that the log gets
    close(next);
    KernelLog kernel(log.path);
    ASSERT_TRUE(kernel.is_open());
    auto directory = core::open_file("/", O_RDONLY | O_DIRECTORY);
    ASSERT_TRUE(directory);
    ASSERT_EQ(dup2(directory->get(), next), next);
    for (int i = 0; i < 2; ++i) kernel.tell_new(log.sink(), false);
    EXPECT_THAT(log.told, ElementsAre(fmt::format("kernel_log_unread info kernel - - {} 0", EISDIR)));
    EXPECT_FALSE(kernel.says_more_than({.kind = "xid", .source = "nvml", .code = 149}));
}

}  // namespace
}  // namespace belay::observe::collect
