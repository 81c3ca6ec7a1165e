#include "cli/testing.h"
#include "core/file.h"
#include "core/json.h"
#include "gpu/trace.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::cli {
namespace {

using cli::testing::belay;
using cli::testing::Outcome;
using nlohmann::json;
using ::testing::HasSubstr;

Outcome gpu_trace(std::vector<std::string> words) {
    words.insert(words.begin(), {"record", "gpu-trace"});
    return belay(std::move(words));
}

class Workspace {
  public:
    std::string file(std::string_view name = "t.trace") const { return directory_.path() / name; }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

gpu::Trace read(const std::string& file) {
    return gpu::parse_trace(core::read_file(file).value(), file).value();
}

TEST(cli, gpu_trace_writes_what_nobody_recorded) {
    Workspace workspace;
    Outcome made = gpu_trace({"-o", workspace.file(), "--synthetic", "training", "--gpus", "2", "--seconds",
                              "5", "--interval", "500ms", "--json"});
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_EQ(core::parse_json(made.out),
              (json{{"file", workspace.file()}, {"devices", 2}, {"rows", 20}, {"seconds", 5.0}}));
    gpu::Trace trace = read(workspace.file());
    EXPECT_EQ(trace.devices.size(), 2U);
    EXPECT_EQ(trace.rows.size(), 20U);
    Outcome again = gpu_trace({"-o", workspace.file(), "--synthetic", "idle"});
    EXPECT_EQ(again.status, 2);
    EXPECT_THAT(again.err, HasSubstr("exists already"));
    EXPECT_EQ(read(workspace.file()).rows.size(), 20U) << "it stays as it was";
}

TEST(cli, gpu_trace_records_what_a_library_says) {
    Workspace workspace;
    ASSERT_EQ(gpu_trace({"-o", workspace.file("played"), "--synthetic", "gemm", "--interval", "10ms"}).status,
              0);
    setenv("BELAY_GPU_TRACE", workspace.file("played").c_str(), 1);
    setenv("BELAY_NVML_LIBRARY", BELAY_NVML_REPLAY, 1);
    Outcome made = gpu_trace({"-o", workspace.file(), "--interval", "50ms", "--for", "300ms"});
    unsetenv("BELAY_NVML_LIBRARY");
    unsetenv("BELAY_GPU_TRACE");
    ASSERT_EQ(made.status, 0) << made.err;
    EXPECT_THAT(made.out, HasSubstr(" rows of 1 GPU over "));
    gpu::Trace trace = read(workspace.file());
    ASSERT_GE(trace.rows.size(), 1U);
    EXPECT_EQ(trace.devices[0].name, "Synthetic GPU 80GB");
    EXPECT_EQ(trace.facts_of(0)[gpu::fact("nvlinks")], 18);
    EXPECT_EQ(trace.rows.back().reading[gpu::field("clock_sm_hertz")], 1755e6);
}

TEST(cli, gpu_trace_names_its_kinds) {
    Outcome shown = gpu_trace({"--list", "--json"});
    ASSERT_EQ(shown.status, 0);
    bool lost = false;
    for (const json& kind : core::parse_json(shown.out)) lost = lost || kind["kind"] == "lost";
    EXPECT_TRUE(lost);
    EXPECT_THAT(gpu_trace({"--list"}).out, HasSubstr("throttling"));
}

TEST(cli, gpu_trace_refuses_what_is_wrong) {
    struct Case {
        std::vector<std::string> words;
        const char* message;
    };
    Workspace workspace;
    const std::string file = workspace.file();
    const Case cases[] = {
        {{}, "no file is named"},
        {{"-o", file, "--synthetic", "gem"}, "there is no synthetic trace \"gem\""},
        {{"-o", file, "--gpus", "2"}, "--gpus is only for synthetic traces"},
        {{"-o", file, "--seconds", "2"}, "--seconds is only for synthetic traces"},
        {{"-o", file, "--synthetic", "idle", "--for", "1s"}, "--for is for recordings"},
        {{"-o", file, "--synthetic", "idle", "--gpus", "0"}, "it must be 1 to 64"},
        {{"-o", file, "--synthetic", "idle", "--gpus", "two"}, "--gpus"},
        {{"-o", file, "--synthetic", "idle", "--seconds", "-1"}, "it must be at least 1"},
        {{"-o", file, "--synthetic", "idle", "--seconds", "nan"}, "\"nan\" is not a number"},
        {{"-o", file, "--synthetic", "idle", "--seconds", "1e9"}, "more than the 500000"},
        {{"-o", file, "--interval", "1ms"}, "the interval must be between 10 ms and 1 h"},
        {{"-o", file, "--interval", "1"}, "--interval"},
        {{"-o", file, "--for", "0s"}, "more than 0"},
    };
    for (const Case& c : cases) {
        SCOPED_TRACE(c.message);
        Outcome outcome = gpu_trace(c.words);
        EXPECT_EQ(outcome.status, 2);
        EXPECT_EQ(outcome.out, "");
        EXPECT_THAT(outcome.err, HasSubstr(c.message));
        EXPECT_FALSE(std::filesystem::exists(file));
    }
    setenv("BELAY_NVML_LIBRARY", "libno-such-nvml.so", 1);
    Outcome none = gpu_trace({"-o", file});
    unsetenv("BELAY_NVML_LIBRARY");
    EXPECT_EQ(none.status, 3);
    EXPECT_THAT(none.err, HasSubstr("NVML is not there"));
    EXPECT_FALSE(std::filesystem::exists(file));
}

}  // namespace
}  // namespace belay::cli
