// DCGM as a program meets it: a library found by dlopen, here one whose values the test sets.
#include "core/file.h"
#include "gpu/choose.h"
#include "gpu/dcgm.h"
#include "gpu/synthetic.h"

#include <cstdlib>
#include <dlfcn.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::gpu {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class HostEngine {
  public:
    explicit HostEngine(bool runs = true) : library_(dlopen(BELAY_FAKE_DCGM, RTLD_NOW)) {
        EXPECT_NE(library_, nullptr) << dlerror();
        function<void(int)>("fake_dcgm_engine")(runs ? 1 : 0);
        if (!runs) return;
        for (int gpu = 0; gpu < 2; ++gpu) {
            text(gpu, 54, "GPU-" + std::to_string(gpu));
            text(gpu, 50, "NVIDIA A100");
            text(gpu, 1, "535.1");
            whole(gpu, 52, 3 - gpu);
        }
    }
    ~HostEngine() {
        source.reset();
        dlclose(library_);
    }
    HostEngine(const HostEngine&) = delete;
    HostEngine& operator=(const HostEngine&) = delete;

    void whole(int gpu, int field, int64_t value, double age = 0) const {
        set(gpu, field, 'i', value, 0, "", age);
    }
    void real(int gpu, int field, double value, double age = 0) const {
        set(gpu, field, 'd', 0, value, "", age);
    }
    void text(int gpu, int field, const std::string& value) const {
        set(gpu, field, 's', 0, 0, value.c_str(), 1000);
    }
    void fail(int gpu, int field, int status) const {
        function<void(int, int, int)>("fake_dcgm_fail")(gpu, field, status);
    }
    void refuse(int field) const { function<void(int)>("fake_dcgm_refuse")(field); }
    void open(core::Duration interval = std::chrono::milliseconds(500)) {
        source = open_dcgm(BELAY_FAKE_DCGM, "127.0.0.1", interval).value();
        EXPECT_EQ(std::chrono::microseconds(function<long long()>("fake_dcgm_interval")()), interval);
    }
    std::unique_ptr<Source> source;

  private:
    template <typename Function>
    Function* function(const char* name) const {
        return reinterpret_cast<Function*>(dlsym(library_, name));
    }
    void set(int gpu, int field, char type, int64_t whole, double real, const char* text, double age) const {
        function<void(int, int, char, int64_t, double, const char*, double)>("fake_dcgm_set")(
            gpu, field, type, whole, real, text, age);
    }
    void* library_;
};

TEST(gpu, dcgm_tells_of_devices) {
    HostEngine engine;
    engine.real(0, 1001, 0.5);
    engine.open();
    ASSERT_EQ(engine.source->devices().size(), 2U);
    const Device& device = engine.source->devices()[1];
    EXPECT_EQ(device.uuid, "GPU-1");
    EXPECT_EQ(device.index, 2) << "NVML's, not DCGM's";
    EXPECT_EQ(device.name, "NVIDIA A100");
    EXPECT_EQ(device.driver, "535.1");
    EXPECT_TRUE(engine.source->devices()[0].profiling);
    EXPECT_FALSE(device.profiling);
    EXPECT_EQ(engine.source->name(), "dcgm");
}

TEST(gpu, dcgm_values_get_their_units) {
    HostEngine engine;
    engine.real(1, 1004, 0.75);
    engine.real(1, 1011, 5e9);
    engine.whole(1, 203, 40);
    engine.whole(1, 252, 3);
    engine.whole(1, 100, 1410);
    engine.whole(1, 156, 12'345);
    engine.real(1, 155, 399.5);
    engine.whole(1, 393, 2);
    engine.whole(1, 394, 1);
    engine.whole(1, 112, 4);
    engine.whole(1, 240, 1'500'000'000);
    engine.open();
    Reading reading = engine.source->read(1);
    EXPECT_EQ(reading[field("tensor_active_ratio")], 0.75);
    EXPECT_EQ(reading[field("nvlink_sent_bytes_per_second")], 5e9);
    EXPECT_EQ(reading[field("utilization_ratio")], 0.4);
    EXPECT_EQ(reading[field("memory_used_bytes")], 3.0 * 1024 * 1024);
    EXPECT_EQ(reading[field("clock_sm_hertz")], 1410e6);
    EXPECT_EQ(reading[field("energy_joules_total")], 12.345);
    EXPECT_EQ(reading[field("power_watts")], 399.5);
    EXPECT_EQ(reading[field("remapped_rows_total")], 3);
    EXPECT_EQ(reading[field("clock_event_reasons")], 4);
    EXPECT_EQ(reading[field("power_violation_seconds_total")], 1.5);
    EXPECT_TRUE(std::isnan(reading[field("sm_active_ratio")])) << "missing is not 0";
}

TEST(gpu, dcgm_blanks_and_stale_values_are_missing) {
    HostEngine engine;
    engine.real(0, 1002, dcgm::kBlankReal);
    engine.real(0, 1003, dcgm::kBlankReal + 3);
    engine.whole(0, 150, dcgm::kBlankInteger);
    engine.whole(0, 310, dcgm::kBlankInteger + 2);
    engine.real(0, 1005, 0.5, 60);
    engine.real(0, 1006, 0.5);
    engine.fail(0, 1006, dcgm::kNoPermission);
    engine.text(0, 140, "hot");
    engine.real(0, 1007, 0.25, 2);
    engine.open();
    Reading reading = engine.source->read(0);
    EXPECT_FALSE(reading.lost);
    for (size_t i = 0; i < kFieldCount; ++i)
        EXPECT_EQ(std::isnan(reading[i]), i != field("fp32_active_ratio")) << kFields[i].name;
}

// It looks as rarely as the recording does.
TEST(gpu, dcgm_values_of_a_slow_recording_are_not_stale) {
    for (const auto interval : {std::chrono::seconds(30), std::chrono::seconds(3600)}) {
        HostEngine engine;
        engine.real(0, 155, 400, core::to_seconds(interval));
        engine.real(0, 1004, 0.5, 2 * core::to_seconds(interval) + 1);
        engine.open(interval);
        Reading reading = engine.source->read(0);
        EXPECT_EQ(reading[field("power_watts")], 400);
        EXPECT_TRUE(std::isnan(reading[field("tensor_active_ratio")])) << "two looks are missed";
    }
}

TEST(gpu, dcgm_without_one_counter_has_the_others) {
    HostEngine engine;
    engine.real(0, 1002, 0.5);
    engine.real(0, 1016, 0.5);
    engine.refuse(1016);
    engine.open();
    Reading reading = engine.source->read(0);
    EXPECT_EQ(reading[field("sm_active_ratio")], 0.5);
    EXPECT_TRUE(std::isnan(reading[field("integer_active_ratio")])) << "it is not watched";
}

TEST(gpu, dcgm_tells_new_xids_once) {
    HostEngine engine;
    engine.whole(0, 230, 31, 100);
    engine.open();
    engine.source->read(0);
    EXPECT_THAT(engine.source->take_xids(), IsEmpty()) << "older than the job";
    engine.whole(0, 230, 79);
    engine.source->read(0);
    auto xids = engine.source->take_xids();
    ASSERT_EQ(xids.size(), 1U);
    EXPECT_EQ(xids[0].code, 79);
    EXPECT_EQ(xids[0].uuid, "GPU-0");
    engine.source->read(0);
    EXPECT_THAT(engine.source->take_xids(), IsEmpty());
}

TEST(gpu, dcgm_tells_of_a_lost_gpu) {
    HostEngine engine;
    engine.real(1, 155, 100);
    engine.open();
    engine.fail(0, 155, dcgm::kGpuIsLost);
    EXPECT_TRUE(engine.source->read(0).lost);
    EXPECT_EQ(engine.source->read(1)[field("power_watts")], 100);
}

TEST(gpu, without_dcgm_it_says_what_is_missing) {
    auto open = [](const char* library, const char* address) {
        auto source = open_dcgm(library, address, std::chrono::milliseconds(500));
        return source ? "opened" : source.error().message();
    };
    EXPECT_THAT(open("libno-such-dcgm.so", "127.0.0.1"), HasSubstr("DCGM is not there"));
    EXPECT_THAT(open("libc.so.6", "127.0.0.1"), HasSubstr("not a supported DCGM"));
    auto connect = [](std::vector<std::string> files) {
        auto dcgm = dcgm::Library::connect(files, "127.0.0.1");
        return dcgm ? "connected" : dcgm.error().render();
    };
    EXPECT_THAT(connect({"libno-such.so.4", "libno-such.so.3"}),
                AllOf(HasSubstr("DCGM is not there: libno-such.so.4: "), HasSubstr("; libno-such.so.3: "),
                      HasSubstr("dcgm.library")));
    EXPECT_THAT(connect({"libno-such.so.4", "libc.so.6"}),
                AllOf(HasSubstr("libc.so.6 is not a supported DCGM"), HasSubstr("dcgm.library")))
        << "the one that was found";
    HostEngine none(false);
    EXPECT_THAT(open(BELAY_FAKE_DCGM, "127.0.0.1"), HasSubstr("no host engine of DCGM answers at 127.0.0.1"));
}

// What NVML plays and whether a host engine runs, and who is then read.
TEST(gpu, the_source_that_knows_more_is_read) {
    struct Case {
        std::string_view kind;  // of the trace; empty: no driver
        bool counters;
        bool engine;
        const char* source;
        std::string_view expected;
        bool stands_in = false;
    };
    const Case cases[] = {
        {"gemm", true, true, "auto", "nvml"},         {"gemm", false, true, "auto", "dcgm"},
        {"gemm", false, false, "auto", "nvml", true}, {"gemm", false, true, "nvml", "nvml"},
        {"gemm", true, true, "dcgm", "dcgm"},         {"gemm", true, false, "dcgm", "none"},
        {"mig", false, true, "auto", "nvml"},         {"", false, true, "auto", "dcgm"},
        {"", false, false, "auto", "none"},
    };
    auto directory = core::TemporaryDirectory::create("gpu_test").value();
    for (const Case& c : cases) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", c.kind, c.counters, c.engine, c.source));
        HostEngine engine(c.engine);
        SourceChoice choice{.source = c.source,
                            .nvml_library = "libno-such-nvml.so",
                            .dcgm_library = BELAY_FAKE_DCGM,
                            .interval = std::chrono::milliseconds(500)};
        if (!c.kind.empty()) {
            Trace trace = synthetic_trace(c.kind, {.seconds = 5}).value();
            for (Device& device : trace.devices) device.profiling = c.counters;
            ASSERT_TRUE(core::replace_file(directory.path() / "trace", format_trace(trace)));
            setenv("BELAY_GPU_TRACE", (directory.path() / "trace").c_str(), 1);
            choice.nvml_library = BELAY_NVML_REPLAY;
        }
        auto source = open_source(choice);
        EXPECT_EQ(source ? (*source)->name() : "none", c.expected);
        EXPECT_EQ(source && (*source)->stands_in_because(), c.stands_in);
        if (!source && c.source == std::string_view("auto")) {
            EXPECT_EQ(source.error().cause(), core::Cause::kNotFound) << "NVML's";
            EXPECT_NE(source.error().message().find("DCGM"), std::string::npos) << source.error().message();
        }
    }
    unsetenv("BELAY_GPU_TRACE");
    auto wrong = open_source({.source = "rocm"});
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().kind(), core::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace belay::gpu
