#include "iotrace/trace_file.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

namespace belay::iotrace {

namespace {

static_assert(std::endian::native == std::endian::little, "kMagic is written for little-endian machines");

template <typename T>
T number_at(std::string_view bytes, size_t place) {
    T value{};
    std::memcpy(&value, bytes.data() + place, sizeof value);
    return value;
}
template <typename T>
void put_number(std::string& bytes, size_t place, T value) {
    std::memcpy(bytes.data() + place, &value, sizeof value);
}

struct Size {
    HeaderPlace place;
    uint32_t value;
};
constexpr Size kSizes[] = {{kHeaderBytesPlace, kHeaderBytes},
                           {kDevicesPlace, kDevices},
                           {kSlotsPlace, kSlots},
                           {kCellWordsPlace, kCellWords},
                           {kSizeBinsPlace, kSizeBins}};

uint64_t sum_at_most(uint64_t a, uint64_t b) {
    uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<uint64_t>::max() : sum;
}

template <typename Numbers>
uint64_t sum_of(const Numbers& numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), uint64_t{0}, sum_at_most);
}

// Without the calls of 0 bytes, and without the last bin, which has no end.
uint64_t sum_up_to(const SizeHistogram& calls, uint64_t most) {
    uint64_t sum = 0;
    for (size_t bin = 1; bin < kSizeBins - 1 && (uint64_t{1} << bin) - 1 <= most; ++bin)
        sum = sum_at_most(sum, calls[bin]);
    return sum;
}

using Words = std::array<uint64_t, kCellWords>;

Words words_of(std::string_view bytes, unsigned device) {
    Words sums{};
    for (size_t slot = 0; slot < kSlots; ++slot)
        for (size_t word = 0; word < kCellWords; ++word)
            sums[word] =
                sum_at_most(sums[word], number_at<uint64_t>(bytes, cell_place(device, slot) + word * 8));
    return sums;
}

DeviceTotals totals_of(const Words& words) {
    DeviceTotals totals;
    std::copy_n(words.begin(), kCounters, totals.counters.begin());
    std::copy_n(words.begin() + kReadsInOrder, kSizeBins, totals.reads_in_order.begin());
    std::copy_n(words.begin() + kReadsElsewhere, kSizeBins, totals.reads_elsewhere.begin());
    std::copy_n(words.begin() + kWrites, kSizeBins, totals.writes.begin());
    return totals;
}

void put_totals(std::string& bytes, unsigned index, const DeviceTotals& totals) {
    auto put = [&](size_t first, const auto& numbers) {
        for (size_t i = 0; i < numbers.size(); ++i)
            put_number(bytes, cell_place(index, 0) + (first + i) * 8, numbers[i]);
    };
    put(0, totals.counters);
    put(kReadsInOrder, totals.reads_in_order);
    put(kReadsElsewhere, totals.reads_elsewhere);
    put(kWrites, totals.writes);
}

core::Result<> check_header(std::string_view bytes) {
    if (bytes.size() != kFileBytes)
        return core::bad_input("it has {} bytes and not {}", bytes.size(), kFileBytes);
    if (number_at<uint64_t>(bytes, kMagicPlace) != kMagic)
        return core::bad_input("it does not begin with BLYIOTR1");
    if (const auto version = number_at<uint32_t>(bytes, kVersionPlace); version != kVersion)
        return core::bad_input("it is of version {}, and this program reads version {}", version, kVersion);
    for (const Size& size : kSizes)
        if (const auto found = number_at<uint32_t>(bytes, size.place); found != size.value)
            return core::bad_input("its number at byte {} is {} and not {}", static_cast<size_t>(size.place),
                                   found, size.value);
    return {};
}

uint64_t device_at(std::string_view bytes, unsigned index) {
    return number_at<uint64_t>(bytes, kDeviceTablePlace + index * sizeof(uint64_t));
}

}  // namespace

std::string DeviceNumber::text() const {
    return fmt::format("{}:{}", major, minor);
}

uint64_t DeviceTotals::random_read_calls() const {
    return sum_of(reads_elsewhere);
}
uint64_t DeviceTotals::read_calls() const {
    return sum_at_most(sum_of(reads_in_order), random_read_calls());
}
uint64_t DeviceTotals::write_calls() const {
    return sum_of(writes);
}

uint64_t DeviceTotals::random_read_calls_up_to(uint64_t most) const {
    return sum_up_to(reads_elsewhere, most);
}
uint64_t DeviceTotals::write_calls_up_to(uint64_t most) const {
    return sum_up_to(writes, most);
}
uint64_t DeviceTotals::read_calls_up_to(uint64_t most) const {
    return sum_at_most(sum_up_to(reads_in_order, most), random_read_calls_up_to(most));
}

uint64_t DeviceTotals::metadata_calls() const {
    const std::array calls = {counters[kOpens], counters[kOpensFailed],    counters[kCloses],
                              counters[kStats], counters[kDirectoryOpens], counters[kChanges]};
    return sum_of(calls);
}

std::optional<double> DeviceTotals::random_share() const {
    const uint64_t random = sum_of(reads_elsewhere) - reads_elsewhere[0];
    const uint64_t all = sum_at_most(random, sum_of(reads_in_order) - reads_in_order[0]);
    if (all == 0) return std::nullopt;
    return static_cast<double>(random) / static_cast<double>(all);
}

std::string encode_header(core::Time began) {
    std::string bytes(kHeaderBytes, '\0');
    put_number(bytes, kMagicPlace, kMagic);
    put_number(bytes, kVersionPlace, kVersion);
    for (const Size& size : kSizes) put_number(bytes, size.place, size.value);
    put_number(bytes, kBeganPlace, core::to_nanoseconds(began));
    return bytes;
}

std::string encode(const IoTotals& totals) {
    std::string bytes = encode_header(totals.began);
    bytes.resize(kFileBytes);
    put_number(bytes, kProgramsPlace, totals.programs);
    put_number(bytes, kThreadsPlace, totals.threads);
    unsigned next = kNoDevice + 1;
    for (const DeviceTotals& device : totals.devices) {
        if (device.of == DeviceTotals::Of::kNone) put_totals(bytes, kNoDevice, device);
        if (device.of == DeviceTotals::Of::kOthers) put_totals(bytes, kOtherDevices, device);
        if (device.of != DeviceTotals::Of::kDevice || next == kOtherDevices) continue;
        put_number(bytes, kDeviceTablePlace + next * sizeof(uint64_t),
                   packed_device(device.device.major, device.device.minor));
        put_totals(bytes, next++, device);
    }
    return bytes;
}

bool is_device_set(std::string_view bytes, unsigned index) {
    return (device_at(bytes, index) & kDeviceIsSet) != 0;
}

core::Result<IoTotals> decode(std::string_view bytes) {
    BELAY_CHECK(core::with_context(check_header(bytes), "not an I/O trace"));
    IoTotals totals{.began = core::time_from_nanoseconds(number_at<int64_t>(bytes, kBeganPlace)),
                    .programs = number_at<uint64_t>(bytes, kProgramsPlace),
                    .threads = number_at<uint64_t>(bytes, kThreadsPlace)};
    auto add = [&](unsigned index, DeviceTotals::Of of, DeviceNumber device) {
        const Words words = words_of(bytes, index);
        if (of != DeviceTotals::Of::kDevice && sum_of(words) == 0) return;
        DeviceTotals found = totals_of(words);
        found.of = of;
        found.device = device;
        totals.devices.push_back(found);
    };
    for (unsigned index = kNoDevice + 1; index < kOtherDevices; ++index) {
        if (!is_device_set(bytes, index)) continue;
        const uint64_t device = device_at(bytes, index);
        add(index, DeviceTotals::Of::kDevice,
            {static_cast<uint32_t>((device & ~kDeviceIsSet) >> 32), static_cast<uint32_t>(device)});
    }
    add(kNoDevice, DeviceTotals::Of::kNone, {});
    add(kOtherDevices, DeviceTotals::Of::kOthers, {});
    return totals;
}

}  // namespace belay::iotrace
