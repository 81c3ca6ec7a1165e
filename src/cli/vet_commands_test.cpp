#include "cli/testing.h"
#include "core/file.h"
#include "core/json.h"
#include "core/process.h"
#include "stream/liveness.h"

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

// `belay vet …`, outside a job.
Outcome vet(std::vector<std::string> words) {
    unsetenv("SLURM_JOB_ID");
    unsetenv("SLURM_JOBID");
    words.insert(words.begin(), "vet");
    return belay(std::move(words));
}

class Protocol {
  public:
    explicit Protocol(const std::string& checks) {
        EXPECT_TRUE(core::replace_file(path(), "name: test\nchecks:\n" + checks));
    }
    std::string path(std::string_view name = "p.yaml") const { return directory_.path() / name; }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

TEST(cli, vet_run_in_both_forms) {
    Protocol fit("- {name: memory, type: mem.free, min: 1B}\n- {type: gpu.temp, severity: warning}\n");
    Outcome text = vet({"run", fit.path()});
    EXPECT_EQ(text.status, 0) << text.err;
    EXPECT_THAT(text.out, HasSubstr("unsupported (warning)"));
    EXPECT_THAT(text.out, HasSubstr("test: pass: 1 of 1 nodes are fit"));
    Outcome shown = vet(
        {"run", "--json", "--vetted", fit.path("vetted"), "--cordoned", fit.path("cordoned"), fit.path()});
    json value = core::parse_json(shown.out);
    EXPECT_EQ(value["protocol"], "test");
    EXPECT_EQ(value["verdict"], "pass");
    std::string node = value["vetted"].at(0);
    EXPECT_EQ(value["nodes"][0]["node"], node);
    EXPECT_EQ(node, core::environment_variable("SLURMD_NODENAME").value_or(stream::this_node()));
    for (const char* key :
         {"name", "type", "status", "severity", "device", "value", "unit", "limit", "reason", "seconds"})
        EXPECT_TRUE(value["nodes"][0]["checks"][0].contains(key)) << key;
    EXPECT_EQ(core::read_file(fit.path("vetted")).value(), node + "\n");
    EXPECT_EQ(core::read_file(fit.path("cordoned")).value(), "");
}

TEST(cli, vet_run_knows_wrong_outputs_before_it_checks) {
    Protocol slow("- {name: memory, type: mem.free, min: 1B}\n");
    const std::string nowhere = slow.path("none/vetted");
    for (const auto& words : {std::vector<std::string>{"--vetted", nowhere},
                              {"--vetted", slow.path("v"), "--cordoned", slow.path("v")}}) {
        std::vector<std::string> all{"run"};
        all.insert(all.end(), words.begin(), words.end());
        all.push_back(slow.path());
        Outcome wrong = vet(all);
        EXPECT_GE(wrong.status, 2);
        EXPECT_EQ(wrong.out, "");
        EXPECT_THAT(wrong.err, HasSubstr(words.size() > 2 ? words.back() : slow.path("none")));
    }
}

TEST(cli, vet_run_exit_statuses) {
    Protocol sick("- {name: memory, type: mem.free, min: 900TiB}\n");
    Outcome refused = vet({"run", "--json", sick.path()});
    EXPECT_EQ(refused.status, 1);
    EXPECT_EQ(core::parse_json(refused.out)["verdict"], "fail");
    EXPECT_EQ(vet({"run", "--need", "1", sick.path()}).status, 4);
    EXPECT_EQ(vet({"run", "--need", "2", sick.path()}).status, 2);
    EXPECT_EQ(vet({"run", "--need", "0", sick.path()}).status, 2);
    EXPECT_EQ(vet({"run", sick.path("none")}).status, 2);
    EXPECT_EQ(vet({"run", "--vetted", sick.path("no/such/directory"), sick.path()}).status, 2);
    Protocol wrong("- {type: mem.free, mim: 1B}\n");
    Outcome mistake = vet({"run", "--json", wrong.path()});
    EXPECT_EQ(mistake.status, 2);
    EXPECT_EQ(mistake.out, "");
    EXPECT_THAT(mistake.err, HasSubstr("p.yaml:3:20: unknown key of mem.free \"mim\""));
    EXPECT_THAT(mistake.err, HasSubstr("did you mean \"min\"?"));
}

TEST(cli, vet_list_has_every_type_with_its_parameters) {
    json types = core::parse_json(vet({"list", "--json"}).out);
    ASSERT_GT(types.size(), 40U);
    bool found = false;
    for (const json& type : types) {
        for (const char* key : {"type", "scope", "cost", "summary"}) EXPECT_TRUE(type[key].is_string());
        for (const json& parameter : type["parameters"])
            for (const char* key : {"name", "type", "unit", "default", "required", "range"})
                EXPECT_TRUE(parameter.contains(key)) << type << key;
        if (type["type"] != "fs.usage") continue;
        found = true;
        EXPECT_EQ(type["parameters"][0]["required"], true);
        EXPECT_EQ(type["parameters"][2]["default"], 0.85);
        EXPECT_EQ(type["parameters"][3]["default"], nullptr);
    }
    EXPECT_TRUE(found);
    EXPECT_THAT(vet({"list"}).out, HasSubstr("clock.offset"));
    EXPECT_THAT(vet({"list", "fs.usage"}).out, HasSubstr("min_free_inodes"));
    EXPECT_THAT(vet({"list", "net.pair_bandwidth"}).out, HasSubstr("10ms to 10s"));
    Outcome unknown = vet({"list", "fs.usag"});
    EXPECT_EQ(unknown.status, 2);
    EXPECT_THAT(unknown.err, HasSubstr("did you mean \"fs.usage\"?"));
}

TEST(cli, vet_show_fills_in_the_thresholds) {
    Protocol protocol("- {type: fs.usage, path: /tmp}\n- {type: gpu.cuda}\n");
    json shown = core::parse_json(vet({"show", "--json", protocol.path()}).out);
    EXPECT_EQ(shown["checks"][0]["parameters"]["crit"], 0.85);
    EXPECT_EQ(shown["checks"][0]["supported"], true);
    EXPECT_EQ(shown["checks"][1]["supported"], false);
    Outcome text = vet({"show", protocol.path()});
    EXPECT_THAT(text.out, HasSubstr("crit: 0.85"));
    EXPECT_THAT(text.out, HasSubstr("unsupported: GPU checks"));
}

}  // namespace
}  // namespace belay::cli
