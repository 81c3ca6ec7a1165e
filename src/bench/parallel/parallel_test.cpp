#include "bench/parallel/rendezvous.h"
#include "bench/parallel/world.h"
#include "core/file.h"

#include <map>
#include <netdb.h>
#include <thread>

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

using core::Environment;
using testing::HasSubstr;

constexpr core::Duration kSoon = std::chrono::seconds(20);

Environment step(const std::string& nodes = "n[1-2]", int node_count = 2) {
    return {{"SLURM_PROCID", "3"},
            {"SLURM_NTASKS", "4"},
            {"SLURM_STEP_NUM_TASKS", "4"},
            {"SLURM_STEP_NODELIST", nodes},
            {"SLURM_JOB_ID", "17"},
            {"SLURM_STEP_ID", "0"},
            {"SLURM_NODEID", "0"},
            {"SLURM_LOCALID", "1"},
            {"SLURM_STEP_NUM_NODES", std::to_string(node_count)}};
}

TEST(bench, world_of_a_slurm_step) {
    World world = *world_from(step());
    EXPECT_EQ(world.launcher, Launcher::kSlurm);
    EXPECT_EQ(world.rank, 3);
    EXPECT_EQ(world.size, 4);
    EXPECT_EQ(world.nodes, 2);
    EXPECT_EQ(world.local_size, 2);
    EXPECT_EQ(world.local_rank, 1);
}

TEST(bench, world_of_torchrun_goes_before_slurm) {
    Environment environment = step();
    environment["RANK"] = "1";
    environment["WORLD_SIZE"] = "6";
    environment["LOCAL_WORLD_SIZE"] = "2";
    World world = *world_from(environment);
    EXPECT_EQ(world.launcher, Launcher::kVariables);
    EXPECT_EQ(world.rank, 1);
    EXPECT_EQ(world.local_rank, 1);
    EXPECT_EQ(world.size, 6);
    EXPECT_EQ(world.nodes, 3);
}

TEST(bench, world_of_a_batch_script_is_one_process) {
    World world = *world_from({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "17"}});
    EXPECT_EQ(world.launcher, Launcher::kNone);
    EXPECT_EQ(world.size, 1);
    EXPECT_EQ(world_from({})->size, 1);
}

TEST(bench, world_names_the_variable_that_is_wrong) {
    auto message = [](const Environment& environment) {
        auto world = world_from(environment);
        EXPECT_FALSE(world);
        return world ? "" : world.error().message();
    };
    EXPECT_THAT(message({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK: \"x\""));
    EXPECT_THAT(message({{"RANK", "1"}}), HasSubstr("WORLD_SIZE is not set"));
    EXPECT_THAT(message({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), HasSubstr("rank 2 does not exist"));
    EXPECT_THAT(message({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK: \"-1\""));
}

// A network with the names and addresses that a test gives it.
struct FakeNetwork {
    std::map<std::string, std::string> names, slurm_nodes;
    core::Result<std::string> outside = "10.0.0.9";
    int no_way = 0;  // errno

    AddressLookup lookup() const {
        auto find = [](const auto& map, const std::string& name) -> std::optional<std::string> {
            auto it = map.find(name);
            return it == map.end() ? std::nullopt : std::optional(it->second);
        };
        auto service = [=, this](const std::string& name) -> core::Result<std::string> {
            if (auto address = find(names, name)) return *address;
            return std::unexpected(core::name_service_error(EAI_NONAME, 0, name));
        };
        return {.address_of_name =
                    [=](const std::string& name) {
                        return core::address_of_name(name, core::Deadline::after(kSoon), service);
                    },
                .address_of_node = slurm::address_from(
                    {.name_service = service,
                     .node_address = [=, this](const std::string& node,
                                               const core::Deadline&) { return find(slurm_nodes, node); }}),
                .address_toward = [this](const std::string& address) -> core::Result<std::string> {
                    if (no_way != 0) return core::errno_error(no_way, "cannot find a network interface");
                    return "local-to-" + address;
                },
                .outside_address = [this] { return outside; }};
    }
};

core::Result<Rendezvous> meet(const FakeNetwork& network, const Environment& environment,
                              std::string_view choice = "") {
    return find_rendezvous(*world_from(environment), environment, choice, network.lookup());
}

std::string refusal(const FakeNetwork& network, const Environment& environment,
                    std::string_view choice = "") {
    auto rendezvous = meet(network, environment, choice);
    EXPECT_FALSE(rendezvous);
    return rendezvous ? "" : rendezvous.error().render();
}

TEST(bench, rendezvous_finds_the_first_node_by_its_name) {
    FakeNetwork network{.names = {{"n01", "10.0.0.1"}}};
    auto rendezvous = meet(network, step("n[01-02,7],m1"));
    ASSERT_TRUE(rendezvous) << rendezvous.error().message();
    EXPECT_EQ(rendezvous->address, "10.0.0.1");
    EXPECT_EQ(rendezvous->local_address, "local-to-10.0.0.1");
    EXPECT_TRUE(rendezvous->file.empty());
    EXPECT_GE(rendezvous->port, 16384);
    EXPECT_LT(rendezvous->port, 32768);
}

TEST(bench, rendezvous_asks_slurm_for_names_that_only_it_knows) {
    FakeNetwork network{.names = {{"10.1.2.3", "10.1.2.3"}}, .slurm_nodes = {{"n1", "10.1.2.3"}}};
    EXPECT_EQ(meet(network, step())->address, "10.1.2.3");
    EXPECT_THAT(
        refusal(network, step("m[5-6]")),
        HasSubstr("address of m5, the node of rank 0, cannot be found: the name service does not know m5"));
    EXPECT_THAT(refusal(network, step("m[5-6]")), HasSubstr("hint: set MASTER_ADDR"));
}

TEST(bench, rendezvous_within_a_node_is_on_the_loopback) {
    EXPECT_EQ(meet({}, step("n1", 1))->address, "127.0.0.1");
}

TEST(bench, rendezvous_master_variables_go_first) {
    FakeNetwork network{.names = {{"n1", "10.0.0.1"}, {"head", "10.0.0.7"}}};
    Environment environment = step();
    environment["MASTER_ADDR"] = "head";
    environment["MASTER_PORT"] = "29501";
    auto rendezvous = meet(network, environment);
    EXPECT_EQ(rendezvous->address, "10.0.0.7");
    EXPECT_EQ(rendezvous->port, 29501);
    environment["MASTER_PORT"] = "70000";
    EXPECT_THAT(refusal(network, environment), HasSubstr("MASTER_PORT: \"70000\""));
    environment["MASTER_ADDR"] = "tail";
    EXPECT_THAT(refusal(network, environment), HasSubstr("MASTER_ADDR: the name service does not know tail"));
    EXPECT_THAT(refusal(network, {{"RANK", "0"}, {"WORLD_SIZE", "2"}}), HasSubstr("MASTER_ADDR is not set"));
}

TEST(bench, rendezvous_port_differs_between_steps_and_restarts) {
    FakeNetwork network{.names = {{"n1", "10.0.0.1"}}};
    uint16_t port = meet(network, step())->port;
    EXPECT_EQ(port, meet(network, step())->port);
    for (const char* name :
         {"SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_RESTART_COUNT", "SLURM_SRUN_COMM_PORT"}) {
        Environment environment = step();
        environment[name] = "41";
        EXPECT_NE(port, meet(network, environment)->port) << name;
    }
}

TEST(bench, rendezvous_by_file_is_new_for_each_start) {
    FakeNetwork network;
    auto first = meet(network, step(), "file:/shared/meet");
    ASSERT_TRUE(first) << first.error().message();
    EXPECT_EQ(first->file, "/shared/meet.17.0");
    EXPECT_EQ(first->local_address, "10.0.0.9");
    Environment again = step();
    again["SLURM_RESTART_COUNT"] = "1";
    EXPECT_EQ(meet(network, again, "file:/shared/meet")->file, "/shared/meet.17.0.1");
    EXPECT_EQ(meet(network, step("n1", 1), "file:/shared/meet")->local_address, "127.0.0.1");
    Environment elastic = {{"RANK", "0"},
                           {"WORLD_SIZE", "2"},
                           {"TORCHELASTIC_RUN_ID", "none"},
                           {"TORCHELASTIC_RESTART_COUNT", "3"}};
    EXPECT_EQ(meet(network, elastic, "file:/shared/meet")->file, "/shared/meet.none.3");
    network.outside = core::errno_error(EMFILE, "cannot list the network interfaces of this node");
    EXPECT_THAT(refusal(network, step(), "file:/shared/meet"), HasSubstr("Too many open files"));
    EXPECT_THAT(refusal(network, step(), "file:"), HasSubstr("no path"));
    EXPECT_THAT(refusal(network, step(), "nfs:/x"), HasSubstr("neither tcp nor file:PATH"));
}

TEST(bench, rendezvous_says_why_the_first_node_cannot_be_reached) {
    FakeNetwork network{.names = {{"n01", "10.0.0.1"}}, .no_way = ENETUNREACH};
    auto rendezvous = meet(network, step("n[01-02,7],m1"));
    ASSERT_FALSE(rendezvous);
    EXPECT_EQ(rendezvous.error().cause(), core::Cause::kUnreachable);
    EXPECT_EQ(
        rendezvous.error().message(),
        "no way from this node to 10.0.0.1, the node of rank 0: cannot find a network interface: Network "
        "is unreachable");
}

TEST(bench, rendezvous_file_that_cannot_be_looked_at_is_not_waited_for) {
    auto directory = core::TemporaryDirectory::create("rendezvous_test").value();
    Rendezvous meeting{.file = directory.path() / "loop/meet"};
    std::filesystem::create_symlink(directory.path() / "loop", directory.path() / "loop");
    auto failed = prepare_file({.rank = 1, .size = 2}, meeting, core::Deadline::never());
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().errno_value(), ELOOP);
}

TEST(bench, rendezvous_file_of_an_earlier_run_is_refused) {
    auto directory = core::TemporaryDirectory::create("rendezvous_test").value();
    Rendezvous meeting{.file = directory.path() / "meet"};
    World first{.rank = 0, .size = 2}, second{.rank = 1, .size = 2};
    const auto kNow = core::Deadline::after({});
    EXPECT_TRUE(prepare_file(first, {}, kNow)) << "no file, nothing to do";

    auto missing = prepare_file(second, meeting, kNow);
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error().kind(), core::ErrorKind::kSystem);
    EXPECT_EQ(missing.error().cause(), core::Cause::kTimedOut);
    EXPECT_FALSE(std::filesystem::exists(meeting.file)) << "only rank 0 makes it";

    core::Result<> waited;
    {
        std::jthread waits(
            [&] { waited = prepare_file(second, meeting, core::Deadline::after(std::chrono::minutes(1))); });
        EXPECT_TRUE(prepare_file(first, meeting, kNow));
    }
    EXPECT_TRUE(waited);

    auto again = prepare_file(first, meeting, kNow);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind(), core::ErrorKind::kBadInput);
    EXPECT_THAT(again.error().render(), HasSubstr("hint: remove it"));
}

TEST(bench, rendezvous_system_lookup_knows_the_loopback) {
    AddressLookup lookup = system_lookup();
    EXPECT_EQ(lookup.address_of_name("127.0.0.1").value(), "127.0.0.1");
    EXPECT_EQ(lookup.address_of_node("127.0.0.1").value(), "127.0.0.1");
    EXPECT_EQ(lookup.address_toward("127.0.0.1").value(), "127.0.0.1");
    EXPECT_FALSE(lookup.address_toward("no address"));
}

}  // namespace
}  // namespace belay::bench
