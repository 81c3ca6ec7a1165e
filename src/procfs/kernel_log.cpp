#include "procfs/kernel_log.h"

#include "core/text.h"

#include <array>
#include <charconv>
#include <memory>
#include <vector>

#include <re2/re2.h>

namespace belay::procfs {

namespace {

// NVML's recovery actions (nvmlDeviceGpuRecoveryAction_t) as XID 154 prints them; 0 asks for nothing.
constexpr std::string_view kRecovery = "GPU recovery action changed from 0x";
constexpr std::string_view kXidWords = "NVRM: Xid (";

// Users put words into the kernel's log: the 15 bytes of a program's name begin such lines ("NAME[7]:
// segfault at", "NAME invoked oom-killer"), and what they mount or load stands in others. So a fault is told
// by how its line begins, in more bytes than a name has, and lines that begin with a name are not looked at.
bool begins_with_a_program(std::string_view message) {
    // What cannot be printed is shown as \xNN. Latin-1: any byte is a character.
    static const re2::RE2 kName(R"(^(?:\\x[0-9a-f]{2}|[^\n]){1,15}(?:\[\d+\]:? | invoked oom-killer))",
                                re2::RE2::Latin1);
    return re2::RE2::PartialMatch({message.data(), message.size()}, kName);
}

int code_of(std::string_view text) {
    size_t end = text.find_first_not_of("0123456789");
    return core::parse_number<int>(text.substr(0, end)).value_or(0);
}

uint32_t hexadecimal(const std::string& digits) {
    uint32_t value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return value;
}

// "149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000 ...)"; before R575 "XC 0 i 0 Link 01
// [0x0000000a]". Some units have a word more ("150, MSE Degraded Fatal XC0 i0 Link -1").
std::optional<NvlinkFault> nvlink_of(std::string_view text) {
    static const re2::RE2 kLine(
        R"(^1(?:4[4-9]|50), +([A-Z0-9_]+(?: +\w+)?) +(Fatal|Nonfatal) +XC ?\d+ +i ?(\d+) +Link +(-?\d+)(?: +[(\[]0x([0-9a-fA-F]{1,8})(?: +0x([0-9a-fA-F]{1,8}))?)?)",
        re2::RE2::Quiet);
    NvlinkFault fault;
    std::string severity;
    int injected = 0;
    std::string interrupt, status;
    if (!re2::RE2::PartialMatch({text.data(), text.size()}, kLine, &fault.unit, &severity, &injected,
                                &fault.link, &interrupt, &status))
        return std::nullopt;
    fault.is_fatal = severity == "Fatal";
    fault.is_injected = injected != 0;
    fault.interrupt = hexadecimal(interrupt);
    fault.status = hexadecimal(status);
    return fault;
}

using enum KernelFaultKind;
using enum KernelSeverity;

// What a group of a pattern is, in their order.
enum class Group : uint8_t { kSubject, kDevice, kCode, kValue };

// The first that matches counts, so that the worse stand before the others. After the text of Linux 6.1
// (mm/oom_kill.c, kernel/hung_task.c, arch/x86/kernel/cpu/mce/core.c, drivers/edac/edac_mc.c,
// drivers/nvme/host/pci.c), of Lustre 2.15, and of NVIDIA's fabric manager guide for SXids.
struct Pattern {
    KernelFaultKind kind;
    KernelSeverity severity;
    const char* expression;
    std::array<std::optional<Group>, 3> groups = {};
};
// The driver and the PCI address of a network adapter, or an InfiniBand device.
#define ADAPTER R"((?:[\w-]+ [0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]:? (?:.*[ :])?|infiniband ))"
// With the process and the place in the source, or the number of the message.
#define LUSTRE_ERROR R"(^LustreError: (?:\d+:\d+:\(|[0-9a-f]+-[0-9a-f]: ))"
#define LNET_ERROR R"(^LNetError: (?:\d+:\d+:\(|[0-9a-f]{3}-[0-9a-f]: ))"
constexpr Pattern kPatterns[] = {
    {kSxid,
     kCritical,
     R"(^\S*nvswitch\d*: SXid \(PCI:([0-9a-fA-F:.]+)\): (\d+), Fatal)",
     {Group::kDevice, Group::kCode}},
    {kSxid,
     kWarning,
     R"(^\S*nvswitch\d*: SXid \(PCI:([0-9a-fA-F:.]+)\): (\d+),)",
     {Group::kDevice, Group::kCode}},
    {kOom,
     kCritical,
     R"(^(?:Memory cgroup o|O)ut of memory(?: \([\w ]+\))?: Kill(?:ed)? process (\d+) \(([^)]*)\))",
     {Group::kCode, Group::kSubject}},
    {kMce,
     kCritical,
     R"(^(?:mce: )?\[Hardware Error\]: (CPU \d+): Machine Check Exception: [0-9a-f]+ Bank (\d+))",
     {Group::kSubject, Group::kCode}},
    {kMce,
     kWarning,
     R"(^(?:mce: )?\[Hardware Error\]: (CPU \d+): Machine Check: [0-9a-f]+ Bank (\d+))",
     {Group::kSubject, Group::kCode}},
    {kMce, kCritical, R"(^EDAC (MC\d+): (\d+) UE .* on )", {Group::kSubject, Group::kValue}},
    {kMce, kWarning, R"(^EDAC (MC\d+): (\d+) CE .* on )", {Group::kSubject, Group::kValue}},
    {kHungTask,
     kWarning,
     R"(^INFO: task (.+):(\d+) blocked for more than (\d+) seconds)",
     {Group::kSubject, Group::kCode, Group::kValue}},
    {kLustre, kCritical, R"(^Lustre(?:Error)?: .*client was evicted by ([\w-]+))", {Group::kSubject}},
    {kLustre,
     kInfo,
     R"(^Lustre: ([\w-]+-(?:OST|MDT)[0-9a-f]{4})\S*: Connection restored)",
     {Group::kSubject}},
    {kLustre, kWarning, R"(^Lustre: .*Connection to ([\w-]+) .*was lost)", {Group::kSubject}},
    {kLustre,
     kWarning,
     LUSTRE_ERROR R"(.*?([\w]+-(?:OST|MDT)[0-9a-f]{4}).*\brc = (-?\d+))",
     {Group::kSubject, Group::kCode}},
    {kLustre, kWarning, LUSTRE_ERROR R"(.*\brc = (-?\d+))", {Group::kCode}},
    {kLustre, kWarning, LUSTRE_ERROR},
    {kLnet, kWarning, LNET_ERROR R"(.*(?:rc = |rc |: |Error )(-\d+)\b)", {Group::kCode}},
    {kLnet, kWarning, LNET_ERROR},
    {kNvmeReset,
     kWarning,
     R"(^nvme (nvme\d+): .*(?:controller is down|reset controller|resetting controller))",
     {Group::kDevice}},
    {kLinkDown,
     kWarning,
     "^" ADAPTER R"(([a-z][\w.-]*):? (?:NIC |Port: \d+ )?[Ll]ink (?:is )?(?:[Dd]own|DOWN)\b)",
     {Group::kDevice}},
    {kLinkUp,
     kInfo,
     "^" ADAPTER R"(([a-z][\w.-]*):? (?:NIC |Port: \d+ )?[Ll]ink (?:is )?(?:[Uu]p|UP|ACTIVE)\b)",
     {Group::kDevice}},
};

#undef ADAPTER
#undef LUSTRE_ERROR
#undef LNET_ERROR

const std::vector<std::unique_ptr<re2::RE2>>& compiled() {
    static const std::vector<std::unique_ptr<re2::RE2>> expressions = [] {
        std::vector<std::unique_ptr<re2::RE2>> made;
        for (const Pattern& pattern : kPatterns)
            made.push_back(std::make_unique<re2::RE2>(pattern.expression, re2::RE2::Quiet));
        return made;
    }();
    return expressions;
}

void take(Group group, std::string_view text, KernelFault& fault) {
    switch (group) {
        case Group::kSubject:
            fault.subject = text;
            break;
        case Group::kDevice:
            fault.device = text;
            break;
        case Group::kCode:
            fault.code = core::parse_number<int64_t>(text);
            break;
        case Group::kValue:
            fault.value = core::parse_number<double>(text);
            break;
    }
}

}  // namespace

std::optional<KernelMessage> parse_kernel_message(std::string_view record) {
    size_t semicolon = record.find(';');
    if (semicolon == std::string_view::npos) return std::nullopt;
    auto fields = core::split(record.substr(0, semicolon), ',');
    if (fields.size() < 3) return std::nullopt;
    auto microseconds = core::parse_number<uint64_t>(fields[2]);
    if (!microseconds) return std::nullopt;
    std::string_view text = record.substr(semicolon + 1);
    return KernelMessage{static_cast<double>(*microseconds) / 1e6,
                         std::string(text.substr(0, text.find('\n')))};
}

std::optional<Xid> parse_xid(std::string_view message) {
    if (begins_with_a_program(message)) return std::nullopt;
    if (message.starts_with(kXidWords)) {
        // NVRM: Xid (PCI:0000:81:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.
        std::string_view rest = message.substr(kXidWords.size());
        size_t close = rest.find("): ");
        if (close == std::string_view::npos) return std::nullopt;
        std::string_view device = rest.substr(0, close);
        if (device.starts_with("PCI:")) device.remove_prefix(4);
        if (device.find_first_not_of("0123456789abcdefABCDEF:.") != device.npos) return std::nullopt;
        Xid xid{.code = code_of(rest.substr(close + 3)),
                .device = std::string(device),
                .text = std::string(message)};
        if (xid.code == 0) return std::nullopt;
        xid.nvlink = nvlink_of(rest.substr(close + 3));
        if (size_t action = rest.find(kRecovery); action != std::string_view::npos)
            if (size_t to = rest.find(" to 0x", action); to != std::string_view::npos &&
                                                         to + 6 < rest.size() && rest[to + 6] >= '0' &&
                                                         rest[to + 6] <= '9')
                xid.recovery = rest[to + 6] - '0';
        return xid;
    }
    if (message.starts_with("NVRM: ") && message.find("fallen off the bus") != std::string_view::npos)
        return Xid{.code = 79, .text = std::string(message)};
    return std::nullopt;
}

std::optional<KernelFault> parse_kernel_fault(std::string_view message) {
    if (auto xid = parse_xid(message)) {
        KernelFault fault{.kind = KernelFaultKind::kXid, .device = xid->device, .code = xid->code};
        if (!xid->nvlink) return fault;
        fault.severity = xid->nvlink->is_fatal && !xid->nvlink->is_injected ? kCritical : kWarning;
        fault.subject = xid->nvlink->unit;
        if (xid->nvlink->link >= 0) fault.value = xid->nvlink->link;
        fault.is_injected = xid->nvlink->is_injected;
        return fault;
    }
    if (begins_with_a_program(message)) return std::nullopt;
    for (size_t i = 0; i < std::size(kPatterns); ++i) {
        const Pattern& pattern = kPatterns[i];
        std::array<re2::StringPiece, 1 + std::tuple_size_v<decltype(pattern.groups)>> found;
        if (!compiled()[i]->Match({message.data(), message.size()}, 0, message.size(), re2::RE2::UNANCHORED,
                                  found.data(), static_cast<int>(found.size())))
            continue;
        KernelFault fault{.kind = pattern.kind, .severity = pattern.severity};
        for (size_t group = 0; group < pattern.groups.size(); ++group)
            if (pattern.groups[group])
                take(*pattern.groups[group], {found[group + 1].data(), found[group + 1].size()}, fault);
        return fault;
    }
    return std::nullopt;
}

}  // namespace belay::procfs
