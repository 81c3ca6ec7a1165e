#include "bench/models/deepcam/training/samples.h"

#include "bench/models/deepcam/files/climate_directory.h"
#include "bench/models/deepcam/files/climate_for_tests.h"
#include "bench/models/deepcam/training/model.h"
#include "bench/models/deepcam/training/tiny_size_for_tests.h"
#include "core/output.h"

#include <gmock/gmock.h>

namespace belay::bench::deepcam {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Share kShare = {.train = {1, 3}, .eval = {0}};

// Four samples to train on and one to be judged by, each with labels of its own.
void write_own_data(const std::filesystem::path& path, const Shape& image) {
    const auto cells = static_cast<size_t>(image.cells()), channels = static_cast<size_t>(image.channels);
    Made made{.data_sizes = {static_cast<hsize_t>(image.height), static_cast<hsize_t>(image.width), channels},
              .label_sizes = {static_cast<hsize_t>(image.height), static_cast<hsize_t>(image.width)},
              .labels = std::vector<int32_t>(cells)};
    for (const char* folder : {"train", "validation"}) ASSERT_TRUE(core::make_directories(path / folder));
    ASSERT_TRUE(core::write_output(
        path / kRangesName, range_bytes(std::vector<float>(channels, 0), std::vector<float>(channels, 4))));
    for (const char* name : {"train/data-1.h5", "train/data-2.h5", "train/data-3.h5", "train/data-4.h5",
                             "validation/data-5.h5"}) {
        ASSERT_TRUE(core::write_output(path / name, sample_bytes(made)));
        made.labels[static_cast<size_t>(name[std::string_view(name).size() - 4] - '0')] = 2;
    }
}

void copy_files(const std::filesystem::path& from, const std::filesystem::path& to,
                const std::vector<std::string>& names) {
    for (const std::string& name : names) {
        ASSERT_TRUE(core::make_directories((to / name).parent_path()));
        auto bytes = core::read_file(from / name);
        ASSERT_TRUE(bytes) << bytes.error().message();
        ASSERT_TRUE(core::write_output(to / name, *bytes));
    }
}

// That the share's samples are the same where only its files are.
void expect_the_same_where_staged(const std::filesystem::path& from, const std::vector<std::string>& names) {
    const core::TemporaryDirectory staged = *core::TemporaryDirectory::create();
    copy_files(from, staged.path(), names);
    const auto model = make_model(tiny_size());
    auto whole = model->make_data({.directory = from}, kShare, 1);
    auto part = model->make_data({.directory = staged.path(), .listing = from}, kShare, 1);
    ASSERT_TRUE(whole) << whole.error().message();
    ASSERT_TRUE(part) << part.error().message();
    for (const auto& [split, indices] : {std::pair(Split::kTrain, std::span(kShare.train)),
                                         std::pair(Split::kEval, std::span(kShare.eval))}) {
        Batch expected, found;
        ASSERT_TRUE((*whole)->load(split, indices, expected));
        ASSERT_TRUE((*part)->load(split, indices, found));
        EXPECT_EQ(found.inputs, expected.inputs);
        EXPECT_EQ(found.targets, expected.targets);
    }
    Batch other;
    EXPECT_FALSE((*part)->load(Split::kTrain, std::vector<uint32_t>{0}, other)) << "of another share";
}

TEST(bench_deepcam_samples, own_data_that_are_staged_in_part_keep_their_numbers) {
    const core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    write_own_data(directory.path(), tiny_size().image);
    const auto model = make_model(tiny_size());
    const auto names = model->files_of(directory.path(), kShare);
    ASSERT_TRUE(names) << names.error().message();
    EXPECT_THAT(*names,
                ElementsAre("stats.h5", "train/data-2.h5", "train/data-4.h5", "validation/data-5.h5"));
    expect_the_same_where_staged(directory.path(), *names);
    EXPECT_THAT(model->files_of(directory.path(), {.train = {4}, .eval = {}}).error().message(),
                HasSubstr("has 4 samples to train on, and number 4 is asked for"));
}

TEST(bench_deepcam_samples, loose_files_are_those_of_the_share_and_packed_ones_all) {
    const core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    Profile profile = tiny_size().run;
    profile.train_samples = 4;
    profile.eval_samples = 1;
    const auto model = make_model(tiny_size());
    ASSERT_TRUE(model->write_data(1, profile, directory.path(), 1));
    const auto names = model->files_of(directory.path(), kShare);
    ASSERT_TRUE(names) << names.error().message();
    EXPECT_THAT(*names, ElementsAre("train/000001.climate", "train/000003.climate", "eval/000000.climate"));
    expect_the_same_where_staged(directory.path(), *names);
    ASSERT_TRUE(core::write_output(directory.path() / "manifest.json", "{}"));
    EXPECT_TRUE(model->files_of(directory.path(), kShare)->empty());
    EXPECT_FALSE(model->files_of(directory.path() / "none", kShare));
}

}  // namespace
}  // namespace belay::bench::deepcam
