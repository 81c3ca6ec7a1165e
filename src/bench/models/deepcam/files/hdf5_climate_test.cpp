#include "bench/models/deepcam/files/hdf5_climate.h"

#include "bench/models/deepcam/files/climate_directory.h"
#include "bench/synthetic/random.h"
#include "core/file.h"
#include "core/output.h"

#include <functional>
#include <hdf5.h>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>

namespace belay::bench::deepcam {
namespace {

using testing::HasSubstr;

const Shape kImage = {.channels = 3, .height = 4, .width = 5};
constexpr size_t kCells = 20;

// How a file for the tests is made; the defaults are right.
struct Made {
    std::vector<hsize_t> data_sizes = {4, 5, 3}, label_sizes = {4, 5}, chunk = {};
    std::vector<int32_t> labels = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1};
    hid_t label_type = H5T_STD_I32LE;
    bool with_labels = true, by_link = false, is_external = false, is_compressed = false;
};

void write_set(hid_t file, const char* name, const std::vector<hsize_t>& sizes, hid_t type, hid_t memory_type,
               const void* values, const Made& made) {
    const hid_t space = H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (made.chunk.size() == sizes.size())
        H5Pset_chunk(creation, static_cast<int>(sizes.size()), made.chunk.data());
    if (made.chunk.size() == sizes.size() && made.is_compressed) H5Pset_deflate(creation, 6);
    if (made.is_external) H5Pset_external(creation, "elsewhere.bin", 0, H5F_UNLIMITED);
    const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    ASSERT_GE(set, 0) << name;
    if (!made.is_external) {
        ASSERT_GE(H5Dwrite(set, memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), 0);
    }
    H5Dclose(set);
    H5Pclose(creation);
    H5Sclose(space);
}

// The bytes of a file that `fill` has filled.
std::string bytes_of(const std::function<void(hid_t file)>& fill) {
    const core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    const std::string path = (directory.path() / "made.h5").string();
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(file, 0);
    H5Gclose(H5Gcreate2(file, "climate", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    fill(file);
    H5Fclose(file);
    return *core::read_file(path);
}

std::string sample_bytes(const Made& made = {}) {
    return bytes_of([&](hid_t file) {
        std::vector<float> data(
            std::accumulate(made.data_sizes.begin(), made.data_sizes.end(), size_t{1}, std::multiplies<>()));
        std::iota(data.begin(), data.end(), 0.0F);  // cell * 3 + channel
        if (made.by_link) {
            write_set(file, "elsewhere", made.data_sizes, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, data.data(),
                      made);
            H5Lcreate_soft("/elsewhere", file, "climate/data", H5P_DEFAULT, H5P_DEFAULT);
        } else {
            write_set(file, "climate/data", made.data_sizes, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, data.data(),
                      made);
        }
        if (made.with_labels)
            write_set(file, "climate/labels_0", made.label_sizes, made.label_type, H5T_NATIVE_INT32,
                      made.labels.data(), made);
    });
}

std::string range_bytes(const std::vector<float>& lowest, const std::vector<float>& highest) {
    return bytes_of([&](hid_t file) {
        write_set(file, "climate/minval", {lowest.size()}, H5T_IEEE_F64LE, H5T_NATIVE_FLOAT, lowest.data(),
                  {});
        write_set(file, "climate/maxval", {highest.size()}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, highest.data(),
                  {});
    });
}

const ChannelRanges kRanges = {{0, 10, -1}, {1, 0.5F, 2}};

struct Decoded {
    std::vector<float> values = std::vector<float>(3 * kCells);
    std::vector<uint8_t> mask = std::vector<uint8_t>(kCells);
    core::Result<> outcome;
};

Decoded decode(std::string_view bytes, const Shape& image = kImage) {
    Decoded decoded;
    const auto cells = static_cast<size_t>(image.cells());
    decoded.values.resize(cells * static_cast<size_t>(image.channels));
    decoded.mask.resize(cells);
    decoded.outcome = read_hdf5_climate(bytes, image, kRanges, decoded.values, decoded.mask);
    return decoded;
}

std::string problem(const Made& made) {
    const Decoded decoded = decode(sample_bytes(made));
    return decoded.outcome ? "none" : decoded.outcome.error().message();
}

void expect_right(const Decoded& decoded) {
    ASSERT_TRUE(decoded.outcome) << decoded.outcome.error().message();
    for (size_t cell = 0; cell < kCells; ++cell) {
        EXPECT_EQ(decoded.mask[cell], cell % 3);
        for (size_t channel = 0; channel < 3; ++channel)
            EXPECT_EQ(
                decoded.values[channel * kCells + cell],
                (static_cast<float>(cell * 3 + channel) - kRanges.lowest[channel]) * kRanges.factor[channel]);
    }
}

TEST(bench_hdf5_climate, gives_what_libhdf5_has_written_scaled_and_by_channel) {
    expect_right(decode(sample_bytes()));
    for (hid_t type : {H5T_STD_I64BE, H5T_STD_U8LE, H5T_IEEE_F32LE, H5T_IEEE_F64LE})
        expect_right(decode(sample_bytes({.label_type = type})));
    expect_right(decode(sample_bytes({.chunk = {2, 5, 3}, .is_compressed = true})));
}

TEST(bench_hdf5_climate, is_read_by_several_threads) {
    const std::string bytes = sample_bytes();
    std::vector<Decoded> decoded(4);
    {
        std::vector<std::jthread> threads;
        for (Decoded& one : decoded)
            threads.emplace_back([&] {
                for (int i = 0; i < 20; ++i) one = decode(bytes);
            });
    }
    for (const Decoded& one : decoded) expect_right(one);
}

TEST(bench_hdf5_climate, says_what_is_wrong) {
    EXPECT_THAT(problem({.data_sizes = {4, 6, 3}}),
                HasSubstr("climate/data has 4 x 6 x 3 values; this profile needs 4 x 5 x 3"));
    EXPECT_THAT(problem({.data_sizes = {60}}), HasSubstr("has 60 values"));
    EXPECT_THAT(problem({.label_sizes = {5, 4}}), HasSubstr("climate/labels_0 has 5 x 4 values"));
    EXPECT_THAT(problem({.with_labels = false}), HasSubstr("it has no climate/labels_0"));
    EXPECT_THAT(problem({.by_link = true}), HasSubstr("its climate/data is a link"));
    EXPECT_THAT(problem({.is_external = true}), HasSubstr("lies in other files"));
    Made odd;
    odd.labels[7] = 3;
    EXPECT_THAT(problem(odd), HasSubstr("the class 3 at (2, 1)"));
    odd.labels[7] = -1;
    EXPECT_THAT(problem(odd), HasSubstr("the class -1"));
    EXPECT_THAT(decode("").outcome.error().message(), HasSubstr("HDF5"));
    EXPECT_THAT(decode("no HDF5 at all").outcome.error().message(), HasSubstr("cannot be opened as HDF5"));
}

// Whatever is done to the bytes, it ends with values or with an error of ours, and nothing is printed.
TEST(bench_hdf5_climate, damaged_bytes_are_an_error_and_not_a_crash) {
    for (const Made& made : {Made{}, Made{.chunk = {2, 5, 3}, .is_compressed = true}}) {
        const std::string bytes = sample_bytes(made);
        testing::internal::CaptureStderr();
        for (size_t length = 0; length < bytes.size(); length += 97)
            EXPECT_FALSE(decode(bytes.substr(0, length)).outcome) << length;
        RandomStream random(1, Split::kTrain, 0, 0);
        int refused = 0;
        for (int i = 0; i < 600; ++i) {
            std::string damaged = bytes;
            const uint32_t many = 1 + random.next_below(4);
            for (uint32_t j = 0; j < many; ++j)
                damaged[random.next_below(static_cast<uint32_t>(damaged.size()))] ^=
                    static_cast<char>(1U << random.next_below(8));
            refused += decode(damaged).outcome ? 0 : 1;
        }
        EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
        EXPECT_GT(refused, 20);
    }
}

TEST(bench_hdf5_climate, ranges_are_lowest_and_highest_of_each_channel) {
    const auto ranges = read_ranges(range_bytes({0, -2, 10}, {4, 2, 11}), 3);
    ASSERT_TRUE(ranges) << ranges.error().message();
    EXPECT_EQ(ranges->lowest, (std::vector<float>{0, -2, 10}));
    EXPECT_EQ(ranges->factor, (std::vector<float>{0.25F, 0.25F, 1}));
    EXPECT_THAT(read_ranges(range_bytes({0, 1}, {1, 2}), 3).error().message(), HasSubstr("has 2 values"));
    EXPECT_THAT(read_ranges(range_bytes({0, 1, 5}, {1, 2, 5}), 3).error().message(),
                HasSubstr("channel 2 goes from 5 to 5"));
    EXPECT_THAT(read_ranges(range_bytes({0, 1, NAN}, {1, 2, 5}), 3).error().message(),
                HasSubstr("channel 2"));
}

TEST(bench_hdf5_climate, directory_gives_its_samples_by_their_names) {
    const core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    EXPECT_FALSE(*ClimateDirectory::is_at(directory.path()));
    EXPECT_THAT(ClimateDirectory::open(directory.path(), kImage).error().render(),
                HasSubstr("it needs stats.h5"));
    for (const char* folder : {"train", "validation"})
        ASSERT_TRUE(core::make_directories(directory.path() / folder));
    ASSERT_TRUE(core::write_output(directory.path() / kRangesName, range_bytes({0, 10, -1}, {1, 12, -0.5F})));
    Made second;
    second.labels[0] = 2;
    ASSERT_TRUE(core::write_output(directory.path() / "train/data-1.h5", sample_bytes()));
    ASSERT_TRUE(core::write_output(directory.path() / "train/data-2.h5", sample_bytes(second)));
    ASSERT_TRUE(core::write_output(directory.path() / "train/README", "words"));
    ASSERT_TRUE(core::write_output(directory.path() / "validation/data-9.h5", "damaged"));
    EXPECT_TRUE(*ClimateDirectory::is_at(directory.path()));
    auto opened = ClimateDirectory::open(directory.path(), kImage);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_THAT(opened->names(Split::kTrain), testing::ElementsAre("train/data-1.h5", "train/data-2.h5"));
    Decoded first, other;
    first.outcome = opened->read(Split::kTrain, 0, first.values, first.mask);
    expect_right(first);
    ASSERT_TRUE(opened->read(Split::kTrain, 1, other.values, other.mask));
    EXPECT_EQ(other.mask[0], 2);
    EXPECT_THAT(opened->read(Split::kTrain, 2, other.values, other.mask).error().render(),
                HasSubstr("has 2 samples to train on, and number 2 is asked for"));
    EXPECT_THAT(opened->read(Split::kEval, 0, other.values, other.mask).error().message(),
                HasSubstr("validation/data-9.h5: it cannot be opened as HDF5"));
}

}  // namespace
}  // namespace belay::bench::deepcam
