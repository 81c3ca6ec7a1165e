#include "stage/lint/names.h"
#include "stage/lint/stored_pieces.h"
#include "stage/lint/test_files.h"
#include "stage/lint/torch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

using testing::distributed_metadata;
using ::testing::ElementsAre;
using testing::Files;
using testing::first_problem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::judged;
using ::testing::Pair;
using testing::safetensors_file;
using testing::torch_file;

constexpr auto kComplete = CheckpointState::kComplete;
constexpr auto kPartial = CheckpointState::kPartial;
constexpr auto kTorn = CheckpointState::kTorn;
constexpr auto kUnsynced = CheckpointState::kUnsynced;
constexpr auto kForeign = CheckpointState::kForeign;

TEST(stage_lint, numbers_of_a_name) {
    EXPECT_THAT(numbers_of("*zero_pp_rank_#_mp_rank_#_optim_states.pt",
                           "bf16_zero_pp_rank_12_mp_rank_03_optim_states.pt")
                    .value(),
                ElementsAre(12, 3));
    EXPECT_FALSE(numbers_of("mp_rank_#", "mp_rank_x"));
    EXPECT_FALSE(numbers_of("mp_rank_#", "mp_rank_1_2"));
    EXPECT_EQ(step_of("run/iter_0000500"), 500);
    EXPECT_EQ(step_of("epoch=1-step=250.ckpt"), 250);
    EXPECT_EQ(step_of("step500_rank3.pt"), 500);
    EXPECT_EQ(step_of("model-00001-of-00005.safetensors"), std::nullopt);
    EXPECT_EQ(rank_name("a/rank-3/model.pt")->others, "a/rank-*/model.pt");
    EXPECT_TRUE(is_temporary_name("iter_5/x.pt.tmp"));
    EXPECT_TRUE(is_temporary_name("tmp-checkpoint-5/x.pt"));
    EXPECT_FALSE(is_temporary_name("template.pt"));
}

TEST(stage_lint, files_of_torch_save) {
    const Files files = {{"rank_0.pt", torch_file()}, {"rank_1.pt", torch_file()}};
    const Checkpoint checkpoint = judged(files);
    EXPECT_EQ(checkpoint.state, kComplete) << first_problem(checkpoint);
    EXPECT_EQ(checkpoint.format, "torch.save");
    EXPECT_EQ(checkpoint.ranks, 2);
    EXPECT_THAT(checkpoint.notes, ElementsAre(HasSubstr("--marker")));
}

TEST(stage_lint, a_missing_rank_is_partial) {
    Checkpoint checkpoint = judged({{"rank_0.pt", torch_file()}, {"rank_3.pt", torch_file()}});
    EXPECT_EQ(checkpoint.state, kPartial);
    EXPECT_THAT(first_problem(checkpoint), HasSubstr("rank_*.pt: of ranks 0 to 3, these are missing: 1, 2"));
    // The last ones are missed only by who knows how many there are.
    checkpoint = judged({{"rank_0.pt", torch_file()}, {"rank_1.pt", torch_file()}}, {.ranks = 4});
    EXPECT_EQ(checkpoint.state, kPartial);
    EXPECT_THAT(first_problem(checkpoint), HasSubstr("missing: 2, 3"));
}

TEST(stage_lint, what_rank_0_writes_alone_is_no_gap) {
    EXPECT_EQ(judged({{"optim_rank0.pt", torch_file()},
                      {"model_rank0.pt", torch_file()},
                      {"model_rank1.pt", torch_file()}})
                  .state,
              kComplete);
}

TEST(stage_lint, another_number_of_ranks_is_foreign) {
    const Checkpoint checkpoint =
        judged({{"rank_0.pt", torch_file()}, {"rank_1.pt", torch_file()}, {"rank_2.pt", torch_file()}},
               {.ranks = 2});
    EXPECT_EQ(checkpoint.state, kForeign);
    EXPECT_THAT(first_problem(checkpoint), HasSubstr("was written by 3 ranks; the job has 2"));
}

TEST(stage_lint, a_file_that_was_cut_off_is_torn) {
    const std::string whole = torch_file();
    for (const size_t left : {size_t{0}, size_t{3}, size_t{40}, whole.size() - 1}) {
        const Checkpoint checkpoint = judged({{"model.pt", whole.substr(0, left)}});
        EXPECT_EQ(checkpoint.state, kTorn) << left;
    }
    EXPECT_EQ(judged({{"model.pt", std::string(100, '\0')}}).state, kTorn);
}

// Raw arrays and the checkpoints of other programs have such names, too, and may begin with zeros.
TEST(stage_lint, what_is_no_file_of_torch_is_not_torn) {
    std::string zeros_first(10'000, '\0');
    zeros_first.back() = 'x';
    for (const char* name : {"optimizer_noise.bin", "weights.ckpt"})
        for (const std::string& content : {std::string(8192, '\0'), zeros_first, std::string("\0\1", 2)}) {
            const Checkpoint checkpoint = judged({{name, content}});
            EXPECT_EQ(checkpoint.state, kComplete) << name << ": " << first_problem(checkpoint);
            EXPECT_THAT(checkpoint.notes, ::testing::Contains(HasSubstr("is not a zip archive"))) << name;
        }
    EXPECT_EQ(judged({{"model.pt", zeros_first}}).state, kTorn) << "so torch.save begins none";
    EXPECT_EQ(judged({{"model.pt", std::string("\0\0\0\1", 4) + "x"}}).state, kComplete) << "a pickle of old";
    EXPECT_EQ(judged({{"model.bin", ""}}).state, kTorn);
}

TEST(stage_lint, what_was_never_written_to_is_torn) {
    const Files files = {{"optimizer.bin", std::string(8192, '\0')}};
    CheckpointContent content = testing::content_of(files);
    content.files[0].allocated_bytes = 8192;
    EXPECT_EQ(judge(content, {})->state, kComplete);
    content.files[0].allocated_bytes = 0;
    EXPECT_EQ(judge(content, {})->state, kTorn);
    EXPECT_THAT(first_problem(judge(content, {}).value()), HasSubstr("was never written to"));
}

TEST(stage_lint, a_header_is_read_once_for_all_rules) {
    std::string map;
    Files files;
    for (int part = 1; part <= 3; ++part) {
        const std::string name = fmt::format("model-0000{}-of-00003.safetensors", part);
        files[name] = safetensors_file({{fmt::format("w{}", part), 8}});
        map += fmt::format(R"({}"w{}":"{}")", part == 1 ? "" : ",", part, name);
    }
    files["model.safetensors.index.json"] = R"({"weight_map":{)" + map + "}}";
    CheckpointContent content = testing::content_of(files);
    std::map<std::string, int> headers;
    content.read = [&headers, read = content.read](const std::string& name, uint64_t offset, size_t size) {
        if (offset == 8) ++headers[name];
        return read(name, offset, size);
    };
    EXPECT_EQ(judge(content, {})->state, kComplete);
    ASSERT_EQ(headers.size(), 3U);
    for (const auto& [name, times] : headers) EXPECT_EQ(times, 1) << name;
}

TEST(stage_lint, several_readers_judge_as_one_does) {
    Files files;
    for (int rank = 0; rank < 40; ++rank)
        files[fmt::format("rank_{:02}.pt", rank)] = rank % 7 == 3 ? "PK\3\4 cut off" : torch_file();
    const Checkpoint one = judged(files, {.checksums = true});
    const Checkpoint several = judged(files, {.checksums = true, .readers = 4});
    EXPECT_EQ(one.problems.size(), 6U);
    EXPECT_EQ(several.problems, one.problems);
}

TEST(stage_lint, checksums_are_compared_on_request) {
    std::string damaged = torch_file({{"archive/data/0", "tensor"}});
    damaged[damaged.find("tensor")] = 'T';
    EXPECT_EQ(judged({{"model.pt", damaged}}).state, kComplete);
    const Checkpoint checkpoint = judged({{"model.pt", damaged}}, {.checksums = true});
    EXPECT_EQ(checkpoint.state, kTorn);
    EXPECT_THAT(first_problem(checkpoint), HasSubstr("CRC-32"));
    EXPECT_EQ(judged({{"model.pt", torch_file()}}, {.checksums = true}).state, kComplete);
}

TEST(stage_lint, an_archive_with_any_byte_changed_is_judged) {
    std::string archive = torch_file();
    for (size_t at = 0; at < archive.size(); ++at) {
        std::string changed = archive;
        changed[at] = static_cast<char>(0xff);
        (void)judged({{"model.pt", changed}}, {.checksums = true});
    }
}

TEST(stage_lint, temporary_files_and_markers) {
    Checkpoint checkpoint = judged({{"model.pt", torch_file()}, {"optim.pt.tmp", "x"}});
    EXPECT_EQ(checkpoint.state, kUnsynced);
    EXPECT_THAT(first_problem(checkpoint), HasSubstr("optim.pt.tmp"));
    EXPECT_EQ(judged({{"model.pt", torch_file()}}, {.marker = "DONE"}).state, kUnsynced);
    EXPECT_EQ(judged({{"model.pt", torch_file()}, {"DONE", ""}}, {.marker = "DONE"}).state, kComplete);
}

const CheckpointPointer kLatest{.file = "latest", .text = "global_step100"};

Files deepspeed(int data, int model) {
    Files files;
    for (int m = 0; m < model; ++m) {
        files[fmt::format("mp_rank_{:02}_model_states.pt", m)] = torch_file();
        for (int d = 0; d < data; ++d)
            files[fmt::format("bf16_zero_pp_rank_{}_mp_rank_{:02}_optim_states.pt", d, m)] = torch_file();
    }
    return files;
}

TEST(stage_lint, deepspeed) {
    const Checkpoint checkpoint = judged(deepspeed(4, 2), {}, kLatest);
    EXPECT_EQ(checkpoint.state, kComplete) << first_problem(checkpoint);
    EXPECT_EQ(checkpoint.format, "DeepSpeed");
    EXPECT_EQ(checkpoint.ranks, 8);
    EXPECT_EQ(judged(deepspeed(4, 2), {.ranks = 16}, kLatest).state, kForeign);
    Files files = deepspeed(4, 2);
    files.erase("bf16_zero_pp_rank_1_mp_rank_01_optim_states.pt");
    EXPECT_THAT(first_problem(judged(files, {}, kLatest)),
                HasSubstr("optimizer states of 8 ranks: 1 is missing, the first that of rank 1x1"));
    files = deepspeed(2, 2);
    files.erase("mp_rank_01_model_states.pt");
    EXPECT_EQ(judged(files, {}, kLatest).state, kPartial);
    EXPECT_EQ(judged({{"zero_pp_rank_0_mp_rank_00_optim_states.pt", torch_file()}}, {}, kLatest).state,
              kPartial);
}

// Pipeline parallelism: mp_rank_* counts pipeline and tensor ranks, layer files tensor ranks only; layers
// without parameters have none.
TEST(stage_lint, deepspeed_layers) {
    const auto of = [](int tensor, int pipeline) {
        Files files;
        for (int rank = 0; rank < tensor * pipeline; ++rank)
            files[fmt::format("mp_rank_{:02}_model_states.pt", rank)] = torch_file();
        for (int layer : {0, 2, 3, 4, 6})
            for (int rank = 0; rank < tensor; ++rank)
                files[fmt::format("layer_{:02}-model_{:02}-model_states.pt", layer, rank)] = torch_file();
        return files;
    };
    const Checkpoint checkpoint = judged(of(4, 12), {}, kLatest);
    EXPECT_EQ(checkpoint.state, kComplete) << first_problem(checkpoint);
    EXPECT_EQ(judged(of(4, 12), {.ranks = 96}, kLatest).state, kComplete) << "two replicas of 48";
    EXPECT_EQ(judged(of(4, 12), {.ranks = 64}, kLatest).state, kForeign);
    Files files = of(4, 12);
    files.erase("layer_03-model_01-model_states.pt");
    EXPECT_THAT(first_problem(judged(files, {}, kLatest)),
                HasSubstr("layer 3: 3 of 4 tensor-parallel ranks are there"));
    files = of(1, 2);
    files["layer_09-model_states.pt"] = torch_file();
    EXPECT_EQ(judged(files, {}, kLatest).state, kComplete);
}

TEST(stage_lint, what_the_pointer_does_not_know_is_unsynced) {
    EXPECT_EQ(judged(deepspeed(1, 1)).state, kUnsynced);
    const Checkpoint checkpoint = judged(deepspeed(1, 1), {}, CheckpointPointer{"latest", "global_step50"});
    EXPECT_EQ(checkpoint.state, kUnsynced);
    EXPECT_THAT(first_problem(checkpoint), HasSubstr("newer than step 50, the last that latest names"));
    EXPECT_EQ(judged(deepspeed(1, 1), {}, CheckpointPointer{"latest", "global_step150"}).state, kComplete);
}

TEST(stage_lint, deepspeed_of_impossible_ranks) {
    EXPECT_EQ(judged({{"zero_pp_rank_999999999999_mp_rank_999999999999_optim_states.pt", torch_file()}}, {},
                     kLatest)
                  .state,
              kForeign);
}

const CheckpointPointer kIteration{.file = "latest_checkpointed_iteration.txt", .text = "100"};

Files megatron(int tensor, int pipeline) {
    Files files;
    for (int t = 0; t < tensor; ++t)
        for (int p = 0; p < pipeline; ++p)
            for (const char* name : {"model_optim_rng.pt", "distrib_optim.pt"})
                files[fmt::format("mp_rank_{:02}_{:03}/{}", t, p, name)] = torch_file();
    return files;
}

TEST(stage_lint, megatron) {
    const Checkpoint checkpoint = judged(megatron(2, 3), {}, kIteration);
    EXPECT_EQ(checkpoint.state, kComplete) << first_problem(checkpoint);
    EXPECT_EQ(checkpoint.format, "Megatron");
    EXPECT_EQ(checkpoint.ranks, 6);
    EXPECT_EQ(judged(megatron(2, 3), {.ranks = 48}, kIteration).state, kComplete) << "eight replicas";
    EXPECT_EQ(judged(megatron(2, 3), {.ranks = 64}, kIteration).state, kForeign);
    Files files = megatron(2, 3);
    files.erase("mp_rank_01_001/distrib_optim.pt");
    EXPECT_THAT(first_problem(judged(files, {}, kIteration)),
                HasSubstr("distrib_optim.pt of model-parallel rank 1_1 is missing"));
    files.erase("mp_rank_01_001/model_optim_rng.pt");
    EXPECT_THAT(first_problem(judged(files, {}, kIteration)),
                HasSubstr("5 of 6 directories mp_rank_* exist"));
    EXPECT_EQ(judged(megatron(1, 1)).state, kUnsynced);
    files = megatron(1, 2);
    files["mp_rank_00/model_optim_rng.pt"] = torch_file();
    EXPECT_EQ(judged(files, {}, kIteration).state, kForeign);
}

Files distributed() {
    return {{".metadata", distributed_metadata()},
            {"__0_0.distcp", std::string(512, 'x')},
            {"__1_0.distcp", std::string(70000, 'x')}};
}

TEST(stage_lint, pieces_of_a_distributed_checkpoint) {
    for (const int protocol : {2, 4})
        EXPECT_THAT(stored_pieces(distributed_metadata(protocol)).value(),
                    ElementsAre(Pair("__0_0.distcp", 512), Pair("__1_0.distcp", 70000)))
            << protocol;
}

TEST(stage_lint, a_pickle_that_is_none) {
    const std::string pickle = distributed_metadata(4);
    EXPECT_FALSE(stored_pieces(""));
    EXPECT_FALSE(stored_pieces("text"));
    for (size_t end = 0; end < pickle.size(); ++end)
        EXPECT_FALSE(stored_pieces(pickle.substr(0, end))) << end;
    for (size_t at = 0; at < pickle.size(); ++at)
        for (const int byte : {0x00, 0x31, 0x62, 0x73, 0xff}) {
            std::string changed = pickle;
            changed[at] = static_cast<char>(byte);
            (void)stored_pieces(changed);
        }
}

TEST(stage_lint, torch_distributed) {
    const Checkpoint checkpoint = judged(distributed());
    EXPECT_EQ(checkpoint.state, kComplete) << first_problem(checkpoint);
    EXPECT_EQ(checkpoint.format, "torch distributed");
    EXPECT_EQ(checkpoint.ranks, 2);
    EXPECT_THAT(checkpoint.notes, IsEmpty());
    Files files = distributed();
    files.erase("__0_0.distcp");
    EXPECT_EQ(judged(files).state, kPartial);
    files = distributed();
    files["__1_0.distcp"].pop_back();
    EXPECT_THAT(first_problem(judged(files)),
                HasSubstr("69999 bytes long, but its pieces end at byte 70000"));
    EXPECT_EQ(judged(files).state, kTorn);
    files = distributed();
    files.erase(".metadata");
    EXPECT_EQ(judged(files).state, kUnsynced);
    files = distributed();
    files["__2_0.distcp"] = "x";
    EXPECT_EQ(judged(files).state, kForeign);
    files = distributed();
    files[".metadata"].resize(100);
    EXPECT_EQ(judged(files).state, kTorn);
}

TEST(stage_lint, safetensors_with_an_index) {
    const std::string index =
        R"({"metadata":{"total_size":16},"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}})";
    const Files whole = {{"model.safetensors.index.json", index},
                         {"model-00001-of-00002.safetensors", safetensors_file({{"a", 8}})},
                         {"model-00002-of-00002.safetensors", safetensors_file({{"b", 8}})}};
    const Checkpoint checkpoint = judged(whole);
    EXPECT_EQ(checkpoint.state, kComplete) << first_problem(checkpoint);
    EXPECT_EQ(checkpoint.format, "safetensors");
    Files files = whole;
    files.erase("model-00002-of-00002.safetensors");
    EXPECT_EQ(judged(files).state, kPartial);
    files = whole;
    files["model-00002-of-00002.safetensors"].pop_back();
    EXPECT_THAT(first_problem(judged(files)), HasSubstr("holds 7 bytes of tensors; its header says 8"));
    files = whole;
    files["model-00002-of-00002.safetensors"] = safetensors_file({{"c", 8}});
    EXPECT_THAT(first_problem(judged(files)),
                HasSubstr("lacks b, which model.safetensors.index.json says it holds"));
    files = whole;
    files["model-00003-of-00003.safetensors"] = safetensors_file({{"b", 8}});
    EXPECT_EQ(judged(files).state, kForeign);
    files = whole;
    files["model.safetensors.index.json"] = "{";
    EXPECT_EQ(judged(files).state, kTorn);
}

TEST(stage_lint, safetensors_headers_of_nonsense) {
    for (const std::string& bytes :
         {std::string(), std::string("abc"), testing::little(~uint64_t{0}, 8), testing::little(2, 8) + "[]",
          testing::little(17, 8) + R"({"a":{"b":[0,1]}})",
          testing::little(26, 8) + R"({"a":{"data_offsets":[-1]})"})
        EXPECT_EQ(judged({{"model.safetensors", bytes}}).state, kTorn) << bytes;
}

TEST(stage_lint, several_states_give_the_worst) {
    const Checkpoint checkpoint =
        judged({{"rank_0.pt", torch_file()}, {"rank_2.pt", "PK\3\4 cut off"}, {"x.tmp", ""}});
    EXPECT_EQ(checkpoint.state, kPartial);
    EXPECT_EQ(checkpoint.problems.size(), 3u);
}

}  // namespace
}  // namespace belay::stage
