#include "bench/models/cosmoflow/files/universe_directory.h"

#include "bench/models/cosmoflow/files/universe_record_for_tests.h"
#include "core/file.h"
#include "core/output.h"

#include <filesystem>
#include <vector>

#include <gmock/gmock.h>

namespace belay::bench::cosmoflow {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint32_t kDirectorySide = 2;

// A sample that is told by its first parameter.
std::string sample_with(float parameter) {
    return universe_record({parameter, 0, 0, 0}, std::vector<int16_t>(kChannels * 8, 5));
}

struct MadeDirectory {
    core::TemporaryDirectory directory = *core::TemporaryDirectory::create();

    MadeDirectory() {
        for (const char* folder : {"train", "validation"}) std::filesystem::create_directory(path() / folder);
    }
    const std::filesystem::path& path() const { return directory.path(); }
    void put(const std::string& name, std::string_view bytes) const {
        ASSERT_TRUE(core::write_output(path() / name, bytes));
    }
    core::Result<UniverseDirectory> open() const {
        return UniverseDirectory::open(path(), path(), kDirectorySide);
    }
};

core::Result<float> first_parameter(const UniverseDirectory& directory, Split split, uint32_t index) {
    std::vector<int16_t> counts(kChannels * 8);
    BELAY_TRY(parameters, directory.read(split, index, counts));
    return parameters[0];
}

TEST(bench_universe_directory, gives_its_samples_by_their_names) {
    const MadeDirectory made;
    made.put("train/b_000.tfrecord", sample_with(2));
    made.put("train/a_001.tfrecord", gzip_bytes(sample_with(1)));
    made.put("train/a_001_more.tfrecord.gz", gzip_bytes(sample_with(3)));
    made.put("train/README", "words");
    made.put("train/a.tfrecord.txt", "words");
    made.put("validation/c.tfrecord.gz", sample_with(4));
    const auto opened = made.open();
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_THAT(opened->samples().names(Split::kTrain),
                ElementsAre("train/a_001.tfrecord", "train/a_001_more.tfrecord.gz", "train/b_000.tfrecord"));
    EXPECT_EQ(*first_parameter(*opened, Split::kTrain, 0), 1);
    EXPECT_EQ(*first_parameter(*opened, Split::kTrain, 1), 3);
    EXPECT_EQ(*first_parameter(*opened, Split::kTrain, 2), 2);
    EXPECT_EQ(*first_parameter(*opened, Split::kEval, 0), 4) << "packed or not is told by the bytes";
    EXPECT_EQ(*opened->samples().name(Split::kEval, 0), "validation/c.tfrecord.gz");
    EXPECT_THAT(first_parameter(*opened, Split::kTrain, 3).error().render(),
                testing::AllOf(HasSubstr("has 3 samples to train on, and number 3 is asked for"),
                               HasSubstr("--train-samples")));
    EXPECT_THAT(opened->samples().name(Split::kEval, 1).error().message(),
                HasSubstr("has 1 samples to be judged by"));
}

// Packing all of them changes no number, also where one name begins as another.
TEST(bench_universe_directory, packed_files_have_the_numbers_of_those_that_are_not) {
    const MadeDirectory plain, packed;
    for (const char* name : {"train/a.tfrecord", "train/a.tfrecord-2.tfrecord", "train/b.tfrecord"}) {
        plain.put(name, "");
        packed.put(std::string(name) + ".gz", "");
    }
    std::vector<std::string> names = plain.open()->samples().names(Split::kTrain);
    for (std::string& name : names) name += ".gz";
    EXPECT_EQ(packed.open()->samples().names(Split::kTrain), names);
    packed.put("train/a.tfrecord", "");
    EXPECT_THAT(packed.open().error().message(), HasSubstr("one sample twice: train/a.tfrecord"));
}

TEST(bench_universe_directory, some_of_the_files_have_the_numbers_of_all) {
    const MadeDirectory all, some;
    for (int i = 0; i < 4; ++i)
        all.put(fmt::format("train/{}.tfrecord", i), sample_with(static_cast<float>(i)));
    some.put("train/2.tfrecord", sample_with(2));
    const auto opened = UniverseDirectory::open(some.path(), all.path(), kDirectorySide);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_EQ(*first_parameter(*opened, Split::kTrain, 2), 2);
    EXPECT_EQ(first_parameter(*opened, Split::kTrain, 1).error().cause(), core::Cause::kNotFound);
}

TEST(bench_universe_directory, says_what_is_wrong) {
    const MadeDirectory made;
    made.put("train/0.tfrecord", "damaged");
    made.put("train/1.tfrecord", std::string(universe_record_limit(kDirectorySide) + 1, 'x'));
    std::filesystem::create_directory(made.path() / "train/2.tfrecord");
    std::filesystem::create_symlink("0.tfrecord", made.path() / "train/3.tfrecord");
    const auto opened = made.open();
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_THAT(first_parameter(*opened, Split::kTrain, 0).error().message(),
                HasSubstr("train/0.tfrecord: record 0 at byte 0: 7 bytes are too few"));
    EXPECT_THAT(first_parameter(*opened, Split::kTrain, 1).error().render(),
                testing::AllOf(HasSubstr("larger than 65600 bytes"), HasSubstr("--profile full")));
    EXPECT_FALSE(first_parameter(*opened, Split::kTrain, 2));
    EXPECT_FALSE(first_parameter(*opened, Split::kTrain, 3));
    std::filesystem::remove(made.path() / "validation");
    EXPECT_THAT(made.open().error().render(), HasSubstr("it needs train/ and validation/ with *.tfrecord"));
    EXPECT_EQ(UniverseDirectory::open(made.path() / "nowhere", made.path(), kDirectorySide).error().cause(),
              core::Cause::kNotFound);
}

}  // namespace
}  // namespace belay::bench::cosmoflow
