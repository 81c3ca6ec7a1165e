#include "observe/collect/kernel_log.h"

#include "core/tell.h"
#include "core/text.h"
#include "core/utf8.h"
#include "gpu/xid.h"
#include "procfs/kernel_log.h"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <functional>
#include <map>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace belay::observe::collect {

namespace {

using procfs::KernelFault;
using procfs::KernelFaultKind;

constexpr size_t kRecordBytes = size_t{16} << 10;  // a longer record is refused by the kernel (EINVAL)
constexpr size_t kMostRecords = 2000;              // at once; the rest at the next tick
constexpr size_t kMostTold = 50;                   // different faults at once
constexpr size_t kShownText = 200;                 // bytes of a message
// NVIDIA, XID errors, "NVLink 5 XIDs"
constexpr int64_t kFirstNvlink5 = 144, kLastNvlink5 = 150;

// Of these the driver's event has the number alone, and the log has unit, link and whether work can go on:
// the log's are told, in whatever words they come.
bool is_nvlink5(std::optional<int64_t> code) {
    return code >= kFirstNvlink5 && code <= kLastNvlink5;
}

// By KernelFaultKind and KernelSeverity.
constexpr schema::EventKind kKinds[] = {"xid",    "sxid", "oom",        "mce",       "hung_task",
                                        "lustre", "lnet", "nvme_reset", "link_down", "link_up"};
static_assert(std::size(kKinds) == static_cast<size_t>(KernelFaultKind::kLinkUp) + 1);
constexpr std::string_view kSeverities[] = {"info", "warning", "critical"};

// Faults that came together, those that differ in nothing but their text as one.
class Faults {
  public:
    void add(std::string_view record) {
        auto message = procfs::parse_kernel_message(record);
        if (!message) return;
        auto fault = procfs::parse_kernel_fault(message->text);
        if (!fault) return;
        // Of an XID the value is the link.
        const auto link = fault->kind == KernelFaultKind::kXid ? fault->value : std::nullopt;
        const auto key =
            std::tuple(fault->kind, fault->severity, fault->subject, fault->device, fault->code, link);
        auto found = told_.find(key);
        if (found == told_.end() && told_.size() >= kMostTold) {
            ++left_out_;
            return;
        }
        if (found == told_.end())
            found = told_.emplace(key, Told{std::move(*fault), std::move(message->text)}).first;
        ++found->second.times;
    }
    void add_lost() { ++lost_; }

    void tell(const EventSink& sink, bool xids_are_told) const {
        for (const auto& [key, told] : told_)
            if (told.fault.kind != KernelFaultKind::kXid || !xids_are_told || is_nvlink5(told.fault.code))
                sink(event_of(told));
        if (lost_ + left_out_ > 0)
            sink({.kind = "kernel_log_lost",
                  .severity = "warning",
                  .source = "kernel",
                  .value = static_cast<double>(lost_ + left_out_),
                  .message = lost_ > 0 ? "messages of the kernel were overwritten before they were read"
                                       : "more faults than can be told came at once in the kernel's log"});
    }

  private:
    struct Told {
        KernelFault fault;
        std::string text;
        int times = 0;
    };

    static std::string_view weight_of(const KernelFault& fault) {
        if (fault.is_injected) return "injected by a test";
        return fault.severity == procfs::KernelSeverity::kCritical ? "fatal" : "not fatal";
    }

    static std::string link_of(const KernelFault& fault) {
        return fault.value ? fmt::format(", link {:.0f}", *fault.value) : "";
    }

    static stream::Event event_of(const Told& told) {
        const KernelFault& fault = told.fault;
        auto or_nothing = [](const std::string& text) {
            return text.empty() ? std::nullopt : std::optional(text);
        };
        stream::Event event{.kind = kKinds[static_cast<size_t>(fault.kind)],
                            .severity = kSeverities[static_cast<size_t>(fault.severity)],
                            .source = "kernel",
                            .subject = or_nothing(fault.subject),
                            .device = or_nothing(fault.device),
                            .code = fault.code,
                            .value = fault.value ? *fault.value : told.times,
                            .message = std::string(core::utf8_prefix(told.text, kShownText))};
        if (fault.kind == KernelFaultKind::kXid) {
            const gpu::XidMeaning meaning = gpu::xid_meaning(fault.code.value_or(0));
            const bool nvlink = !fault.subject.empty();
            if (!nvlink) event.severity = gpu::xid_severity(meaning);
            event.message =
                fmt::format("XID {} of {}: {}", meaning.code, fault.device.empty() ? "a GPU" : fault.device,
                            nvlink ? fmt::format("{}: {}, {}{}", meaning.name, fault.subject,
                                                 weight_of(fault), link_of(fault))
                                   : gpu::xid_text(meaning));
        }
        if (told.times > 1) event.message += fmt::format(", {} times", told.times);
        return event;
    }

    std::map<std::tuple<KernelFaultKind, procfs::KernelSeverity, std::string, std::string,
                        std::optional<int64_t>, std::optional<double>>,
             Told>
        told_;
    size_t lost_ = 0;
    size_t left_out_ = 0;
};

// Of /dev/kmsg every read gives one record. Returns the errno of a read that failed, or 0.
int read_records(int fd, Faults& faults) {
    std::array<char, kRecordBytes> record;
    for (size_t i = 0; i < kMostRecords; ++i) {
        const ssize_t size = read(fd, record.data(), record.size());
        if (size > 0)
            faults.add({record.data(), static_cast<size_t>(size)});
        else if (size < 0 && errno == EPIPE)
            faults.add_lost();
        else if (size == 0 || errno == EAGAIN)
            return 0;
        else if (errno != EINTR && errno != EINVAL)
            return errno;
    }
    return 0;
}

// Likewise.
int read_lines(int fd, std::string& rest, Faults& faults) {
    std::array<char, kRecordBytes> part;
    for (size_t i = 0; i < kMostRecords; ++i) {
        const ssize_t size = read(fd, part.data(), part.size());
        if (size < 0 && errno == EINTR) continue;
        if (size <= 0) return size < 0 ? errno : 0;
        rest.append(part.data(), static_cast<size_t>(size));
        size_t begin = 0;
        for (size_t end = rest.find('\n'); end != rest.npos; end = rest.find('\n', begin)) {
            faults.add(std::string_view(rest).substr(begin, end - begin));
            begin = end + 1;
        }
        rest.erase(0, begin);
        if (rest.size() > kRecordBytes) rest.clear();  // no record is so long
    }
    return 0;
}

}  // namespace

KernelLog::KernelLog(const std::filesystem::path& path) {
    if (path.empty()) return;
    auto opened = core::open_file(path, O_RDONLY | O_NONBLOCK);
    if (opened) fd_ = std::move(*opened);
    auto ready = opened ? go_to_end() : std::unexpected(std::move(opened.error()));
    if (ready) return;
    fd_.reset();
    unread_ = std::move(ready.error());
}

core::Result<> KernelLog::go_to_end() {
    struct stat facts{};
    if (fstat(fd_.get(), &facts) != 0) return core::errno_error(errno, "cannot look at it");
    is_file_ = S_ISREG(facts.st_mode);
    if (!is_file_ && !S_ISCHR(facts.st_mode))
        return core::bad_input("this is neither a regular file nor a character device");
    if (lseek(fd_.get(), 0, SEEK_END) < 0) return core::errno_error(errno, "cannot go to its end");
    return {};
}

bool KernelLog::says_more_than(const stream::Event& event) const {
    return is_open() && !has_failed_ && event.kind.name() == "xid" && event.source != "kernel" &&
           is_nvlink5(event.code);
}

void KernelLog::tell_new(const EventSink& sink, bool xids_are_told) {
    if (!sink) return;
    tell_unread(sink);
    if (!fd_) return;
    Faults faults;
    const int failed = is_file_ ? read_lines(fd_.get(), rest_, faults) : read_records(fd_.get(), faults);
    faults.tell(sink, xids_are_told);
    if (failed == 0 || std::exchange(has_failed_, true)) return;  // what may be read again is read again
    unread_ = core::errno_error(failed, "cannot read it").error();
    tell_unread(sink);
}

void KernelLog::tell_unread(const EventSink& sink) {
    if (unread_)
        sink({.kind = "kernel_log_unread",
              .severity = "info",
              .source = "kernel",
              .code = stream::error_number(*unread_),
              .message = fmt::format("the kernel's log is not read: {}", core::in_one_line(*unread_))});
    unread_.reset();
}

}  // namespace belay::observe::collect
