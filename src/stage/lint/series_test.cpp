#include "stage/lint/series.h"

#include "core/file.h"
#include "stage/lint/test_files.h"

#include <filesystem>
#include <fstream>
#include <sys/inotify.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::torch_file;

std::vector<std::string> divided(std::vector<std::string> names, const std::string& own_name = "run") {
    std::vector<CheckpointFile> files;
    for (std::string& name : names) files.push_back({.name = std::move(name), .bytes = 1});
    std::vector<std::string> found;
    for (const CheckpointContent& content : divide(std::move(files), own_name))
        found.push_back(
            fmt::format("{} {} {}", content.name, content.step.value_or(-1), content.files.size()));
    return found;
}

TEST(stage_lint_series, files_are_divided_among_checkpoints) {
    EXPECT_THAT(divided({"iter_0000100/mp_rank_00/model_optim_rng.pt",
                         "iter_0000200/mp_rank_00/model_optim_rng.pt", "latest_checkpointed_iteration.txt"}),
                ElementsAre("iter_0000100 100 1", "iter_0000200 200 1"));
    EXPECT_THAT(divided({"rank_0.pt", "rank_1.pt"}), ElementsAre(". -1 2"));
    EXPECT_THAT(divided({"rank_0/model.pt", "rank_1/model.pt"}), ElementsAre(". -1 2"));
    EXPECT_THAT(divided({"rank_0.pt", "rank_1.pt"}, "step-40"), ElementsAre(". 40 2"));
    EXPECT_THAT(divided({"ckpt_100.pt", "ckpt_200.pt", "log.txt"}),
                ElementsAre("ckpt_100.pt 100 1", "ckpt_200.pt 200 1"));
    EXPECT_THAT(divided({"step100_rank0.pt", "step100_rank1.pt", "step200_rank0.pt"}),
                ElementsAre("step100_rank*.pt 100 2", "step200_rank0.pt 200 1"));
    EXPECT_THAT(divided({"checkpoint-10/global_step10/mp_rank_00_model_states.pt", "checkpoint-10/latest",
                         "checkpoint-10/rng_state_0.pth", "model.safetensors"}),
                ElementsAre("checkpoint-10 10 3", ". -1 1"));
    EXPECT_THAT(divided({"a/run/step_5/model.pt", "b/notes.txt"}), ElementsAre("a/run/step_5 5 1"));
    EXPECT_THAT(divided({"notes.txt"}), ElementsAre());
}

class Tree {
  public:
    const fs::path& path() const { return directory_.path(); }
    void file(const std::string& name, const std::string& content) const {
        fs::create_directories((path() / name).parent_path());
        std::ofstream(path() / name, std::ios::binary) << content;
    }

  private:
    core::TemporaryDirectory directory_ = core::TemporaryDirectory::create().value();
};

std::vector<std::string> states(const CheckpointSeries& series) {
    std::vector<std::string> found;
    for (const Checkpoint& checkpoint : series.checkpoints)
        found.push_back(fmt::format("{} {}", checkpoint.name, to_text(checkpoint.state)));
    return found;
}

TEST(stage_lint_series, of_megatron) {
    Tree tree;
    for (const char* iteration : {"iter_0000100", "iter_0000200", "iter_0000300"})
        tree.file(fmt::format("{}/mp_rank_00/model_optim_rng.pt", iteration), torch_file());
    tree.file("latest_checkpointed_iteration.txt", "200\n");
    EXPECT_THAT(states(lint(tree.path(), {}).value()),
                ElementsAre("iter_0000300 unsynced", "iter_0000200 complete", "iter_0000100 complete"));
    // One of them, which is judged by the pointer above it.
    EXPECT_THAT(states(lint(tree.path() / "iter_0000300", {}).value()), ElementsAre(". unsynced"));
    EXPECT_THAT(states(lint(tree.path() / "iter_0000100/", {}).value()), ElementsAre(". complete"));
}

// As Megatron Core writes them: a distributed checkpoint in each iteration, and the pointer beside them.
TEST(stage_lint_series, of_megatron_core) {
    Tree tree;
    for (const char* iteration : {"iter_0000100", "iter_0000200"}) {
        tree.file(fmt::format("{}/.metadata", iteration), testing::distributed_metadata());
        tree.file(fmt::format("{}/__0_0.distcp", iteration), std::string(512, 'x'));
        tree.file(fmt::format("{}/__1_0.distcp", iteration), std::string(70000, 'x'));
        tree.file(fmt::format("{}/common.pt", iteration), torch_file());
        tree.file(fmt::format("{}/metadata.json", iteration), "{}");
    }
    tree.file("latest_checkpointed_iteration.txt", "100");
    EXPECT_THAT(states(lint(tree.path(), {}).value()),
                ElementsAre("iter_0000200 unsynced", "iter_0000100 complete"));
    fs::remove(tree.path() / "iter_0000100/common.pt");
    EXPECT_THAT(states(lint(tree.path(), {}).value()),
                ElementsAre("iter_0000200 unsynced", "iter_0000100 partial"));
}

TEST(stage_lint_series, a_pointer_to_what_is_not_there_is_noted) {
    Tree tree;
    tree.file("iter_0000100/mp_rank_00/model_optim_rng.pt", torch_file());
    tree.file("latest_checkpointed_iteration.txt", "200");
    const auto series = lint(tree.path(), {}).value();
    EXPECT_THAT(series.notes, ElementsAre("latest_checkpointed_iteration.txt names 200, which is not there"));
}

TEST(stage_lint_series, of_single_files) {
    Tree tree;
    tree.file("ckpts/ckpt_100.pt", torch_file());
    tree.file("ckpts/ckpt_200.pt", torch_file().substr(0, 50));
    EXPECT_THAT(states(lint(tree.path(), {}).value()),
                ElementsAre("ckpts/ckpt_200.pt torn", "ckpts/ckpt_100.pt complete"));
    EXPECT_THAT(states(lint(tree.path() / "ckpts", {}).value()),
                ElementsAre("ckpt_200.pt torn", "ckpt_100.pt complete"));
}

TEST(stage_lint_series, links_are_not_followed) {
    Tree tree;
    tree.file("elsewhere", torch_file());
    fs::create_directories(tree.path() / "run");
    fs::create_symlink(tree.path() / "elsewhere", tree.path() / "run/model.pt");
    const auto series = lint(tree.path() / "run", {});
    ASSERT_FALSE(series);
    EXPECT_THAT(series.error().message(), HasSubstr("holds no checkpoint"));
}

// Without it the last rank would be missed by nobody, and a good checkpoint given up for a bad one.
TEST(stage_lint_series, one_of_fewer_ranks_is_foreign) {
    Tree tree;
    for (const char* name : {"step_5/rank_0.pt", "step_5/rank_1.pt", "step_6/rank_0.pt"})
        tree.file(name, torch_file());
    EXPECT_THAT(states(lint(tree.path(), {}).value()), ElementsAre("step_6 foreign", "step_5 complete"));
    EXPECT_THAT(states(lint(tree.path(), {.ranks = 2}).value()),
                ElementsAre("step_6 partial", "step_5 complete"));
    EXPECT_THAT(states(lint(tree.path(), {.ranks = 1}).value()),
                ElementsAre("step_6 complete", "step_5 foreign"));
}

TEST(stage_lint_series, what_is_no_directory_is_the_persons_mistake) {
    Tree tree;
    tree.file("file", "x");
    for (const char* name : {"file", "nothing"})
        EXPECT_EQ(lint(tree.path() / name, {}).error().kind(), core::ErrorKind::kBadInput) << name;
}

// How often files are opened. Closing is watched, too: the kernel tells equal events that follow each other once.
class Opens {
  public:
    void watch(const fs::path& file) const {
        ASSERT_GE(inotify_add_watch(events_.get(), file.c_str(), IN_OPEN | IN_CLOSE), 0);
    }
    int count() const {
        alignas(inotify_event) char buffer[65536];
        int opens = 0;
        const ssize_t size = read(events_.get(), buffer, sizeof buffer);
        for (ssize_t at = 0; at < size; at += static_cast<ssize_t>(sizeof(inotify_event)))
            opens += (reinterpret_cast<const inotify_event*>(buffer + at)->mask & IN_OPEN) != 0 ? 1 : 0;
        return opens;
    }

  private:
    core::Descriptor events_ = core::Descriptor(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
};

TEST(stage_lint_series, a_file_that_is_read_in_pieces_is_opened_once) {
    Tree tree;
    const Opens opens;
    const std::string content(40 << 20, 'x');  // ten pieces, and the directory
    tree.file("step_1/model.pt", torch_file({{"archive/data/0", content}}));
    tree.file("step_2/model.pt", torch_file({{"archive/data/0", content}}));
    opens.watch(tree.path() / "step_1/model.pt");
    opens.watch(tree.path() / "step_2/model.pt");
    uint64_t read = 0;
    const auto series =
        lint(tree.path(), {.checksums = true}, [&](uint64_t bytes) { read = std::max(read, bytes); });
    EXPECT_THAT(states(series.value()), ElementsAre("step_2 complete", "step_1 complete"));
    EXPECT_GT(read, 0U);
    EXPECT_EQ(opens.count(), 2);
}

TEST(stage_lint_series, many_checkpoints_of_many_files) {
    Tree tree;
    for (int step = 1; step <= 20; ++step)
        for (int rank = 0; rank < 4; ++rank)
            tree.file(fmt::format("step_{}/rank_{}.pt", step, rank), step == 7 ? "PK\3\4" : torch_file());
    const auto series = lint(tree.path(), {.checksums = true}).value();
    ASSERT_EQ(series.checkpoints.size(), 20U);
    for (const Checkpoint& checkpoint : series.checkpoints)
        EXPECT_EQ(checkpoint.state == CheckpointState::kTorn, checkpoint.step == 7) << checkpoint.name;
}

TEST(stage_lint_series, json) {
    Tree tree;
    tree.file("step_5/rank_0.pt", torch_file());
    tree.file("step_5/rank_2.pt", torch_file());
    const auto json = to_json(lint(tree.path(), {}).value());
    EXPECT_EQ(json["checkpoints"][0]["step"], 5);
    EXPECT_EQ(json["checkpoints"][0]["state"], "partial");
    EXPECT_EQ(json["checkpoints"][0]["ranks"], 3);
    EXPECT_TRUE(json["newest_complete"].is_null());
}

Checkpoint made(int64_t step, CheckpointState state = CheckpointState::kComplete) {
    return {.name = fmt::format("step_{}", step), .step = step, .bytes = 10, .state = state};
}

std::vector<std::string> planned(const std::vector<Checkpoint>& checkpoints, const KeepRule& rule) {
    std::vector<std::string> lines;
    const KeepPlan plan = plan_keep(checkpoints, rule).value();
    for (const KeepLine& line : plan.lines)
        lines.push_back(fmt::format("{} {}", line.name, to_text(line.action)));
    return lines;
}

TEST(stage_lint_keep, the_last_and_every_nth) {
    const std::vector<Checkpoint> checkpoints = {made(100), made(200), made(300), made(400), made(500)};
    EXPECT_THAT(planned(checkpoints, {.last = 2}),
                ElementsAre("step_500 keep", "step_400 keep", "step_300 remove", "step_200 remove",
                            "step_100 remove"));
    EXPECT_THAT(
        planned(checkpoints, {.last = 1, .every = 200}),
        ElementsAre("step_500 keep", "step_400 keep", "step_300 remove", "step_200 keep", "step_100 remove"));
    EXPECT_EQ(plan_keep(checkpoints, {.last = 2})->freed_bytes, 30u);
}

TEST(stage_lint_keep, only_complete_ones_count) {
    EXPECT_THAT(planned({made(100), made(200), made(300, CheckpointState::kTorn),
                         made(400, CheckpointState::kUnsynced)},
                        {.last = 1}),
                ElementsAre("step_400 leave", "step_300 leave", "step_200 keep", "step_100 remove"));
    EXPECT_THAT(
        planned({made(100, CheckpointState::kPartial), made(150, CheckpointState::kForeign), made(200)},
                {.last = 1}),
        ElementsAre("step_200 keep", "step_150 leave", "step_100 remove"));
}

TEST(stage_lint_keep, without_a_complete_one_nothing_goes) {
    EXPECT_THAT(
        planned({made(100, CheckpointState::kTorn), made(200, CheckpointState::kPartial)}, {.last = 1}),
        ElementsAre("step_200 leave", "step_100 leave"));
}

TEST(stage_lint_keep, the_newest_complete_one_always_stays) {
    for (int64_t every = 1; every < 5; ++every)
        for (size_t last = 1; last < 4; ++last) {
            const auto plan = plan_keep({made(7), made(3), made(9, CheckpointState::kForeign)},
                                        {.last = last, .every = every})
                                  .value();
            EXPECT_EQ(plan.lines[1].name, "step_7");
            EXPECT_EQ(plan.lines[1].action, KeepAction::kKeep);
        }
    EXPECT_FALSE(plan_keep({}, {.last = 0}));
    EXPECT_FALSE(plan_keep({}, {.last = 1, .every = 0}));
}

// The final model beside the steps of a trainer, or what training began from.
TEST(stage_lint_keep, what_has_no_step_among_steps_is_left) {
    Checkpoint final_model = made(0);
    final_model.step.reset();
    final_model.name = ".";
    final_model.modified = 99;
    EXPECT_THAT(planned({made(500), made(1000), made(1500), final_model}, {.last = 2}),
                ElementsAre("step_1500 keep", "step_1000 keep", "step_500 remove", ". leave"));
    Checkpoint other = final_model;
    other.name = "b";
    other.modified = 100;
    EXPECT_THAT(planned({final_model, other}, {.last = 1}), ElementsAre("b keep", ". leave"));
}

TEST(stage_lint_series, a_directory_whose_name_has_a_number_may_hold_a_series) {
    const auto at = [](const std::string& name) { return CheckpointFile{.name = name, .bytes = 1}; };
    const std::vector<CheckpointFile> files = {at("global_step100/mp_rank_00_model_states.pt"),
                                               at("global_step200/mp_rank_00_model_states.pt")};
    for (const char* own : {"checkpoints_8b", "ckpt-llama3", "saves2", "run"}) {
        const auto contents = divide(files, own);
        ASSERT_EQ(contents.size(), 2U) << own;
        EXPECT_EQ(contents[0].step, 100);
        EXPECT_EQ(contents[1].step, 200);
    }
    const auto one =
        divide({at("global_step10/mp_rank_00_model_states.pt"), at("model.safetensors")}, "checkpoint-10");
    ASSERT_EQ(one.size(), 1U) << "as the Trainer of Hugging Face writes DeepSpeed's";
    EXPECT_EQ(one[0].step, 10);
}

TEST(stage_lint_keep, without_steps_by_time) {
    Checkpoint older = made(0);
    older.step.reset();
    older.name = "a";
    older.modified = 1;
    Checkpoint newer = older;
    newer.name = "b";
    newer.modified = 2;
    EXPECT_THAT(planned({older, newer}, {.last = 1}), ElementsAre("b keep", "a remove"));
}

}  // namespace
}  // namespace belay::stage
