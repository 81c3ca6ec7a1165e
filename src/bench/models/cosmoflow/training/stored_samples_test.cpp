#include "bench/models/cosmoflow/training/stored_samples.h"

#include "bench/models/cosmoflow/files/universe_record_for_tests.h"
#include "bench/models/cosmoflow/training/model.h"
#include "bench/models/cosmoflow/training/samples.h"
#include "bench/train/test_ranks.h"
#include "bench/train/test_training.h"
#include "core/file.h"
#include "core/output.h"

#include <filesystem>
#include <iterator>

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int kStoredChannels[] = {4, 4, 8};
constexpr uint32_t kStoredSide = 8;

Size stored_size() {
    Size size = *size_named("mini");
    size.side = kStoredSide;
    size.channels = kStoredChannels;
    size.run.train_samples = 20;
    size.run.eval_samples = 6;
    size.run.maximum_epochs = 1;
    return size;
}

// The universes of the profile as CosmoFlow's own data, every second one packed.
void write_records(const fs::path& path) {
    const Profile profile = stored_size().run;
    UniverseGenerator generator(kStoredSide, 1);
    std::vector<int16_t> counts(generator.values_per_universe());
    auto write = [&](Split split, const char* folder, int samples) {
        fs::create_directories(path / folder);
        for (int i = 0; i < samples; ++i) {
            const Parameters parameters = generator.make(split, static_cast<uint32_t>(i), counts);
            const std::string file = universe_record(parameters, counts);
            const std::string name = fmt::format("univ_ics_{:08}_{:03}.tfrecord", 7 * i, i);
            ASSERT_TRUE(core::write_output(path / folder / name, i % 2 == 0 ? gzip_bytes(file) : file));
        }
    };
    write(Split::kTrain, "train", profile.train_samples);
    write(Split::kEval, "validation", profile.eval_samples);
}

Share whole_share() {
    return share_of(stored_size().run, 0, 1);
}
core::Result<StoredSamples> open_stored(const fs::path& path) {
    return StoredSamples::open({.directory = path}, kStoredSide, whole_share());
}

TEST(bench_stored_samples, are_the_same_made_loose_and_as_records) {
    const core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    ASSERT_TRUE(write_samples(directory.path() / "loose", kStoredSide, 1, stored_size().run, 1));
    write_records(directory.path() / "records");
    const auto made = Samples::make(kStoredSide, 1, whole_share(), 1);
    const auto loose = open_stored(directory.path() / "loose");
    const auto records = open_stored(directory.path() / "records");
    ASSERT_TRUE(loose) << loose.error().message();
    ASSERT_TRUE(records) << records.error().message();
    for (Split split : {Split::kTrain, Split::kEval}) {
        const uint32_t indices[] = {5, 0, 3, 4};
        Batch batches[3];
        ASSERT_TRUE(made->load(split, indices, batches[0]));
        ASSERT_TRUE(loose->load(split, indices, batches[1]));
        ASSERT_TRUE(records->load(split, indices, batches[2]));
        for (const Batch& batch : batches) {
            EXPECT_EQ(batch.samples, 4u);
            EXPECT_EQ(batch.inputs, batches[0].inputs);
            EXPECT_EQ(batch.targets, batches[0].targets);
        }
    }
}

TEST(bench_stored_samples, files_of_a_share_are_those_of_its_samples) {
    const core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    const Share share = {.train = {2, 0}, .eval = {1}};
    auto files = [&](const fs::path& path) {
        return files_of_share(directory.path() / path, kStoredSide, share);
    };
    ASSERT_TRUE(write_samples(directory.path() / "loose", kStoredSide, 1, stored_size().run, 1));
    EXPECT_THAT(*files("loose"),
                ElementsAre("train/000002.universe", "train/000000.universe", "eval/000001.universe"));
    write_records(directory.path() / "records");
    EXPECT_THAT(*files("records"),
                ElementsAre("train/univ_ics_00000014_002.tfrecord", "train/univ_ics_00000000_000.tfrecord",
                            "validation/univ_ics_00000007_001.tfrecord"));
    ASSERT_TRUE(core::write_output(directory.path() / "records/manifest.json", "{}"));
    EXPECT_THAT(*files("records"), ElementsAre()) << "packed: all of them";
    fs::remove(directory.path() / "records/manifest.json");
    EXPECT_THAT(files_of_share(directory.path() / "records", kStoredSide, {.train = {20}}).error().message(),
                HasSubstr("has 20 samples to train on, and number 20 is asked for"));
    EXPECT_EQ(files("nowhere").error().cause(), core::Cause::kNotFound);
}

TEST(bench_stored_samples, a_directory_without_any_says_what_is_expected) {
    const core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    for (const char* folder : {"", "eval", "train"}) {
        fs::create_directories(directory.path() / folder);
        const auto opened = open_stored(directory.path());
        EXPECT_THAT(opened.error().render(),
                    testing::AllOf(HasSubstr("has no samples of CosmoFlow"), HasSubstr("--write-data"),
                                   HasSubstr("*.tfrecord")));
    }
    ASSERT_TRUE(core::write_output(directory.path() / "train/data-0.h5", ""));
    EXPECT_FALSE(files_of_share(directory.path(), kStoredSide, {}));
    ASSERT_TRUE(core::write_output(directory.path() / "train/0.tfrecord", ""));
    EXPECT_THAT(open_stored(directory.path()).error().render(), HasSubstr("it needs train/ and validation/"));
    fs::create_directory(directory.path() / "validation");
    EXPECT_THAT(open_stored(directory.path()).error().message(), HasSubstr("train/0.tfrecord: it is empty"));
}

TEST(bench_stored_samples, training_on_records_is_training_on_what_is_made_also_staged) {
    const core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    write_records(directory.path() / "data");
    RunOptions options{.profile = stored_size().run};
    Group alone;
    auto digest = [&] {
        const Finished finished = bench::train(*make_model(stored_size()), options, alone);
        if (!finished.outcome) ADD_FAILURE() << finished.outcome.error().message();
        return finished.outcome ? finished.outcome->weights_digest : "";
    };
    const std::string made = digest();
    options.data.directory = directory.path() / "data";
    EXPECT_EQ(digest(), made);
    options.stage_to = directory.path() / "node";
    EXPECT_EQ(digest(), made);
    // Of 20 samples 16 fill batches.
    EXPECT_EQ(std::distance(fs::directory_iterator(directory.path() / "node/train"), {}), 16);
    EXPECT_EQ(std::distance(fs::directory_iterator(directory.path() / "node/validation"), {}), 6);
}

// Each of two ranks stages half of the samples, whose numbers stay.
TEST(bench_stored_samples, ranks_that_stage_their_own_files_train_as_one_does) {
    const core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    write_records(directory.path() / "data");
    RunOptions options{.profile = stored_size().run};
    options.steps = 2;
    Group alone;
    const Finished one = bench::train(*make_model(stored_size()), options, alone);
    ASSERT_TRUE(one.outcome) << one.outcome.error().message();
    Ranks(2).run([&](Group& group) {
        RunOptions staged = options;
        staged.data.directory = directory.path() / "data";
        staged.stage_to = directory.path() / fmt::format("node{}", group.rank());
        const Finished two = bench::train(*make_model(stored_size()), staged, group);
        ASSERT_TRUE(two.outcome) << two.outcome.error().message();
        EXPECT_EQ(std::distance(fs::directory_iterator(staged.stage_to / "train"), {}), 8);
        if (group.rank() != 0) return;
        ASSERT_EQ(two.weights.size(), one.weights.size());
        for (size_t i = 0; i < one.weights.size(); ++i)
            ASSERT_NEAR(two.weights[i], one.weights[i], 1e-5) << i;
    });
}

}  // namespace
}  // namespace belay::bench::cosmoflow
