#include "procfs/kernel_log.h"

#include <gtest/gtest.h>

namespace belay::procfs {
namespace {

struct Line {
    const char* text;
    KernelFaultKind kind;
    KernelSeverity severity;
    const char* subject;
    const char* device;
    int64_t code;  // 0: none
};

using enum KernelFaultKind;
using enum KernelSeverity;

// As kernels and drivers print them.
constexpr Line kLines[] = {
    {"NVRM: Xid (PCI:0000:81:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", kXid,
     kWarning, "", "0000:81:00", 79},
    {"nvidia-nvswitch0: SXid (PCI:0000:86:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error",
     kSxid, kWarning, "", "0000:86:00.0", 12028},
    {"nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", kSxid, kCritical, "",
     "0000:c1:00.0", 20034},
    {"Out of memory: Killed process 2105 (python3) total-vm:65432kB, anon-rss:54321kB, file-rss:0kB, "
     "UID:1000",
     kOom, kCritical, "python3", "", 2105},
    {"Memory cgroup out of memory: Killed process 31 (pt_data (w) 3) total-vm:1kB", kOom, kCritical,
     "pt_data (w", "", 31},
    {"mce: [Hardware Error]: CPU 4: Machine Check: 0 Bank 7: 8c00004000010091", kMce, kWarning, "CPU 4", "",
     7},
    {"mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 1: b200000080000175", kMce, kCritical,
     "CPU 12", "", 1},
    {"EDAC MC0: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0", kMce, kWarning, "MC0", "", 0},
    {"EDAC MC1: 1 UE memory scrubbing error on any memory", kMce, kCritical, "MC1", "", 0},
    {"INFO: task python3:2377 blocked for more than 120 seconds.", kHungTask, kWarning, "python3", "", 2377},
    {"LustreError: 167-0: scratch-MDT0000-mdc-ffff9f3c: This client was evicted by scratch-MDT0000; in "
     "progress "
     "operations using this service will fail.",
     kLustre, kCritical, "scratch-MDT0000", "", 0},
    {"Lustre: scratch-OST0004-osc-ffff9f3c: Connection to scratch-OST0004 (at 10.0.0.4@o2ib) was lost; in "
     "progress "
     "operations using this service will wait for recovery to complete",
     kLustre, kWarning, "scratch-OST0004", "", 0},
    {"Lustre: scratch-OST0004-osc-ffff9f3c: Connection restored to 10.0.0.4@o2ib (at 10.0.0.4@o2ib)", kLustre,
     kInfo, "scratch-OST0004", "", 0},
    {"LustreError: 11-0: scratch-OST0001-osc-ffff9f3c: operation ost_read to node 10.0.0.1@o2ib failed: rc = "
     "-107",
     kLustre, kWarning, "scratch-OST0001", "", -107},
    {"LustreError: 11b-b: Connection to the MGS was reset", kLustre, kWarning, "", "", {}},
    {"LNetError: 105-4: Error -100 starting up LNI o2ib", kLnet, kWarning, "", "", -100},
    {"LNetError: 2133:0:(o2iblnd_cb.c:3351:kiblnd_check_txs_locked()) Timed out tx: tx_queue, 1 seconds: "
     "-110",
     kLnet, kWarning, "", "", -110},
    {"nvme nvme1: I/O 771 QID 9 timeout, reset controller", kNvmeReset, kWarning, "", "nvme1", 0},
    {"nvme nvme0: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0x10", kNvmeReset, kWarning, "",
     "nvme0", 0},
    {"mlx5_core 0000:01:00.0 eth2: Link down", kLinkDown, kWarning, "", "eth2", 0},
    {"igb 0000:03:00.0 eno1: igb: eno1 NIC Link is Down", kLinkDown, kWarning, "", "eno1", 0},
    {"tg3 0000:02:00.0 eth0: Link is up at 1000 Mbps, full duplex", kLinkUp, kInfo, "", "eth0", 0},
    {"infiniband mlx5_0: Port: 1 Link DOWN", kLinkDown, kWarning, "", "mlx5_0", 0},
};

TEST(procfs, faults_in_kernel_messages) {
    for (const Line& line : kLines) {
        auto fault = parse_kernel_fault(line.text);
        ASSERT_TRUE(fault) << line.text;
        EXPECT_EQ(static_cast<int>(fault->kind), static_cast<int>(line.kind)) << line.text;
        EXPECT_EQ(static_cast<int>(fault->severity), static_cast<int>(line.severity)) << line.text;
        EXPECT_EQ(fault->subject, line.subject) << line.text;
        EXPECT_EQ(fault->device, line.device) << line.text;
        EXPECT_EQ(fault->code.value_or(0), line.code) << line.text;
    }
}

TEST(procfs, kernel_messages_that_tell_no_fault) {
    for (const char* text :
         {"", "eth0: renamed from veth1", "br0: port 4(n4) entered disabled state",
          "Lustre: Mounted scratch-client", "python3 invoked oom-killer: gfp_mask=0xcc0",
          "device eth0 entered promiscuous mode", "systemd[1]: Link downloads to the cache"})
        EXPECT_FALSE(parse_kernel_fault(text)) << text;
}

// A program has such a name and fails, or something of that name is mounted.
TEST(procfs, words_of_users_are_not_faults) {
    for (std::string name : {"Xid (0): 79, ", "NVRM: Xid (0): ", "EDAC MC0: 1 UE ", "eth0: Link Down",
                             "LustreError: ", "LNetError: ", "LustreError: 1-", "LNetError: 1-1",
                             "nvme nvme0: ", "NVRM: ", "a: Link is down"}) {
        EXPECT_LE(name.size(), 15U);
        std::string escaped = name;  // the rest of its 15 bytes cannot be printed
        for (size_t i = name.size(); i < 15; ++i) escaped += "\\x07";
        for (const char* line :
             {"[4711]: segfault at 0 ip 00000000004 sp 00007ffe error 6 in GPU has fallen off the bus on "
              "[4000+1]",
              "[4711] general protection fault ip:401136 sp:7ffe error:0 in reset controller on [4000+1]",
              " invoked oom-killer: gfp_mask=0xcc0", ": page allocation failure: order:4"})
            for (const std::string& shown : {name, escaped})
                EXPECT_FALSE(parse_kernel_fault(shown + line)) << shown << line;
        EXPECT_FALSE(
            parse_kernel_fault("traps: " + name + "[7] trap divide error ip:4 sp:7 error:0 in x[4+1]"))
            << name;
    }
    for (const Line& line : kLines)
        EXPECT_FALSE(parse_kernel_fault(std::string("tmpfs: Unknown parameter '") + line.text + "'"))
            << line.text;
}

TEST(procfs, an_sxid_is_not_an_xid) {
    EXPECT_FALSE(
        parse_xid("nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"));
    EXPECT_EQ(parse_xid("NVRM: Xid (0000:03:00): 13, Graphics SM Warp Exception")->code, 13);
}

TEST(procfs, errors_of_nvlink_5_have_a_unit_a_link_and_a_severity) {
    EXPECT_EQ(parse_xid("NVRM: Xid (PCI:0009:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 "
                        "0x00000000 0x00000000)")
                  ->nvlink,
              (NvlinkFault{.unit = "NETIR_LINK_EVT", .is_fatal = true, .link = 1, .interrupt = 0x021425c6}));
    EXPECT_EQ(parse_xid("NVRM: Xid (PCI:0000:04:00): 145, RLW_CTRL Nonfatal XC0 i0 Link 17 (0x00000003 "
                        "0x80000000 0x00000000)")
                  ->nvlink,
              (NvlinkFault{.unit = "RLW_CTRL", .link = 17, .interrupt = 3, .status = 0x80000000}));
    EXPECT_EQ(
        parse_xid("NVRM: Xid (PCI:0000:04:00): 149, NETIR_LINK_EVT Fatal XC 1 i 2 Link 01 [0x0000000a]")
            ->nvlink,
        (NvlinkFault{
            .unit = "NETIR_LINK_EVT", .is_fatal = true, .is_injected = true, .link = 1, .interrupt = 10}));
    EXPECT_EQ(parse_xid("NVRM: Xid (PCI:0000:04:00): 149, NETIR_INT  Fatal   XC0 i0 Link -1")->nvlink,
              (NvlinkFault{.unit = "NETIR_INT", .is_fatal = true, .link = -1}));
    EXPECT_EQ(
        parse_xid("NVRM: Xid (PCI:0000:04:00): 150, MSE Degraded Fatal XC0 i0 Link -1 (0x00000001)")->nvlink,
        (NvlinkFault{.unit = "MSE Degraded", .is_fatal = true, .link = -1, .interrupt = 1}));
    for (const char* line : {"NVRM: Xid (PCI:0000:04:00): 149, something else",
                             "NVRM: Xid (PCI:0000:04:00): 79, RLW_CTRL Fatal XC0 i0 Link 0"}) {
        ASSERT_TRUE(parse_xid(line)) << line;
        EXPECT_FALSE(parse_xid(line)->nvlink) << line;
    }
}

// A text that is cut anywhere tells what it told before, or less, but nothing else.
TEST(procfs, kernel_messages_cut_at_every_byte) {
    for (const Line& line : kLines)
        for (size_t size = 0; size < std::string_view(line.text).size(); ++size) {
            auto fault = parse_kernel_fault(std::string_view(line.text).substr(0, size));
            if (fault) {
                EXPECT_EQ(static_cast<int>(fault->kind), static_cast<int>(line.kind))
                    << line.text << " " << size;
            }
        }
}

}  // namespace
}  // namespace belay::procfs
