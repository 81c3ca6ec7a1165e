// NVML as a program meets it: a library found by dlopen, here one that plays a trace.
#include "core/file.h"
#include "core/work.h"
#include "gpu/library_file.h"
#include "gpu/mig.h"
#include "gpu/nvml.h"
#include "gpu/source.h"
#include "gpu/synthetic.h"

#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::gpu {
namespace {

using ::testing::HasSubstr;

class Replay {
  public:
    Replay(std::string_view kind, const SyntheticOptions& options)
        : Replay(synthetic_trace(kind, options).value()) {}
    explicit Replay(const Trace& trace) : directory_(core::TemporaryDirectory::create("gpu_test").value()) {
        auto path = directory_.path() / "trace";
        EXPECT_TRUE(core::replace_file(path, format_trace(trace)));
        setenv("BELAY_GPU_TRACE", path.c_str(), 1);
        library_ = dlopen(BELAY_NVML_REPLAY, RTLD_NOW);
        EXPECT_NE(library_, nullptr) << dlerror();
        source = open_nvml(BELAY_NVML_REPLAY).value();
    }
    ~Replay() {
        source.reset();
        dlclose(library_);
        unsetenv("BELAY_GPU_TRACE");
    }
    Reading read(double seconds, size_t device = 0) {
        reinterpret_cast<void (*)(double)>(dlsym(library_, "belay_gpu_trace_stand_at"))(seconds);
        return source->read(device);
    }
    std::unique_ptr<Source> source;

  private:
    core::TemporaryDirectory directory_;
    void* library_ = nullptr;
};

TEST(gpu, nvml_tells_of_devices_and_their_readings) {
    Replay replay("gemm", {.seconds = 10, .gpus = 2});
    ASSERT_EQ(replay.source->devices().size(), 2U);
    const Device& device = replay.source->devices()[1];
    EXPECT_EQ(device.uuid, "GPU-00000000-0000-0000-0000-000000000001");
    EXPECT_EQ(device.index, 1);
    EXPECT_EQ(device.name, "Synthetic GPU 80GB");
    EXPECT_EQ(device.driver, "0.0");
    EXPECT_TRUE(device.profiling);
    EXPECT_EQ(device.weight, 1);
    replay.read(1, 1);
    Reading reading = replay.read(2, 1);
    EXPECT_NEAR(reading[field("tensor_active_ratio")], 0.9, 0.05);
    EXPECT_NEAR(reading[field("dram_active_ratio")], 0.3, 0.02);
    EXPECT_EQ(reading[field("clock_sm_hertz")], 1755e6);
    EXPECT_EQ(reading[field("utilization_ratio")], 1);
    EXPECT_EQ(reading[field("memory_total_bytes")], 80.0 * 1024 * 1024 * 1024);
    EXPECT_NEAR(reading[field("power_watts")], 690, 40);
    EXPECT_GT(reading[field("energy_joules_total")], 1000);
    EXPECT_EQ(reading[field("memory_temperature_celsius")], 74);
    EXPECT_EQ(reading[field("processes")], 1);
    EXPECT_EQ(reading[field("remap_failed")], 0);
    EXPECT_TRUE(std::isnan(reading[field("c2c_sent_bytes_per_second")])) << "missing is not 0";
}

TEST(gpu, nvml_tells_what_lowered_the_clocks_and_what_links_and_tensor_pipes_did) {
    Trace trace{.devices = {{.uuid = "GPU-0", .name = "NVIDIA H100", .profiling = true}}};
    for (double seconds : {0.0, 1.0, 2.0}) {
        TraceRow row{.seconds = seconds, .reading = {}};
        row.reading[field("power_violation_seconds_total")] = 12.25 + seconds;
        row.reading[field("thermal_violation_seconds_total")] = 0.5;
        row.reading[field("nvlink_errors_total")] = 7;
        row.reading[field("tensor_half_active_ratio")] = 0.5;
        row.reading[field("tensor_integer_active_ratio")] = 0.25;
        row.reading[field("tensor_double_active_ratio")] = 0;
        trace.rows.push_back(row);
    }
    Replay replay(trace);
    replay.read(1);
    Reading reading = replay.read(2);
    EXPECT_DOUBLE_EQ(reading[field("power_violation_seconds_total")], 14.25);
    EXPECT_DOUBLE_EQ(reading[field("thermal_violation_seconds_total")], 0.5);
    EXPECT_EQ(reading[field("nvlink_errors_total")], 7);
    EXPECT_DOUBLE_EQ(reading[field("tensor_half_active_ratio")], 0.5);
    EXPECT_DOUBLE_EQ(reading[field("tensor_integer_active_ratio")], 0.25);
    EXPECT_EQ(reading[field("tensor_double_active_ratio")], 0);
    Replay other("gemm", {.seconds = 10});
    EXPECT_TRUE(std::isnan(other.read(2)[field("power_violation_seconds_total")]));
    EXPECT_TRUE(std::isnan(other.read(2)[field("nvlink_errors_total")])) << "missing is not 0";
}

TEST(gpu, nvml_tells_the_limits_of_a_device) {
    Replay replay("lost", {.seconds = 30, .gpus = 2});
    replay.read(1);
    Facts facts = replay.source->facts(0);
    EXPECT_EQ(facts[fact("slowdown_celsius")], 87);
    EXPECT_EQ(facts[fact("clock_sm_application_hertz")], 1980e6);
    EXPECT_EQ(facts[fact("clock_memory_max_hertz")], 2619e6);
    EXPECT_EQ(facts[fact("pcie_generation_max")], 5);
    EXPECT_EQ(facts[fact("pcie_width_max")], 16);
    EXPECT_EQ(facts[fact("nvlinks")], 18);
    EXPECT_EQ(facts[fact("nvlinks_down")], 0);
    EXPECT_EQ(facts[fact("recovery_action")], 0);
    EXPECT_EQ(facts[fact("retired_pages")], 0);
    replay.read(25);
    for (double value : replay.source->facts(0).values) EXPECT_TRUE(std::isnan(value)) << "it is lost";
    EXPECT_EQ(replay.source->facts(1)[fact("nvlinks")], 18);
}

TEST(gpu, before_the_first_row_nothing_is_known) {
    Replay replay("gemm", {.seconds = 10});
    Reading reading = replay.read(0.5);
    EXPECT_FALSE(reading.lost);
    for (double value : {reading[field("power_watts")], reading[field("clock_sm_hertz")]})
        EXPECT_TRUE(std::isnan(value));
}

TEST(gpu, slices_are_devices) {
    Replay replay("mig", {.seconds = 20});
    ASSERT_EQ(replay.source->devices().size(), 3U);
    EXPECT_EQ(replay.source->devices()[0].mig_profile, "3g.30gb");
    EXPECT_NEAR(replay.source->devices()[1].weight, 2.0 / 7, 1e-12);
    replay.read(10, 0);
    replay.read(10, 1);
    EXPECT_GT(replay.read(12, 0)[field("tensor_active_ratio")], 0.4);
    EXPECT_EQ(replay.read(12, 1)[field("tensor_active_ratio")], 0);
}

// As an H200 is cut: 1g.18gb has 16 GiB, and two compute instances share one GPU instance.
TEST(gpu, slices_are_called_what_the_driver_calls_them) {
    Trace trace{.driver = "560.1"};
    for (auto [profile, slices] : {std::pair("1g.18gb", 1), std::pair("1c.2g.35gb", 1),
                                   std::pair("1c.2g.35gb", 1), std::pair("3g.71gb", 3)})
        trace.devices.push_back({.uuid = fmt::format("MIG-{}", trace.devices.size()),
                                 .name = "NVIDIA H200",
                                 .mig_profile = profile,
                                 .weight = slices / 7.0});
    TraceRow row;
    row.reading[field("memory_total_bytes")] = 16.0 * 1024 * 1024 * 1024;
    trace.rows.push_back(row);
    Replay replay(trace);
    const std::vector<Device>& devices = replay.source->devices();
    ASSERT_EQ(devices.size(), trace.devices.size());
    for (size_t i = 0; i < devices.size(); ++i) {
        EXPECT_EQ(devices[i].name, "NVIDIA H200");
        EXPECT_EQ(devices[i].mig_profile, trace.devices[i].mig_profile);
        EXPECT_EQ(devices[i].weight, trace.devices[i].weight) << devices[i].mig_profile;
    }
}

TEST(gpu, slices_without_a_profile_in_their_name_get_one_from_their_size) {
    nvml::DeviceAttributes whole{.gpu_slices = 3, .compute_slices = 3, .memory_mib = 40192};
    EXPECT_EQ(mig_profile("NVIDIA H100 MIG 3g.40gb", whole), "3g.40gb");
    EXPECT_EQ(mig_profile("NVIDIA H100 MIG 1g.10gb+me", whole), "1g.10gb+me");
    for (const char* name : {"", "NVIDIA H100", "NVIDIA H100 MIG "})
        EXPECT_EQ(mig_profile(name, whole), "3g.40gb") << name;
    nvml::DeviceAttributes part{.gpu_slices = 3, .compute_slices = 1, .memory_mib = 40192};
    EXPECT_EQ(mig_profile("", part), "1c.3g.40gb");
    EXPECT_EQ(mig_weight(part, 7), 1.0 / 7);
    EXPECT_EQ(mig_weight(whole, 4), 3.0 / 4);
    EXPECT_EQ(mig_weight({}, 7), 1) << "the driver does not tell";
}

TEST(gpu, a_device_that_is_lost_does_not_hide_the_others) {
    Replay replay("lost", {.seconds = 30, .gpus = 2});
    replay.read(18, 0);
    EXPECT_FALSE(replay.read(19, 0).lost);
    EXPECT_TRUE(replay.source->take_xids().empty());
    EXPECT_TRUE(replay.read(25, 0).lost);
    EXPECT_FALSE(replay.read(25, 1).lost);
    auto xids = replay.source->take_xids();
    ASSERT_EQ(xids.size(), 1U);
    EXPECT_EQ(xids[0].code, 79);
    EXPECT_EQ(xids[0].uuid, replay.source->devices()[0].uuid);
    EXPECT_TRUE(replay.source->take_xids().empty());
}

TEST(gpu, without_nvml_it_says_what_is_missing) {
    auto none = open_nvml("libno-such-nvml.so");
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().kind(), core::ErrorKind::kSystem);
    EXPECT_THAT(none.error().message(), HasSubstr("NVML is not there"));
    auto other = open_nvml("libc.so.6");
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().message(), HasSubstr("not a supported NVML"));
    unsetenv("BELAY_GPU_TRACE");
    auto no_trace = open_nvml(BELAY_NVML_REPLAY);
    ASSERT_FALSE(no_trace);
    EXPECT_THAT(no_trace.error().message(), HasSubstr("the driver is not loaded"));
    EXPECT_THAT(no_trace.error().message(), HasSubstr("BELAY_GPU_TRACE"));
}

// The loader skips it too.
TEST(gpu, a_directory_that_may_not_be_searched_holds_no_driver) {
    const auto directory = core::TemporaryDirectory::create("gpu_test").value();
    ASSERT_EQ(chmod(directory.path().c_str(), 0), 0);
    auto cause = core::run_within(std::chrono::minutes(1), {}, [&]() -> core::Result<std::string> {
        if (geteuid() == 0 && setuid(65534) != 0) return core::errno_error(errno, "setuid");
        return std::string(
            core::cause_name(cause_of_failed_load("libnvidia-ml.so.1", {directory.path().string()})));
    });
    chmod(directory.path().c_str(), 0700);
    ASSERT_TRUE(cause) << cause.error().render();
    EXPECT_EQ(*cause, core::cause_name(core::Cause::kNotFound));
}

TEST(gpu, a_driver_that_is_there_and_fails_is_not_a_driver_that_is_missing) {
    using core::Cause;
    EXPECT_EQ(open_nvml("libno-such-nvml.so").error().cause(), Cause::kNotFound);
    EXPECT_EQ(open_nvml("/no/such/nvml.so").error().cause(), Cause::kNotFound);
    EXPECT_EQ(open_nvml("libc.so.6").error().cause(), Cause::kOther);
    EXPECT_EQ(cause_of_failed_load("libc.so.6"), Cause::kOther) << "it is there, so another thing is wrong";
    unsetenv("BELAY_GPU_TRACE");
    EXPECT_EQ(open_nvml(BELAY_NVML_REPLAY).error().cause(), Cause::kNotFound);

    auto directory = core::TemporaryDirectory::create("gpu_test").value();
    const auto file = directory.path() / "libnvidia-ml.so.1";
    ASSERT_TRUE(core::replace_file(file, "half a library"));
    auto broken = open_nvml(file);
    ASSERT_FALSE(broken);
    EXPECT_THAT(broken.error().message(), HasSubstr("NVML cannot be loaded"));
    EXPECT_EQ(broken.error().cause(), Cause::kOther);

    setenv("BELAY_GPU_TRACE", file.c_str(), 1);
    auto does_not_start = open_nvml(BELAY_NVML_REPLAY);
    unsetenv("BELAY_GPU_TRACE");
    ASSERT_FALSE(does_not_start);
    EXPECT_THAT(does_not_start.error().message(), HasSubstr("NVML does not start"));
    EXPECT_EQ(does_not_start.error().cause(), Cause::kOther);

    EXPECT_EQ(nvml::cause_of(nvml::kDriverNotLoaded), Cause::kNotFound);
    EXPECT_EQ(nvml::cause_of(nvml::kNoPermission), Cause::kDenied);
    EXPECT_EQ(nvml::cause_of(nvml::kTimeout), Cause::kTimedOut);
    EXPECT_EQ(nvml::cause_of(nvml::kFunctionNotFound), Cause::kOther) << "an old driver is one";
}

}  // namespace
}  // namespace belay::gpu
