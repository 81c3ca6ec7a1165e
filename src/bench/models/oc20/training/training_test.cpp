#include "bench/models/oc20/generator.h"
#include "bench/models/oc20/layout.h"
#include "bench/models/oc20/training/force_error.h"
#include "bench/models/oc20/training/model.h"
#include "bench/models/oc20/training/samples.h"
#include "bench/train/test_ranks.h"
#include "bench/train/test_training.h"
#include "core/output.h"

#include <cmath>

#include <gmock/gmock.h>

namespace belay::bench::oc20 {
namespace {

using testing::HasSubstr;

Size tiny_size() {
    Size size = *size_named("mini");
    size.hidden = 8;
    size.output = 8;
    size.interaction = 4;
    size.basis = 2;
    size.fewest_atoms = 4;
    size.most_atoms = 8;
    size.run.batch = 8;
    size.run.train_samples = 40;
    size.run.eval_samples = 11;
    size.run.maximum_epochs = 2;
    return size;
}

Finished train_tiny(const RunOptions& options, Group& group) {
    return bench::train(*make_model(tiny_size()), options, group);
}

TEST(bench_oc20_training, log_has_the_name_and_the_metric_of_the_benchmark) {
    Group alone;
    const Finished finished = train_tiny({.profile = tiny_size().run}, alone);
    ASSERT_TRUE(finished.outcome) << finished.outcome.error().message();
    EXPECT_EQ(finished.outcome->epochs, 2);
    EXPECT_EQ(last_event(finished, "submission_benchmark")->value, "oc20");
    EXPECT_EQ(last_event(finished, "global_batch_size")->value, 8);
    const auto* error = last_event(finished, "eval_error");
    EXPECT_EQ(error->value, finished.outcome->metric);
    EXPECT_GT(error->metadata->at("zero_guess").get<double>(), 0.1);
}

TEST(bench_oc20_training, four_ranks_equal_one) {
    RunOptions options{.profile = tiny_size().run};
    options.steps = 10;
    Group alone;
    const Finished one = train_tiny(options, alone);
    ASSERT_TRUE(one.outcome) << one.outcome.error().message();
    Ranks(4).run([&](Group& group) {
        const Finished four = train_tiny(options, group);
        ASSERT_TRUE(four.outcome) << four.outcome.error().message();
        if (group.rank() != 0) return;
        ASSERT_EQ(four.weights.size(), one.weights.size());
        for (size_t i = 0; i < one.weights.size(); ++i)
            ASSERT_NEAR(four.weights[i], one.weights[i], 1e-5) << i;
        EXPECT_NEAR(last_event(four, "eval_error")->value->get<double>(),
                    last_event(one, "eval_error")->value->get<double>(), 1e-5);
    });
}

TEST(bench_oc20_training, files_equal_what_is_made) {
    Group alone;
    core::TemporaryDirectory directory = core::TemporaryDirectory::create().value();
    RunOptions options{.profile = tiny_size().run};
    ASSERT_TRUE(make_model(tiny_size())->write_data(1, options.profile, directory.path(), 2));
    const Finished made = train_tiny(options, alone);
    ASSERT_TRUE(made.outcome) << made.outcome.error().message();
    options.data.directory = directory.path();
    const Finished read = train_tiny(options, alone);
    ASSERT_TRUE(read.outcome) << read.outcome.error().message();
    EXPECT_EQ(read.outcome->weights_digest, made.outcome->weights_digest);
    std::filesystem::resize_file(directory.path() / "train/000003.structure", 100);
    EXPECT_THAT(train_tiny(options, alone).outcome.error().message(),
                HasSubstr("train/000003.structure: it has 100 bytes"));
    std::filesystem::remove_all(directory.path() / "train");
    EXPECT_FALSE(train_tiny(options, alone).outcome);
}

TEST(bench_oc20_training, a_share_needs_its_loose_files_and_of_others_all) {
    const core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    const core::TemporaryDirectory staged = *core::TemporaryDirectory::create();
    const auto model = make_model(tiny_size());
    ASSERT_TRUE(model->write_data(1, tiny_size().run, directory.path(), 2));
    const Share share = {.train = {1, 3}, .eval = {0}};
    const auto names = model->files_of(directory.path(), share);
    ASSERT_TRUE(names) << names.error().message();
    EXPECT_THAT(*names, testing::ElementsAre("train/000001.structure", "train/000003.structure",
                                             "eval/000000.structure"));
    for (const std::string& name : *names) {
        ASSERT_TRUE(core::make_directories((staged.path() / name).parent_path()));
        ASSERT_TRUE(core::write_output(staged.path() / name, *core::read_file(directory.path() / name)));
    }
    const auto whole = model->make_data({.directory = directory.path()}, share, 1);
    const auto part = model->make_data({.directory = staged.path(), .listing = directory.path()}, share, 1);
    ASSERT_TRUE(whole && part);
    Batch expected, found;
    ASSERT_TRUE((*whole)->load(Split::kTrain, share.train, expected));
    ASSERT_TRUE((*part)->load(Split::kTrain, share.train, found));
    EXPECT_EQ(found.inputs, expected.inputs);
    EXPECT_EQ(found.targets, expected.targets);

    ASSERT_TRUE(core::write_output(directory.path() / "manifest.json", "{}"));
    EXPECT_TRUE(model->files_of(directory.path(), share)->empty()) << "packed";
    std::filesystem::remove(directory.path() / "manifest.json");
    ASSERT_TRUE(core::write_output(directory.path() / "train/data.0000.lmdb", ""));
    EXPECT_TRUE(model->files_of(directory.path(), share)->empty()) << "OC20's own";
    EXPECT_FALSE(model->files_of(directory.path() / "none", share));
}

// Two structures of 2 and 1 atoms, of which the first one is fixed.
TEST(bench_oc20_training, metric_is_the_mean_over_components_of_free_atoms) {
    Structure pair, single;
    pair.numbers = {1, 6};
    pair.fixed = {1, 0};
    pair.positions.resize(2);
    pair.forces = {{9, 9, 9}, {1, -2, 3}};
    single.numbers = {8};
    single.fixed = {0};
    single.positions.resize(1);
    single.forces = {{0, 0, 1}};
    Batch batch{.samples = 2, .inputs = {}, .targets = {}};
    for (const Structure& structure : {pair, single}) append_to_batch(structure, batch.inputs, batch.targets);
    const ForceError metric;
    std::vector<double> sums(metric.sums());
    metric.add(batch, std::vector<float>{0, 0, 0, 1.5F, -2, 2, 0, 1, 1}, sums);
    const Evaluation evaluation = metric.conclude(sums);
    EXPECT_DOUBLE_EQ(evaluation.value, (0.5 + 0 + 1 + 0 + 1 + 0) / 6);
    EXPECT_DOUBLE_EQ(evaluation.details["zero_guess"].get<double>(), (1 + 2 + 3 + 0 + 0 + 1) / 6.0);
    EXPECT_EQ(evaluation.details["free_atoms"], 2);
    EXPECT_TRUE(metric.reached(0.036, 0.036));
    EXPECT_FALSE(metric.reached(0.037, 0.036));
    EXPECT_EQ(metric.conclude(std::vector<double>(3)).value, 0);
}

TEST(bench_oc20_training, samples_of_both_splits_are_those_of_their_index) {
    const Size size = tiny_size();
    auto samples = Samples::make(size, 1, {.train = {3, 7}, .eval = {0}}, 2);
    ASSERT_TRUE(samples);
    Batch batch;
    ASSERT_TRUE(samples->load(Split::kTrain, std::vector<uint32_t>{7, 3}, batch));
    EXPECT_EQ(batch.samples, 2u);
    std::vector<float> inputs, targets;
    for (uint32_t index : {7, 3})
        append_to_batch(make_structure(size, 1, Split::kTrain, index), inputs, targets);
    EXPECT_EQ(batch.inputs, inputs);
    EXPECT_EQ(batch.targets, targets);
}

}  // namespace
}  // namespace belay::bench::oc20
