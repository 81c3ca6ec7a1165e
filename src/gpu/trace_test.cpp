#include "gpu/trace.h"

#include "gpu/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::gpu {
namespace {

using ::testing::HasSubstr;

void expect_equal(const Trace& a, const Trace& b) {
    EXPECT_EQ(a.driver, b.driver);
    EXPECT_EQ(a.note, b.note);
    ASSERT_EQ(a.devices.size(), b.devices.size());
    for (size_t i = 0; i < a.devices.size(); ++i) {
        EXPECT_EQ(a.devices[i].uuid, b.devices[i].uuid);
        EXPECT_EQ(a.devices[i].index, b.devices[i].index);
        EXPECT_EQ(a.devices[i].name, b.devices[i].name);
        EXPECT_EQ(a.devices[i].mig_profile, b.devices[i].mig_profile);
        EXPECT_EQ(a.devices[i].weight, b.devices[i].weight);
        EXPECT_EQ(a.devices[i].profiling, b.devices[i].profiling);
    }
    for (size_t i = 0; i < a.devices.size(); ++i)
        for (size_t f = 0; f < kFactCount; ++f) {
            double x = a.facts_of(i)[f], y = b.facts_of(i)[f];
            EXPECT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << kFacts[f].name;
        }
    ASSERT_EQ(a.rows.size(), b.rows.size());
    for (size_t i = 0; i < a.rows.size(); ++i) {
        ASSERT_EQ(a.rows[i].seconds, b.rows[i].seconds);
        ASSERT_EQ(a.rows[i].device, b.rows[i].device);
        ASSERT_EQ(a.rows[i].reading.lost, b.rows[i].reading.lost);
        for (size_t f = 0; f < kFieldCount; ++f) {
            double x = a.rows[i].reading[f];
            double y = b.rows[i].reading[f];
            ASSERT_TRUE(x == y || (std::isnan(x) && std::isnan(y))) << kFields[f].name;
        }
    }
    ASSERT_EQ(a.xids.size(), b.xids.size());
    for (size_t i = 0; i < a.xids.size(); ++i) {
        EXPECT_EQ(a.xids[i].seconds, b.xids[i].seconds);
        EXPECT_EQ(a.xids[i].code, b.xids[i].code);
    }
}

TEST(gpu, traces_give_back_what_was_written) {
    for (const SyntheticKind& kind : synthetic_kinds()) {
        SCOPED_TRACE(kind.name);
        Trace trace = synthetic_trace(kind.name, {.seconds = 30, .gpus = 2}).value();
        auto read = parse_trace(format_trace(trace), "t");
        ASSERT_TRUE(read) << read.error().render();
        expect_equal(*read, trace);
    }
    EXPECT_FALSE(synthetic_trace("unknown", {}));
}

const std::string kHead =
    "belay-gpu-trace 1\ndriver 550.1\ndevice GPU-1 0 1 - gpm NVIDIA H100\nfields sm_active_ratio "
    "power_watts\n";

TEST(gpu, a_trace_has_the_fields_it_names) {
    auto trace = parse_trace(
        kHead + "# a remark\n\nrow 1 0 0.5 -\nrow 2 0 0.25 9\nxid 1.5 0 79\nrow 3 0 lost\nrow 4 0 0.", "t");
    ASSERT_TRUE(trace) << trace.error().render();
    ASSERT_EQ(trace->rows.size(), 3U) << "the last line has no end";
    EXPECT_EQ(trace->rows[0].reading[field("sm_active_ratio")], 0.5);
    EXPECT_TRUE(std::isnan(trace->rows[0].reading[field("power_watts")]));
    EXPECT_TRUE(trace->rows[2].reading.lost);
    EXPECT_EQ(trace->xids[0].code, 79);
    EXPECT_EQ(trace->devices[0].driver, "550.1");
}

TEST(gpu, a_trace_tells_facts_of_some_devices) {
    auto trace = parse_trace(kHead + "device GPU-2 1 1 - - X\nfacts 1 nvlinks 18 nvlinks_down 1\n", "t");
    ASSERT_TRUE(trace) << trace.error().render();
    EXPECT_EQ(trace->facts_of(1)[fact("nvlinks_down")], 1);
    EXPECT_TRUE(std::isnan(trace->facts_of(1)[fact("slowdown_celsius")]));
    EXPECT_TRUE(std::isnan(trace->facts_of(0)[fact("nvlinks")]));
}

TEST(gpu, a_wrong_trace_says_where) {
    struct Case {
        std::string text;
        const char* message;
    };
    const Case cases[] = {
        {"", "t:1:1: does not begin with \"belay-gpu-trace 1\""},
        {"belay-gpu-trace 2\n", "does not begin"},
        {"belay-gpu-trace 1\nfoo\n", "t:2:1: unknown word \"foo\""},
        {"belay-gpu-trace 1\ndevice GPU-1\n", "a device is: device UUID"},
        {"belay-gpu-trace 1\ndevice GPU-1 0 2 - gpm X\n", "a device is"},
        {"belay-gpu-trace 1\ndevice GPU\t1 0 1 - gpm X\n", "a device is"},
        {"belay-gpu-trace 1\nfields sm\n", "unknown field \"sm\""},
        {"belay-gpu-trace 1\nfields power_watts power_watts\n", "stands twice"},
        {"belay-gpu-trace 1\ndevice GPU-1 0 1 - gpm X\nrow 0 0\n",
         "t:3:1: a row stands before the line of fields"},
        {"belay-gpu-trace 1\ndevice GPU-1 0 1 - gpm X\nrow 0 0 lost\n", "t:3:1: a row stands before"},
        {"belay-gpu-trace 1\nfields\n", "names no field"},
        {kHead + "row 1 1 0.5\n", "t:5:1: the device is not one of the 1 above"},
        {kHead + "row -1 0 0.5\n", "not a number of seconds"},
        {kHead + "row 2 0 0.5 1\nrow 1 0 0.5 1\n", "t:6:1: the time goes backwards"},
        {kHead + "row 1 0 x 1\n", "sm_active_ratio: \"x\" is not a number; missing is \"-\""},
        {kHead + "row 1 0 nan 1\n", "is not a number"},
        {kHead + "row 1 0 -0.5 1\n", "sm_active_ratio: -0.5 is less than 0"},
        {kHead + "row 1 0 1\n", "fewer values than there are fields"},
        {kHead + "row 1 0 1 2 3\n", "more values than there are fields"},
        {kHead + "facts 0 nvlink 1\n", "unknown fact \"nvlink\""},
        {kHead + "facts 0 nvlinks\n", "nvlinks: \"\" is not a number"},
        {kHead + "facts 1 nvlinks 1\n", "the device is not one of the 1 above"},
        {kHead + "xid 1 0 x\n", "the XID \"x\" is not a number"},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.text);
        auto trace = parse_trace(c.text, "t");
        ASSERT_FALSE(trace);
        EXPECT_EQ(trace.error().kind(), core::ErrorKind::kBadInput);
        EXPECT_THAT(trace.error().render(), HasSubstr(c.message));
    }
}

TEST(gpu, a_trace_has_a_bounded_number_of_rows) {
    std::string text = "belay-gpu-trace 1\ndevice GPU-1 0 1 - gpm X\nfields power_watts\n";
    for (size_t i = 0; i < kMostTraceRows; ++i) text += "row 0 0 -\n";
    EXPECT_EQ(parse_trace(text, "t").value().rows.size(), kMostTraceRows);
    auto more = parse_trace(text + "row 0 0 -\n", "t");
    ASSERT_FALSE(more);
    EXPECT_THAT(more.error().render(), HasSubstr("t:1000004:1: there are more than 1000000 rows"));
}

}  // namespace
}  // namespace belay::gpu
