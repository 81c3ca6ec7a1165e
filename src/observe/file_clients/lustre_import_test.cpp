#include "observe/file_clients/lustre_import.h"

#include "observe/file_clients/lustre_name.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace belay::observe::file_clients {
namespace {

constexpr std::string_view kKeys[] = {"connection_attempts:", "timeouts:", "inflight:"};

constexpr std::string_view kImportText =  // of Lustre 2.17
    "import:\n"
    "    name: scratch-OST0001-osc-ffff000189257000\n"
    "    target: scratch-OST0001_UUID\n"
    "    state: EVICTED\n"
    "    connect_flags: [ write_grant, server_lock ]\n"
    "    import_flags: [ invalid, replayable, pingable ]\n"
    "    connection:\n"
    "       failover_nids: [ \"10.0.0.7@o2ib\" ]\n"
    "       nids_stats:\n"
    "          \"10.0.0.7@o2ib\": { connects: 2, replied: 2, uptodate: true, sec_ago: 12 }\n"
    "       connection_attempts: 3\n"
    "       idle: 3 sec\n"
    "    rpcs:\n"
    "       inflight: 5\n"
    "       timeouts: 7\n";

LustreImport import_of(std::string_view text) {
    LustreImport import;
    core::Result<> result = parse_lustre_import(text, kKeys, import);
    EXPECT_TRUE(result.has_value()) << result.error().message();
    return import;
}

TEST(observe_file_clients, a_lustre_import_has_a_state_and_numbers) {
    LustreImport import = import_of(kImportText);
    EXPECT_EQ(import.state, LustreState::kEvicted);
    EXPECT_FALSE(import.switched_off);
    ASSERT_EQ(import.numbers.size(), 3u);
    EXPECT_EQ(import.numbers[0], 3);
    EXPECT_EQ(import.numbers[1], 7);
    EXPECT_EQ(import.numbers[2], 5);
}

TEST(observe_file_clients, states_of_lustre_are_ready_idle_evicted_or_another) {
    auto state = [](std::string_view name) { return import_of(fmt::format("    state: {}\n", name)).state; };
    EXPECT_EQ(state("FULL"), LustreState::kFull);
    EXPECT_EQ(state("IDLE"), LustreState::kIdle);
    for (std::string_view other :
         {"DISCONN", "CONNECTING", "REPLAY_LOCKS", "NEW", "CLOSED", "<UNKNOWN>", "FULLER", ""})
        EXPECT_EQ(state(other), LustreState::kOther) << other;
}

TEST(observe_file_clients, a_lustre_target_that_was_switched_off_says_so) {
    EXPECT_TRUE(import_of("state: DISCONN\nimport_flags: [ invalid, deactive, replayable ]\n").switched_off);
    EXPECT_TRUE(import_of("state: DISCONN\nimport_flags: [ deactive ]\n").switched_off);
    EXPECT_FALSE(import_of("state: DISCONN\nimport_flags: [  ]\n").switched_off);
}

TEST(observe_file_clients, wrong_numbers_of_a_lustre_import_are_nothing) {
    LustreImport import = import_of("state: FULL\ntimeouts: -1\ninflight: 9223372036854775808\n");
    for (const auto& number : import.numbers) EXPECT_EQ(number, std::nullopt);
}

TEST(observe_file_clients, a_lustre_import_without_a_state_is_an_error) {
    LustreImport import;
    for (std::string_view text : {"", "import:\n", "import:\n    state: FULL", "    timeouts: 3\n"})
        EXPECT_FALSE(parse_lustre_import(text, kKeys, import).has_value()) << text;
}

TEST(observe_file_clients, evictions_that_lustre_remembers_are_counted) {
    core::Result<LustreEvictions> evictions = parse_lustre_state(
        "current_state: FULL\nstate_history:\n"
        " - [ 1781485337, EVICTED ]\n - [ 1781485342, FULL ]\n - [ 1781490000, EVICTED ]\n"
        " - [ 1781485350, EVICTED ]\n - [ x, EVICTED ]\n - [ -1, EVICTED ]\n - [ 99999999999, EVICTED ]\n"
        " - [ 1781485350 EVICTED ]\n - EVICTED\n");
    ASSERT_TRUE(evictions.has_value());
    EXPECT_EQ(evictions->remembered, 3);
    EXPECT_EQ(evictions->last, core::time_from_nanoseconds(1781490000'000000000));
}

TEST(observe_file_clients, a_lustre_target_that_never_evicted_has_no_last_time) {
    core::Result<LustreEvictions> evictions = parse_lustre_state("current_state: IDLE\nstate_history:\n");
    ASSERT_TRUE(evictions.has_value());
    EXPECT_EQ(evictions->remembered, 0);
    EXPECT_EQ(evictions->last, std::nullopt);
    for (std::string_view text : {"", "state_history:\n - [ 1, EVICTED ]\n", "current_state: FULL"})
        EXPECT_FALSE(parse_lustre_state(text).has_value()) << text;
}

TEST(observe_file_clients, lustre_remembers_no_more_evictions_than_it_can) {
    std::string text = "current_state: FULL\nstate_history:\n";
    for (int i = 0; i < 1000; ++i) text += " - [ 1, EVICTED ]\n";
    EXPECT_EQ(parse_lustre_state(text)->remembered, 16);
}

TEST(observe_file_clients, names_of_lustre_clients_are_taken_apart) {
    std::optional<LustreName> mount = parse_lustre_name("llite", "my-fs_1-ffff8f0a1c2d3000");
    ASSERT_TRUE(mount.has_value());
    EXPECT_EQ(mount->file_system, "my-fs_1");
    EXPECT_EQ(mount->target, "");
    EXPECT_EQ(mount->instance, "ffff8f0a1c2d3000");
    std::optional<LustreName> target = parse_lustre_name("osc", "my-fs_1-OST00a7-osc-ff47bce9ca35d800");
    ASSERT_TRUE(target.has_value());
    EXPECT_EQ(target->file_system, "my-fs_1");
    EXPECT_EQ(target->target, "my-fs_1-OST00a7");
    EXPECT_EQ(target->instance, "ff47bce9ca35d800");
    EXPECT_EQ(parse_lustre_name("mdc", "scratch-MDT0000-mdc-ffff000189257000")->file_system, "scratch");
}

TEST(observe_file_clients, names_of_others_than_lustre_clients_are_nothing) {
    for (std::string_view name : {"", "-", "scratch", "scratch-", "-ffff8f0a1c2d3000", "scratch-MDT0000",
                                  "scratch-ffff", "scratch-ffff8f0a1c2d30000", "scratch-ffff8f0a1c2d300X"})
        EXPECT_FALSE(parse_lustre_name("llite", name).has_value()) << name;
    for (std::string_view name : {"scratch-OST0000-osc-MDT0000", "scratch-OST0000-mdc-ffff8f0a1c2d3000",
                                  "osc-ffff8f0a1c2d3000", "num_refs", "-OST0000-osc-ffff8f0a1c2d3000",
                                  "scratch-0000-osc-ffff8f0a1c2d3000", "scratch-ffff8f0a1c2d3000"})
        EXPECT_FALSE(parse_lustre_name("osc", name).has_value()) << name;
}

}  // namespace
}  // namespace belay::observe::file_clients
