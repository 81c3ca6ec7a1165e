#include "iotrace/trace_file.h"

#include <cstring>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::iotrace {
namespace {

using testing::HasSubstr;

std::string empty_file() {
    std::string bytes = encode_header({});
    bytes.resize(kFileBytes);
    return bytes;
}

void put(std::string& bytes, size_t place, uint64_t value) {
    std::memcpy(bytes.data() + place, &value, sizeof value);
}

DeviceTotals some_device() {
    DeviceTotals totals{.device = {254, 1}};
    totals.counters[kOpens] = 7;
    totals.counters[kReadBytes] = 4096 * 10;
    totals.counters[kMetadataNanoseconds] = 1'500'000'000;
    totals.reads_in_order[0] = 7;
    totals.reads_in_order[13] = 6;
    totals.reads_elsewhere[13] = 2;
    totals.writes[1] = 3;
    return totals;
}

TEST(iotrace, sizes_fall_into_bins_by_powers_of_two) {
    EXPECT_EQ(size_bin(0), 0U);
    EXPECT_EQ(size_bin(1), 1U);
    EXPECT_EQ(size_bin(4095), 12U);
    EXPECT_EQ(size_bin(4096), 13U);
    EXPECT_EQ(size_bin(uint64_t{1} << 30), 31U);
    EXPECT_EQ(size_bin(UINT64_MAX), 31U);
}

TEST(iotrace, a_device_is_packed_as_st_dev_says) {
    EXPECT_EQ(packed_device(uint64_t{0xfe00}), packed_device(254U, 0U));
    EXPECT_EQ(packed_device(uint64_t{0x12300045}), packed_device(0U, 0x12345U));  // minor numbers beyond 255
    EXPECT_EQ((DeviceNumber{254, 1}.text()), "254:1");
}

TEST(iotrace, an_empty_file_has_no_devices) {
    EXPECT_EQ(encode_header({}).size(), kHeaderBytes);
    EXPECT_EQ(decode(empty_file()).value(), IoTotals());
}

TEST(iotrace, totals_come_back_as_they_were) {
    IoTotals totals{
        .began = core::time_from_nanoseconds(7), .programs = 2, .threads = 3, .devices = {some_device()}};
    totals.devices.push_back({.of = DeviceTotals::Of::kNone, .counters = {0, 5}});
    totals.devices.push_back({.of = DeviceTotals::Of::kOthers, .counters = {1}});
    EXPECT_EQ(decode(encode(totals)).value(), totals);
}

TEST(iotrace, slots_are_summed_up) {
    std::string bytes = encode({.devices = {some_device()}});
    put(bytes, cell_place(1, 1) + kOpens * 8, 100);
    put(bytes, cell_place(1, kSlots - 1) + (kWrites + 1) * 8, 1000);
    const IoTotals totals = decode(bytes).value();
    EXPECT_EQ(totals.devices.at(0)[kOpens], 107U);
    EXPECT_EQ(totals.devices.at(0).write_calls(), 1003U);
}

TEST(iotrace, what_is_derived_of_totals) {
    const DeviceTotals totals = some_device();
    EXPECT_EQ(totals.read_calls(), 15U);
    EXPECT_EQ(totals.random_share(), 0.25);  // the ends of files are not reads that have a place
    EXPECT_EQ(DeviceTotals().random_share(), std::nullopt);
    EXPECT_EQ(totals.read_calls_up_to(4095), 0U);
    EXPECT_EQ(totals.read_calls_up_to(8191), 8U);
    EXPECT_EQ(totals.random_read_calls_up_to(8191), 2U);
    EXPECT_EQ(totals.write_calls_up_to(1), 3U);
    EXPECT_EQ(totals.metadata_calls(), 7U);
    EXPECT_DOUBLE_EQ(totals.seconds(kMetadataNanoseconds), 1.5);
}

TEST(iotrace, what_is_not_a_trace_is_refused_and_says_why) {
    auto why = [](const std::string& bytes) {
        auto totals = decode(bytes);
        return totals ? std::string("taken") : totals.error().message();
    };
    EXPECT_THAT(why(""), HasSubstr("it has 0 bytes"));
    EXPECT_THAT(why(empty_file().substr(1)), HasSubstr("and not 2101248"));
    EXPECT_THAT(why(std::string(kFileBytes, '\0')), HasSubstr("does not begin with BLYIOTR1"));
    std::string newer = empty_file();
    newer[kVersionPlace] = 2;
    EXPECT_THAT(why(newer), HasSubstr("it is of version 2, and this program reads version 1"));
    for (size_t place : {kHeaderBytesPlace, kDevicesPlace, kSlotsPlace, kCellWordsPlace, kSizeBinsPlace}) {
        std::string other = empty_file();
        other[place] ^= 1;
        EXPECT_THAT(why(other), HasSubstr("its number at byte"));
        EXPECT_EQ(decode(other).error().kind(), core::ErrorKind::kBadInput);
    }
}

TEST(iotrace, any_counters_are_taken) {
    std::mt19937_64 random(1);
    for (int round = 0; round < 3; ++round) {
        std::string bytes = empty_file();
        for (size_t place = kThreadsPlace; place < kFileBytes; place += 8) put(bytes, place, random());
        const auto totals = decode(bytes);
        ASSERT_TRUE(totals);
        EXPECT_LE(totals->devices.size(), kDevices);
        for (const DeviceTotals& device : totals->devices) EXPECT_LE(device.random_share().value_or(0), 1);
    }
}

TEST(iotrace, sums_stop_at_the_largest_number) {
    std::string bytes = encode({.devices = {some_device()}});
    for (size_t slot = 0; slot < kSlots; ++slot) put(bytes, cell_place(1, slot) + kReadBytes * 8, UINT64_MAX);
    EXPECT_EQ(decode(bytes).value().devices.at(0)[kReadBytes], UINT64_MAX);
}

}  // namespace
}  // namespace belay::iotrace
