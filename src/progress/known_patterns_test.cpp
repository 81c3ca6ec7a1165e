#include "progress/known_patterns.h"

#include "progress/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::progress {
namespace {

std::vector<ProgressEvent> read(std::string_view text, std::span<const std::string> own = {}) {
    std::vector<ProgressEvent> events;
    ProgressReader reader(patterns_for(own).value(),
                          [&](const ProgressEvent& event) { events.push_back(event); });
    reader.feed(text);
    reader.finish();
    return events;
}

ProgressEvent one(std::string_view text) {
    auto events = read(text);
    EXPECT_EQ(events.size(), 1U) << text;
    return events.empty() ? ProgressEvent{} : events[0];
}

TEST(progress, known_shapes_are_read_as_their_programs_print_them) {
    for (const KnownShape& shape : known_shapes()) {
        const ProgressEvent event = one(shape.line);
        EXPECT_EQ(event.kind, event.metric ? kEvaluation : kTrain) << shape.program;
        EXPECT_TRUE(event.loss || event.step || event.metric) << shape.program;
        EXPECT_TRUE(event.step || event.epoch || event.metric) << shape.program;
    }
    const ProgressEvent megatron = one(known_shapes()[0].line);
    EXPECT_EQ(megatron.step, 122);
    EXPECT_EQ(megatron.total_steps, 250000);
    EXPECT_DOUBLE_EQ(*megatron.step_seconds, 4.1231);
    EXPECT_DOUBLE_EQ(*megatron.loss, 7.012345);
    EXPECT_DOUBLE_EQ(*megatron.gradient_norm, 1.234);
    EXPECT_DOUBLE_EQ(*megatron.learning_rate, 1.5e-5);
    EXPECT_DOUBLE_EQ(*one(known_shapes()[1].line).tokens_per_second, 10050);
    EXPECT_DOUBLE_EQ(*one(known_shapes()[2].line).epoch, 0.02);
    EXPECT_DOUBLE_EQ(*one(known_shapes()[3].line).step_seconds, 0.51233);
    EXPECT_EQ(one(known_shapes()[5].line).samples, 640);
}

TEST(progress, known_shapes_bear_variations) {
    for (std::string_view line :
         {"Epoch 1/3, step 7, loss=0.25", "epoch: 1 | iter: 7 | train loss: 0.25",
          "Epoch [1/3], Step [7/100], Loss: 0.25", "[rank0]: Epoch 1 batch 7 loss 0.25",
          "\x1b[32mepoch=1 step=7 loss=2.5e-1\x1b[0m"}) {
        const ProgressEvent event = one(line);
        EXPECT_EQ(event.epoch, 1) << line;
        EXPECT_EQ(event.step, 7) << line;
        EXPECT_EQ(event.loss, 0.25) << line;
    }
    for (std::string_view line :
         {"step 7/100 loss 0.25", "Step: 7, Loss: 0.25", "iteration 7 lr 0.1 loss=0.25",
          "2026-01-01 10:00:00 INFO step=7 train_loss=0.25 val_loss=9"}) {
        EXPECT_EQ(one(line).step, 7) << line;
    }
    for (std::string_view line :
         {R"({"step": 7, "loss": 0.25})", R"({"epoch": 1, "train_loss": 0.25, "global_step":7})",
          R"([rank 0] {"event": "train", "iteration" : 7, "loss" : 0.25, "lr": 1})"}) {
        EXPECT_EQ(one(line).step, 7) << line;
        EXPECT_EQ(one(line).loss, 0.25) << line;
    }
    const ProgressEvent bar = one("training: 797it [01:00, 1.25s/it, loss=0.710]");
    EXPECT_EQ(bar.step, 797);
    EXPECT_DOUBLE_EQ(*bar.step_seconds, 1.25);
    EXPECT_DOUBLE_EQ(
        *one("  1%|          | 64/6400 [00:05<08:15, 12.80it/s, loss=2.5, lr=1e-3]").step_seconds, 1 / 12.8);
    const ProgressEvent rate = one("step 2310  mse 0.00001  40 steps/s");
    EXPECT_EQ(rate.step, 2310);
    EXPECT_DOUBLE_EQ(*rate.step_seconds, 0.025);
    EXPECT_DOUBLE_EQ(*one("step 7 acc 0.5 1.25e+03 steps/s").step_seconds, 1 / 1250.0);
    EXPECT_DOUBLE_EQ(*one("step 7: 1,250.0 it/s").step_seconds, 1 / 1250.0);
    const ProgressEvent tokens = one("step 8900 | seq_len 88 | loss 2.4051 | 312778 tokens/s");
    EXPECT_DOUBLE_EQ(*tokens.loss, 2.4051);
    EXPECT_DOUBLE_EQ(*tokens.tokens_per_second, 312778);
    EXPECT_DOUBLE_EQ(*one("iter 7: loss 2.5 lr 1e-3 (1,250.5 img/sec)").samples_per_second, 1250.5);
    EXPECT_EQ(one("step 7 loss 2.5, 12 cookies/s").tokens_per_second, std::nullopt);
    EXPECT_EQ(one(R"({"split": "val", "step": 100, "val_loss": 0.9})").kind, kEvaluation);
    EXPECT_EQ(one(R"({"run": "test", "step": 7, "loss": 0.25})").kind, kTrain);
    EXPECT_EQ(one("[  12.30s] iter 40 avg_reward 0.5312").step, 40);
    EXPECT_EQ(one("restart 2 iter 10: inertia 0.3121").step, 10);
    EXPECT_EQ(one("step 3 loss nan").text, R"({"loss":"NaN"})");
}

TEST(progress, other_lines_are_no_progress) {
    for (std::string_view line :
         {"", "loss of signal on port 3", "step 3 of the installation", "Epoch 3",
          "next step: lossless compression 5", "packet loss: 3 %", "1/100 [====>] - ETA: 1s",
          "stepping 3 losses 2", "the loss is 0.5",
          "Downloading:  12%|#2  | 797/6400 [01:00<07:02, 13.27it/s]", "Step 1/3 : FROM debian:12.5",
          "step 2: install cuda 12", "Step 1: Python 3.11", "Step 3: cuda 12.4", "val step 3 acc 0.91",
          R"({"step": 7})", "3 steps/s"})
        EXPECT_THAT(read(line), testing::IsEmpty()) << line;
}

TEST(progress, own_patterns_stand_in_the_place_of_known_ones) {
    const std::vector<std::string> own = {R"(it (?P<step>\d+))"};
    EXPECT_THAT(read("Epoch 1/3, step 7, loss=0.25\n", own), testing::IsEmpty());
    EXPECT_EQ(read("it 4\n", own).size(), 1U);
}

}  // namespace
}  // namespace belay::progress
