#include "record/import/gssr_csv.h"

#include "record/import/import_testing.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

using enum GssrField;
using namespace import_testing;

GssrRow parsed(const std::string& header_line, const std::string& line) {
    auto csv = GssrCsv::from_header(header_line);
    EXPECT_TRUE(csv.has_value());
    auto row = csv->parse(line);
    EXPECT_TRUE(row.has_value()) << line;
    return row.value_or(GssrRow{});
}

std::string without_end(std::string line) {
    line.pop_back();
    return line;
}

TEST(record_import, columns_are_found_by_their_names) {
    GssrRow row =
        parsed("DCGM_FI_DEV_POWER_USAGE_avg,gpuId,SOMETHING_NEW_avg,DCGM_FI_PROF_DRAM_ACTIVE_avg,timestamp",
               "412.5,3,77,0.25,19");
    EXPECT_EQ(row.timestamp, 19);
    EXPECT_EQ(row.gpu, 3);
    EXPECT_EQ(row[kPower].average, 412.5);
    EXPECT_EQ(row[kDram].average, 0.25);
    EXPECT_TRUE(std::isnan(row[kTensor].average));
}

TEST(record_import, all_fields_of_the_recorder_are_known) {
    GssrRow row = parsed(without_end(header()), without_end(import_testing::row(7, 1)));
    for (const GssrFieldFacts& facts : kGssrFieldFacts)
        EXPECT_EQ(std::isnan(row[facts.field].average), facts.dcgm.empty()) << facts.dcgm;
    EXPECT_EQ(row[kTensor].minimum, 0.5);
    EXPECT_EQ(row[kTensor].average, 0.6);
    EXPECT_EQ(row[kTensor].maximum, 0.7);
}

TEST(record_import, an_old_header_names_the_maximum_before_the_mean_and_is_wrong) {
    auto csv = GssrCsv::from_header(without_end(header("min,max,avg")));
    ASSERT_TRUE(csv);
    EXPECT_TRUE(csv->has_exchanged_header());
    GssrRow row = csv->parse(without_end(import_testing::row(7, 1))).value();
    EXPECT_EQ(row[kTensor].average, 0.6);
    EXPECT_EQ(row[kTensor].maximum, 0.7);
    EXPECT_FALSE(GssrCsv::from_header(without_end(header()))->has_exchanged_header());
}

TEST(record_import, what_is_no_whole_row_is_none) {
    auto csv = GssrCsv::from_header("timestamp,gpuId,DCGM_FI_DEV_POWER_USAGE_avg");
    ASSERT_TRUE(csv);
    EXPECT_TRUE(csv->parse("1,0,5"));
    for (const char* line :
         {"", "1", "1,0", "1,0,5,6", "x,0,5", "-1,0,5", "1,-1,5", "1,0.5,5", "1,,5", "nan,0,5", "1e30,0,5",
          "1,99999,5", "timestamp,gpuId,DCGM_FI_DEV_POWER_USAGE_avg"})
        EXPECT_FALSE(csv->parse(line)) << line;
}

TEST(record_import, a_cell_that_cannot_be_read_is_infinite_and_an_empty_one_missing) {
    auto power = [](std::string_view cell) {
        return parsed("timestamp,gpuId,DCGM_FI_DEV_POWER_USAGE_avg", std::string("1,0,").append(cell))[kPower]
            .average;
    };
    for (const char* cell : {"", "N/A"}) EXPECT_TRUE(std::isnan(power(cell))) << cell;
    for (const char* cell : {"nan", "inf", "-inf", "1e999", "12x"})
        EXPECT_TRUE(std::isinf(power(cell))) << cell << ": is told";
    EXPECT_EQ(parsed("timestamp,gpuId,DCGM_FI_DEV_POWER_USAGE_avg", "1, 0 ,\"5\"")[kPower].average, 5);
}

TEST(record_import, a_foreign_header_is_none) {
    EXPECT_FALSE(GssrCsv::from_header(""));
    EXPECT_FALSE(GssrCsv::from_header("timestamp,gpuId"));
    EXPECT_FALSE(GssrCsv::from_header("time,gpu,DCGM_FI_DEV_POWER_USAGE_avg"));
    EXPECT_FALSE(GssrCsv::from_header("timestamp,gpuId,DCGM_FI_DEV_POWER_USAGE" + std::string(5000, ',')));
}

std::bitset<kGssrFields> only(GssrField field) {
    return std::bitset<kGssrFields>().set(static_cast<size_t>(field));
}

TEST(record_import, blanks_and_what_cannot_be_are_missing) {
    GssrRow row;
    row[kSmActive].average = 1.2;
    row[kTensor].average = 1.01;
    row[kDram].average = -0.1;
    row[kPower].average = 140737488355328.0;
    row[kNvlinkSent].average = 9.2e18;
    row[kMemoryUsed].average = 1e12;
    const auto dropped = drop_impossible(row);
    for (GssrField field : {kSmActive, kDram, kMemoryUsed})
        EXPECT_TRUE(dropped.test(static_cast<size_t>(field)));
    EXPECT_EQ(dropped.count(), 3U) << "blanks are no mistake";
    for (GssrField field : {kSmActive, kDram, kPower, kNvlinkSent, kMemoryUsed})
        EXPECT_TRUE(std::isnan(row[field].average)) << static_cast<int>(field);
    EXPECT_EQ(row[kTensor].average, 1.01);
}

TEST(record_import, a_rate_of_0_is_missing_where_the_gpu_works) {
    GssrRow row;
    row[kNvlinkSent] = {0, 0, 0};
    row[kPcieSent] = {1, 5, 0};  // only its highest was clipped
    row[kSmActive].average = 0.4;
    EXPECT_EQ(drop_clipped(row), only(kNvlinkSent));
    EXPECT_TRUE(std::isnan(row[kNvlinkSent].average));
    EXPECT_EQ(row[kPcieSent].average, 5);
}

TEST(record_import, a_rate_of_0_of_an_idle_gpu_is_0) {
    GssrRow row;
    row[kNvlinkSent] = {0, 0, 0};
    row[kSmActive].average = row[kUtilization].average = 0;
    EXPECT_TRUE(drop_clipped(row).none());
    EXPECT_EQ(row[kNvlinkSent].average, 0);
    row[kNvlinkSent] = {3, 0, 0};  // a mean below the minimum was clipped
    EXPECT_EQ(drop_clipped(row), only(kNvlinkSent));
}

TEST(record_import, a_board_without_power_or_memory_was_clipped_too) {
    GssrRow row;
    for (GssrField field : {kPower, kEnergy, kMemoryFree, kMemoryUsed, kMemoryReserved})
        row[field].average = 0;
    drop_clipped(row);
    for (GssrField field : {kPower, kEnergy, kMemoryFree, kMemoryUsed, kMemoryReserved})
        EXPECT_TRUE(std::isnan(row[field].average)) << static_cast<int>(field);
    row[kMemoryUsed].average = 0;
    row[kMemoryFree].average = 80000;  // nothing is allocated
    drop_clipped(row);
    EXPECT_EQ(row[kMemoryUsed].average, 0);
}

}  // namespace
}  // namespace belay::record
