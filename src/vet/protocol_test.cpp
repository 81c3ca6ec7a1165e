#include "vet/protocol.h"

#include "core/yaml.h"

#include <algorithm>
#include <cerrno>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::vet {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Protocol accepted(const std::string& text) {
    auto protocol = parse_protocol(text, "p.yaml");
    EXPECT_TRUE(protocol) << protocol.error().render();
    return protocol ? *protocol : Protocol{};
}

std::string refused(const std::string& text) {
    auto protocol = parse_protocol(text, "p.yaml");
    if (protocol) return "accepted";
    EXPECT_EQ(protocol.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_TRUE(protocol.error().position());
    return protocol.error().render();
}

TEST(vet, why_a_protocol_cannot_be_read_stays_known) {
    struct Row {
        const char* path;
        core::ErrorKind kind;
        core::Cause cause;
        int errno_value;
    };
    for (const Row& row :
         {Row{"/no/such/protocol.yaml", core::ErrorKind::kBadInput, core::Cause::kNotFound, ENOENT},
          Row{"/", core::ErrorKind::kSystem, core::Cause::kOther, EISDIR}}) {
        auto protocol = load_protocol(row.path);
        ASSERT_FALSE(protocol) << row.path;
        EXPECT_EQ(protocol.error().front().kind(), row.kind) << row.path;
        EXPECT_EQ(protocol.error().front().cause(), row.cause) << row.path;
        EXPECT_EQ(protocol.error().front().errno_value(), row.errno_value) << row.path;
        EXPECT_THAT(protocol.error().front().hint_text(), HasSubstr("belay vet list"));
    }
}

std::string with_check(const std::string& check) {
    return "name: p\nchecks:\n  - " + check + "\n";
}

TEST(vet, protocol_of_belay_form) {
    Protocol protocol = accepted(R"(name: before-training
timeout: 90s
checks:
  - type: mem.free
    name: enough memory
    min: 64GiB
  - {type: fs.usage, path: /scratch, crit: "90 %", severity: warning, timeout: 2s}
  - type: clock.offset
)");
    EXPECT_EQ(protocol.name, "before-training");
    EXPECT_EQ(protocol.timeout, core::Duration(std::chrono::seconds(90)));
    ASSERT_EQ(protocol.checks.size(), 3U);
    EXPECT_EQ(protocol.checks[0].name, "enough memory");
    EXPECT_EQ(protocol.checks[0].severity, Severity::kEssential);
    EXPECT_EQ(protocol.checks[0].get<core::ByteSize>("min")->bytes, uint64_t{64} << 30);
    EXPECT_EQ(protocol.checks[1].name, "fs.usage");
    EXPECT_EQ(protocol.checks[1].severity, Severity::kWarning);
    EXPECT_EQ(protocol.checks[1].timeout, core::Duration(std::chrono::seconds(2)));
    EXPECT_DOUBLE_EQ(*protocol.checks[1].get<double>("crit"), 0.9);
    EXPECT_DOUBLE_EQ(*protocol.checks[1].get<double>("warn"), 0.8) << "the default";
    EXPECT_FALSE(protocol.checks[1].get<core::ByteSize>("min_free"));
    EXPECT_EQ(protocol.checks[2].type->scope, Scope::kStep);
    EXPECT_THAT(protocol.warnings, testing::IsEmpty());
}

TEST(vet, protocol_mistakes_have_a_place_and_a_hint) {
    EXPECT_EQ(refused("name: p\nchecks:\n  - type: mem.fre\n"),
              "belay: p.yaml:3:11: unknown check type \"mem.fre\"\n      - type: mem.fre\n              ^\n"
              "hint: did you mean \"mem.free\"?\n");
    EXPECT_THAT(refused(with_check("{type: mem.free, mn: 1GiB}")),
                HasSubstr("p.yaml:3:22: unknown key of mem.free \"mn\""));
    EXPECT_THAT(refused(with_check("{type: mem.free, mn: 1GiB}")), HasSubstr("did you mean \"min\"?"));
    EXPECT_THAT(refused(with_check("{type: mem.free, min: 1G}")),
                HasSubstr("p.yaml:3:27: min: size \"1G\": unknown unit"));
    EXPECT_THAT(refused(with_check("{type: fs.mount}")), HasSubstr("fs.mount needs path"));
    EXPECT_THAT(refused(with_check("{type: fs.mount, path: 5}")),
                HasSubstr("path: must be a text, not the integer 5"));
    EXPECT_THAT(refused(with_check("{type: fs.usage, path: /, crit: 85}")), HasSubstr("must be a share"));
    EXPECT_THAT(refused(with_check("{type: fs.usage, path: /, severity: fatal}")),
                HasSubstr("severity must be essential or warning, not the text \"fatal\""));
    EXPECT_THAT(refused(with_check("{type: net.tcp, host: a, port: 22.5}")),
                HasSubstr("must be a whole number"));
    EXPECT_THAT(refused(with_check("{type: net.tcp, host: a, port: 22, timeout: 3}")),
                HasSubstr("has no unit"));
    EXPECT_THAT(refused(with_check("{type: net.tcp, host: a, port: 22, timeout: 0s}")),
                HasSubstr("more than 0"));
    EXPECT_THAT(refused(with_check("{type: host.kmsg, patterns: ['(']}")),
                HasSubstr("not a regular expression"));
    EXPECT_THAT(refused(with_check("{name: a}")), HasSubstr("the check has no type"));
    EXPECT_THAT(refused(with_check("mem.free")), HasSubstr("a check is a map with type"));
}

TEST(vet, protocol_numbers_may_have_their_own_unit) {
    for (const char* text : {"50", "50.0", "50 GFLOP/s", "'50GFLOP/s '"})
        EXPECT_EQ(accepted(with_check(fmt::format("{{type: cpu.gemm, min: {}}}", text)))
                      .checks.at(0)
                      .get<double>("min"),
                  50)
            << text;
    for (const char* text : {"50 TFLOP/s", "GFLOP/s", "50 MHz", "nan GFLOP/s", "\"\""})
        EXPECT_THAT(refused(with_check(fmt::format("{{type: cpu.gemm, min: {}}}", text))),
                    HasSubstr("min: must be a number of GFLOP/s, not the text"))
            << text;
}

// Anything but what was written would be measured instead.
TEST(vet, protocol_values_out_of_range_are_refused) {
    EXPECT_THAT(refused(with_check("{type: net.tcp, host: a, port: 99999}")),
                HasSubstr("p.yaml:3:36: port: must be 1 to 65535, not 99999"));
    EXPECT_THAT(refused(with_check("{type: net.pair_bandwidth, duration: 1h}")),
                HasSubstr("duration: must be 10ms to 10s, not 1h"));
    EXPECT_THAT(refused(with_check("{type: net.pair_bandwidth, streams: 17}")),
                HasSubstr("streams: must be 1 to 16, not 17"));
    EXPECT_THAT(refused(with_check("{type: cpu.gemm, size: 5}")),
                HasSubstr("size: must be 16 to 8192, not 5"));
    EXPECT_THAT(refused(with_check("{type: cpu.gemm, threads: 0}")), HasSubstr("must be 1 to 1024, not 0"));
    EXPECT_THAT(refused(with_check("{type: cpu.stream, repeats: 1001}")),
                HasSubstr("must be 1 to 1000, not 1001"));
    EXPECT_THAT(refused(with_check("{type: cpu.stream, size: 65GiB}")),
                HasSubstr("must be 1KiB to 64GiB, not 65GiB"));
    EXPECT_THAT(refused(with_check("{type: fs.write, path: /tmp, size: 0B}")),
                HasSubstr("p.yaml:3:40: size: must be 1B to 1TiB, not 0B"));
    EXPECT_THAT(refused(with_check("{type: proc.zombie, max: -1}")), HasSubstr("must be at least 0, not -1"));
    EXPECT_THAT(refused("name: p\nevals:\n- {name: e, type: internet_access.InternetAccessEval, host: h, "
                        "port: 0}\n"),
                HasSubstr("must be 1 to 65535, not 0"));
    EXPECT_EQ(accepted(with_check("{type: net.pair_bandwidth, streams: 16, duration: 10ms}"))
                  .checks.at(0)
                  .get<int64_t>("streams"),
              16);
}

TEST(vet, protocol_checks_against_nothing_are_refused) {
    EXPECT_THAT(refused(with_check("{type: gpu.xid, classes: [reset-gpu]}")),
                HasSubstr("p.yaml:3:30: classes: \"reset-gpu\" is not a class of the table of XIDs"));
    EXPECT_THAT(refused(with_check("{type: gpu.xid, classes: [reboot, reset-gpu]}")),
                HasSubstr("did you mean \"reset_gpu\"?"));
    EXPECT_THAT(refused(with_check("{type: gpu.xid, classes: []}")),
                HasSubstr("p.yaml:3:30: classes: is empty"));
    EXPECT_THAT(refused(with_check("{type: host.kmsg, patterns: []}")),
                HasSubstr("p.yaml:3:33: patterns: is empty"));
    EXPECT_THAT(refused(with_check("{type: env.var, expected: {}}")), HasSubstr("expected: is empty"));
    EXPECT_THAT(refused(with_check("{type: host.service, units: []}")), HasSubstr("units: is empty"));
    EXPECT_EQ(accepted(with_check("{type: gpu.xid, classes: [reboot, other]}")).checks.size(), 1U);
    // vetnode's default is no variable: a file may say so, but nothing passes by it.
    accepted("name: p\nevals:\n- {name: e, type: env_var_eval.EnvVarEval, expected: {}}\n");
}

// A report, which knows checks by their names, must not merge two of them.
TEST(vet, protocol_names_are_distinct) {
    EXPECT_THAT(refused("name: p\nchecks:\n- {name: a, type: gpu.xid}\n- {name: a, type: proc.zombie}\n"),
                HasSubstr("p.yaml:4:10: the name \"a\" stands in line 3 already"));
    auto names = [](const Protocol& protocol) {
        std::vector<std::string> out;
        for (const Check& check : protocol.checks) out.push_back(check.name);
        return out;
    };
    EXPECT_THAT(names(accepted("name: p\nchecks:\n- type: gpu.xid\n- type: gpu.xid\n- type: proc.zombie\n"
                               "- {name: gpu.xid 2, type: gpu.xid}\n- type: gpu.xid\n")),
                testing::ElementsAre("gpu.xid", "gpu.xid 3", "proc.zombie", "gpu.xid 2", "gpu.xid 4"));
    const std::string eval = "- {name: e, type: env_var_eval.EnvVarEval, expected: {A: null}}\n";
    Protocol vetnode = accepted("name: p\nevals:\n" + eval + eval);
    EXPECT_THAT(names(vetnode), testing::ElementsAre("e", "e 2")) << "vetnode takes such files";
    ASSERT_EQ(vetnode.warnings.size(), 1U);
    EXPECT_THAT(vetnode.warnings[0].render(), HasSubstr("this check is reported as \"e 2\""));
}

TEST(vet, protocol_that_would_check_nothing_is_refused) {
    EXPECT_THAT(refused(""), HasSubstr("a protocol is a map"));
    EXPECT_THAT(refused("name: p\n"), HasSubstr("has no checks"));
    EXPECT_THAT(refused("name: p\nchecks: []\n"), HasSubstr("checks is empty"));
    EXPECT_THAT(refused("name: p\nchecks:\n"), HasSubstr("checks must be a list, not nothing"));
    EXPECT_THAT(refused("name: p\nevals: []\n"), HasSubstr("evals is empty"));
    EXPECT_THAT(refused("checks: [{type: mem.free}]\n"), HasSubstr("the protocol has no name"));
    EXPECT_THAT(refused("name: p\nchecks: [{type: mem.free}]\nevals: []\n"),
                HasSubstr("unknown key \"evals\""));
    EXPECT_THAT(refused("name: p\ncheks: [{type: mem.free}]\n"), HasSubstr("did you mean \"checks\"?"));
    EXPECT_THAT(refused("name: p\nchecks: [{type: mem.free}]\n---\nname: q\n"),
                HasSubstr("unexpected content after the end"));
}

TEST(vet, protocol_that_is_not_yaml_is_refused) {
    EXPECT_THAT(refused("name: [p\n"), HasSubstr("p.yaml:2:1: end of sequence flow not found"));
    EXPECT_THAT(refused("name: p\nname: q\n"), HasSubstr("p.yaml:2:1: the key \"name\" stands twice"));
    EXPECT_THAT(refused(std::string(core::kMaxYamlBytes + 1, ' ')), HasSubstr("larger than 256 KiB"));
}

// Column numbers count bytes, and the caret stands below the place.
TEST(vet, protocol_places_after_letters_of_more_bytes) {
    EXPECT_THAT(refused("name: p\nchecks: [{name: \"Größe\", type: mem.fre}]\n"),
                HasSubstr("p.yaml:2:34: unknown check type"));
}

TEST(vet, protocol_of_vetnode) {
    Protocol protocol = accepted(R"(name: alps-ml
scheduler: slurm
pip: {index_url: null}
evals:
- name: Check GPU
  type: vetnode.evaluations.gpu_eval.GPUEval
  requirements: []
  max_temp: "30"
  max_used_memory: 0.2
- name: Variables
  type: vetnode.evaluations.env_var_eval.EnvVarEval
  expected: {HOME: null, LANG: "C"}
- name: NCCL
  type: vetnode.evaluations.nccl_lib_eval.NcclLibEval
  scheduler: slurm
  topology: internode
  payload: 8 GB
  min_bandwidth: 15 GB/s
  warmup: {payload: 256 MB, runs: 3}
  requirements: [cuda-python, numpy]
)");
    ASSERT_EQ(protocol.checks.size(), 3U);
    EXPECT_EQ(protocol.checks[0].get<int64_t>("max_temp"), 30);
    EXPECT_EQ(protocol.checks[2].get<core::ByteSize>("payload")->bytes, uint64_t{8} << 30)
        << "powers of 1024";
    EXPECT_EQ(protocol.checks[2].get<core::Bandwidth>("min_bandwidth")->bytes_per_second(), 15.0 * (1 << 30));
    EXPECT_THAT(to_text(protocol.checks[2].parameters.at("min_bandwidth")), HasSubstr("16.1 GB/s"))
        << "both figures";
    for (const Check& check : protocol.checks) EXPECT_EQ(check.severity, Severity::kEssential);
}

TEST(vet, protocol_of_the_paper) {
    Protocol protocol = accepted(R"(name: Vetting
evals:
- {name: gpu, type: vetnode.evaluations.gpu_eval.GPUEval, max_temp: 30, max_used_memory: 0.2}
- name: nccl
  type: vetnode.evaluations.nccl_eval.NCCLEval
  payload: 4 GB
  method: allreduce
  min_bandwidth: 90.0
  requirements:
    - torch
    - ["--index-url", "wherever"]
    - numpy
- name: cuda
  type: cuda_eval.CUDAEval
  requirements: [cuda-python]
)");
    ASSERT_EQ(protocol.checks.size(), 3U);
    EXPECT_EQ(protocol.checks[1].get<core::Bandwidth>("min_bandwidth")->bytes_per_second(), 90e9);
    for (const Check& check : protocol.checks)
        EXPECT_NE(check.type->unsupported_because.empty(), check.type->measure == nullptr)
            << "nothing passes that was not measured";
}

TEST(vet, protocol_of_vetnode_mistakes) {
    auto eval = [](const std::string& keys) { return "name: p\nevals:\n- {name: e, " + keys + "}\n"; };
    const std::string gpu = "type: vetnode.evaluations.gpu_eval.GPUEval, ";
    EXPECT_THAT(refused(eval(gpu + "max_temp: 30")), HasSubstr("needs max_used_memory"));
    EXPECT_THAT(refused(eval(gpu + "max_temp: 30.5, max_used_memory: 0.2")),
                HasSubstr("max_temp: must be a whole number"));
    EXPECT_THAT(refused(eval("type: vetnode.evaluations.env_var_eval.EnvVarEval, expected: {A: 1}")),
                HasSubstr("expected: A must be a text or null, not the integer 1"));
    EXPECT_THAT(refused(eval("type: vetnode.evaluations.gpu_eval.GPUEvl")), HasSubstr("did you mean"));
    EXPECT_THAT(refused(eval("type: mem.free")), HasSubstr("one of Belay's types"));
    EXPECT_THAT(refused("name: p\nscheduler: pbs\nevals: []\n"),
                HasSubstr("scheduler must be slurm or standalone"));
    EXPECT_THAT(refused("name: p\nevls: []\nscheduler: slurm\n"), HasSubstr("unknown key"));
    // vetnode takes unknown keys; what was probably meant is said.
    Protocol protocol =
        accepted(eval(gpu + "max_temp: 30, max_used_memory: 0.2, max_tmp: 3, scheduler: slurm"));
    ASSERT_EQ(protocol.warnings.size(), 1U);
    EXPECT_THAT(protocol.warnings[0].render(), HasSubstr("did you mean \"max_temp\"?"));
}

TEST(vet, protocol_of_vetnode_may_be_named_by_the_environment) {
    const std::string eval = "evals: [{name: e, type: random.RandomEval}]\n";
    EXPECT_EQ(parse_protocol(eval, "p", "from NAME")->name, "from NAME");
    EXPECT_EQ(parse_protocol("name: own\n" + eval, "p", "from NAME")->name, "own");
    EXPECT_FALSE(parse_protocol(eval, "p"));
    EXPECT_FALSE(parse_protocol("checks: [{type: mem.free, min: 1GiB}]\n", "p", "from NAME"))
        << "a form of our own";
}

TEST(vet, null_is_not_a_value_of_vetnode) {
    EXPECT_THAT(refused("name: p\nevals:\n- {name: e, type: nccl_lib_eval.NcclLibEval, payload: null}\n"),
                AllOf(HasSubstr("p.yaml:3:"), HasSubstr("payload must have a value"),
                      HasSubstr("leave it out for the default, 4 GB")));
}

TEST(vet, every_check_that_is_wrong_is_told) {
    auto protocol = read_protocol(
        "name: p\nchecks:\n- {type: mem.fre}\n- {type: mem.free, min: 1GiB}\n- {type: fs.usage, path: 1, "
        "crit: x}\n- 7\n",
        "p.yaml");
    ASSERT_FALSE(protocol);
    std::vector<int> lines;
    for (const core::Error& mistake : protocol.error()) lines.push_back(mistake.position()->line);
    EXPECT_THAT(lines, testing::ElementsAre(3, 5, 6));
}

// The rules of pydantic's ByteSize, as measured.
TEST(vet, units_of_vetnode) {
    auto payload = [](const std::string& text) -> std::optional<uint64_t> {
        auto protocol = parse_protocol(
            "name: p\nevals:\n- {name: e, type: nccl_lib_eval.NcclLibEval, payload: " + text + "}\n", "p");
        return protocol ? std::optional(protocol->checks[0].get<core::ByteSize>("payload")->bytes)
                        : std::nullopt;
    };
    EXPECT_EQ(payload("4 GB"), uint64_t{4} << 30);
    EXPECT_EQ(payload("' 4gb'"), uint64_t{4} << 30);
    EXPECT_EQ(payload("1.5 kb"), 1536U);
    EXPECT_EQ(payload("123"), 123U);
    EXPECT_EQ(payload("4 GB x"), uint64_t{4} << 30);
    EXPECT_EQ(payload("4 GB/s"), uint64_t{4} << 30);
    for (const char* wrong : {"8 G", "4 GiB", "-1 GB", "'-1'", "1.5", "true", "99999 EB", ".5 GB"})
        EXPECT_EQ(payload(wrong), std::nullopt) << wrong;
    auto bandwidth = [](const std::string& text) {
        return parse_protocol(
                   "name: p\nevals:\n- {name: e, type: nccl_lib_eval.NcclLibEval, min_bandwidth: " + text +
                       "}\n",
                   "p")
            .has_value();
    };
    EXPECT_TRUE(bandwidth("15 GB/s"));
    EXPECT_TRUE(bandwidth("1000"));
    EXPECT_FALSE(bandwidth("15 GB"));
    EXPECT_FALSE(bandwidth("15.5"));
}

TEST(vet, catalogue_rows_are_whole) {
    std::set<std::string_view> types;
    for (const CheckType& row : catalogue()) {
        EXPECT_TRUE(types.insert(row.type).second) << row.type;
        EXPECT_FALSE(row.summary.empty()) << row.type;
        EXPECT_EQ(find_check_type(row.type), &row);
        bool step = row.type == "net.pair_bandwidth" || row.type == "clock.offset";
        EXPECT_EQ(row.measure != nullptr || step, row.unsupported_because.empty()) << row.type;
        // With every required parameter given, the defaults are values of their kinds.
        std::string text =
            fmt::format("name: p\n{}:\n- {{name: n, type: {}", row.vetnode ? "evals" : "checks", row.type);
        for (const Parameter& parameter : row.parameters) {
            EXPECT_FALSE(parameter.meaning.empty()) << row.type;
            EXPECT_FALSE(parameter.required && !parameter.default_text.empty()) << row.type;
            EXPECT_TRUE(parameter.no_default_with.empty() ||
                        std::ranges::count(row.parameters, parameter.no_default_with, &Parameter::name) == 1)
                << row.type;
            if (!parameter.required) continue;
            bool list = parameter.kind == Kind::kTextList || parameter.kind == Kind::kPatternList;
            bool number = parameter.kind == Kind::kInteger || parameter.kind == Kind::kNumber;
            bool map = parameter.kind == Kind::kVariables;
            text += fmt::format(", {}: {}", parameter.name,
                                list     ? "[a]"
                                : number ? "1"
                                : map    ? "{A: null}"
                                         : "a");
        }
        auto protocol = parse_protocol(text + "}\n", "p");
        EXPECT_TRUE(protocol) << row.type << ": " << protocol.error().render();
    }
    // 187 Gbit/s less 2 %, as CSCS's ReFrame test of Slingshot has it; not bytes.
    EXPECT_EQ(
        accepted(with_check("{type: cxi.loopback}")).checks[0].get<core::Bandwidth>("min")->bits_per_second,
        183'000'000'000U);
    EXPECT_EQ(find_check_type("gpu_eval.GPUEval"), find_check_type("vetnode.evaluations.gpu_eval.GPUEval"));
    EXPECT_EQ(find_check_type("free"), nullptr);
}

}  // namespace
}  // namespace belay::vet
