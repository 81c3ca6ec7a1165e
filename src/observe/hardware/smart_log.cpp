#include "observe/hardware/smart_log.h"

#include "procfs/scan.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <limits>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace belay::observe::hardware {

namespace {

constexpr int64_t kDataUnitBytes = 512'000;  // a thousand units of 512 bytes
constexpr int64_t kMinuteSeconds = 60, kHourSeconds = 3600;
constexpr int kLargestPercentage = 100;
constexpr uint8_t kGetLogPage = 0x02;
constexpr uint32_t kSmartLogPage = 0x02, kAllNamespaces = 0xFFFF'FFFF;
constexpr uint32_t kCommandMilliseconds = 5000;

// Numbers of the page at their places.
class Page {
  public:
    explicit Page(std::string_view bytes) : bytes_(bytes) {}

    uint64_t number(size_t at, size_t size) const {
        uint64_t value = 0;
        for (size_t i = size; i > 0; --i) value = value << 8 | static_cast<uint8_t>(bytes_[at + i - 1]);
        return value;
    }
    // Of 128 bits.
    std::optional<int64_t> counter(size_t at) const {
        const uint64_t low = number(at, 8);
        if (number(at + 8, 8) != 0 || low > uint64_t{std::numeric_limits<int64_t>::max()})
            return std::nullopt;
        return static_cast<int64_t>(low);
    }
    // Of data units 0 says that they are not reported.
    std::optional<int64_t> data_bytes(size_t at) const {
        const std::optional<int64_t> units = counter(at);
        return units == 0 ? std::nullopt : procfs::scaled(units, kDataUnitBytes);
    }
    std::optional<double> percentage(size_t at) const {
        const auto value = static_cast<int>(number(at, 1));
        return value > kLargestPercentage ? std::nullopt : std::optional(value / 100.0);
    }
    int64_t integer(size_t at, size_t size) const { return static_cast<int64_t>(number(at, size)); }

  private:
    std::string_view bytes_;
};

}  // namespace

std::optional<SmartLog> parse_smart_log(std::string_view bytes) {
    if (bytes.size() != kSmartLogBytes || bytes.find_first_not_of(bytes[0]) == std::string_view::npos)
        return std::nullopt;
    const Page page(bytes);
    SmartLog log;
    log.critical_warning = page.integer(0, 1);
    // In hundredths, so that 300 K are 26.85 °C and not nearly so.
    if (const int64_t kelvin = page.integer(1, 2); kelvin != 0)
        log.celsius = static_cast<double>(kelvin * 100 - 27'315) / 100;
    log.spare_ratio = page.percentage(3);
    log.spare_threshold_ratio = page.percentage(4);
    log.used_ratio = static_cast<double>(page.integer(5, 1)) / 100;
    log.read_bytes = page.data_bytes(32);
    log.written_bytes = page.data_bytes(48);
    log.reads = page.counter(64);
    log.writes = page.counter(80);
    log.busy_seconds = procfs::scaled(page.counter(96), kMinuteSeconds);
    log.power_cycles = page.counter(112);
    log.power_on_seconds = procfs::scaled(page.counter(128), kHourSeconds);
    log.unsafe_shutdowns = page.counter(144);
    log.media_errors = page.counter(160);
    log.error_log_entries = page.counter(176);
    log.hot_seconds = page.integer(192, 4) * kMinuteSeconds;
    log.critically_hot_seconds = page.integer(196, 4) * kMinuteSeconds;
    log.throttled_seconds = page.integer(224, 4) + page.integer(228, 4);
    return log;
}

int read_smart_log_page(const char* device, std::span<char, kSmartLogBytes> page) {
    const int fd = open(device, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return errno;
    nvme_admin_cmd command{};
    command.opcode = kGetLogPage;
    command.nsid = kAllNamespaces;
    command.addr = reinterpret_cast<uintptr_t>(page.data());
    command.data_len = kSmartLogBytes;
    constexpr uint32_t kDwords = kSmartLogBytes / 4;
    command.cdw10 = (kDwords - 1) << 16 | kSmartLogPage;  // the number of dwords counts from 0
    command.timeout_ms = kCommandMilliseconds;
    const int status = ioctl(fd, NVME_IOCTL_ADMIN_CMD, &command);
    const int error = status < 0 ? errno : status > 0 ? EIO : 0;  // above 0 it is the controller that refused
    close(fd);
    return error;
}

}  // namespace belay::observe::hardware
