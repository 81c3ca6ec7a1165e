// Records of /dev/kmsg (Documentation/ABI/testing/dev-kmsg), and the faults that some of them tell: of GPUs,
// switches, memory, processors, file systems, disks and links.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace belay::procfs {

// "6,339,5140900,-;text"; continuation lines are not part of the text.
struct KernelMessage {
    double seconds = 0;  // since the node booted
    std::string text;
};
std::optional<KernelMessage> parse_kernel_message(std::string_view record);

// What the driver prints of an error of NVLink 5 (XIDs 144 to 150), in the layouts from before and after
// R575.
struct NvlinkFault {
    std::string unit;  // "RLW_CTRL"
    bool is_fatal = false;
    bool is_injected = false;  // by a test of the driver
    int link = 0;              // -1: of no link in particular
    uint32_t interrupt = 0;    // intrInfo and errorStatus; 0 where the line ends before
    uint32_t status = 0;
    bool operator==(const NvlinkFault&) const = default;
};

struct Xid {
    int code = 0;
    std::string device = {};           // PCI address as the driver prints it, without "PCI:"
    std::optional<int> recovery = {};  // of XID 154: the action it asks for
    std::optional<NvlinkFault> nvlink = {};
    std::string text = {};
};
// Nothing if the message reports no XID. A GPU that has fallen off the bus is XID 79 also where no number
// stands. An SXid, which is of an NVSwitch, is not an XID.
std::optional<Xid> parse_xid(std::string_view message);

enum class KernelFaultKind : uint8_t {
    kXid,        // of a GPU; code: the XID; of NVLink 5, subject: the unit, value: the link
    kSxid,       // of an NVSwitch; code: the SXid
    kOom,        // a process was killed for lack of memory; subject: its name, code: its id
    kMce,        // machine checks and errors of memory controllers; subject: the CPU, code: the bank
    kHungTask,   // subject: its name, code: its id, value: seconds
    kLustre,     // subject: the target, code: the result
    kLnet,       // code: the result
    kNvmeReset,  // device: the controller
    kLinkDown,   // device: the interface
    kLinkUp,
};
enum class KernelSeverity : uint8_t { kInfo, kWarning, kCritical };

struct KernelFault {
    KernelFaultKind kind;
    KernelSeverity severity = KernelSeverity::kWarning;  // as far as the text alone tells
    std::string subject = {};
    std::string device = {};
    std::optional<int64_t> code = {};
    std::optional<double> value = {};
    bool is_injected = false;  // by a test of the driver
};
// Nothing for a message that is not of such a fault.
std::optional<KernelFault> parse_kernel_fault(std::string_view message);

}  // namespace belay::procfs
