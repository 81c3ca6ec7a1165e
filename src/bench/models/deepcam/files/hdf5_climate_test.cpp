#include "bench/models/deepcam/files/hdf5_climate.h"

#include "bench/models/deepcam/files/climate_directory.h"
#include "bench/models/deepcam/files/climate_for_tests.h"
#include "bench/models/deepcam/files/local_heaps.h"
#include "bench/synthetic/random.h"
#include "core/file.h"
#include "core/output.h"

#include <cstring>
#include <hdf5.h>
#include <thread>

#include <gmock/gmock.h>

// libhdf5 1.10 does not give back everything of a file that it finds damaged.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
    return "leak:libhdf5";
}

namespace belay::bench::deepcam {
namespace {

using testing::HasSubstr;

const Shape kImage = {.channels = 3, .height = 4, .width = 5};
constexpr size_t kCells = 20;

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
    for (const std::vector<hsize_t>& chunk : {std::vector<hsize_t>{2, 5, 3}, {4, 5, 3}, {3, 2, 2}, {1, 1, 1}})
        for (const std::vector<H5Z_filter_t>& filters : {std::vector<H5Z_filter_t>{},
                                                         {H5Z_FILTER_DEFLATE},
                                                         {H5Z_FILTER_SHUFFLE},
                                                         {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE}})
            expect_right(decode(sample_bytes({.chunk = chunk, .filters = filters})));
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

TEST(bench_hdf5_climate, is_read_with_the_filters_shuffle_and_deflate_alone) {
    for (const std::vector<H5Z_filter_t>& filters : {std::vector<H5Z_filter_t>{H5Z_FILTER_FLETCHER32},
                                                     {H5Z_FILTER_DEFLATE, H5Z_FILTER_FLETCHER32},
                                                     {H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE},
                                                     {H5Z_FILTER_DEFLATE, H5Z_FILTER_DEFLATE}})
        EXPECT_THAT(
            problem({.chunk = {2, 5, 3}, .filters = filters}),
            HasSubstr(fmt::format("its climate/data was written with the filter {} in place {} of {};",
                                  filters.back(), filters.size(), filters.size())));
}

// A chunk as libhdf5 stores so many zeros.
std::string stored_zeros(hsize_t bytes) {
    std::string stored;
    bytes_of([&](hid_t file) {
        const std::vector<uint8_t> zeros(bytes);
        write_set(file, "zeros", {bytes}, H5T_STD_U8LE, H5T_NATIVE_UINT8, zeros.data(),
                  {.chunk = {bytes}, .filters = {H5Z_FILTER_DEFLATE}});
        const hid_t set = H5Dopen2(file, "zeros", H5P_DEFAULT);
        const hsize_t place = 0;
        hsize_t size = 0;
        uint32_t filters_left_out = 0;
        EXPECT_GE(H5Dflush(set), 0);
        EXPECT_GE(H5Dget_chunk_storage_size(set, &place, &size), 0);
        stored.resize(size);
        EXPECT_GE(H5Dread_chunk(set, H5P_DEFAULT, &place, &filters_left_out, stored.data()), 0);
        H5Dclose(set);
    });
    return stored;
}

// A sample whose data are one chunk with these bytes.
std::string sample_with_chunk(const Shape& image, const std::string& stored, uint32_t filters_left_out = 0) {
    const auto height = static_cast<hsize_t>(image.height), width = static_cast<hsize_t>(image.width),
               channels = static_cast<hsize_t>(image.channels);
    return bytes_of([&](hid_t file) {
        const Made made{.chunk = {height, width, channels}, .filters = {H5Z_FILTER_DEFLATE}};
        const std::vector<float> zeros(height * width * channels);
        write_set(file, "climate/data", made.chunk, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, zeros.data(), made);
        write_set(file, "climate/labels_0", {height, width}, H5T_STD_U8LE, H5T_NATIVE_FLOAT, zeros.data(),
                  {});
        const hid_t set = H5Dopen2(file, "climate/data", H5P_DEFAULT);
        const hsize_t place[] = {0, 0, 0};
        EXPECT_GE(H5Dwrite_chunk(set, H5P_DEFAULT, filters_left_out, place, stored.size(), stored.data()), 0);
        H5Dclose(set);
    });
}

TEST(bench_hdf5_climate, expands_a_chunk_to_its_size_and_no_further) {
    const Shape image = {.channels = 3, .height = 64, .width = 64};
    constexpr hsize_t kBytes = 64 * 64 * 3 * sizeof(float);
    const auto said = [&](const std::string& stored, uint32_t filters_left_out = 0) {
        const Decoded decoded = decode(sample_with_chunk(image, stored, filters_left_out), image);
        return decoded.outcome ? "none" : decoded.outcome.error().message();
    };
    EXPECT_EQ(said(stored_zeros(kBytes)), "none");
    EXPECT_EQ(said(std::string(kBytes, '\0'), 1), "none");
    EXPECT_THAT(said(stored_zeros(kBytes + 1)),
                HasSubstr("expands to at least 49153 bytes, and should have 49152"));
    EXPECT_THAT(said(stored_zeros(50 << 20)),
                HasSubstr("its climate/data has a chunk that expands to at least"));
    EXPECT_THAT(said(stored_zeros(kBytes - 1)), HasSubstr("expands to only 49151 bytes"));
    EXPECT_THAT(said(std::string(kBytes - 1, '\0'), 1), HasSubstr("expands to only 49151 bytes"));
    EXPECT_THAT(said(std::string(2 * kBytes, '\0'), 1),
                HasSubstr("a chunk stored in 98304 bytes, for 49152"));
    const std::string good = stored_zeros(kBytes);
    EXPECT_THAT(said(good.substr(0, good.size() / 2)), HasSubstr("its climate/data: a chunk: it is damaged"));
}

TEST(bench_hdf5_climate,
     of_chunks_that_were_never_written_has_the_value_that_fills_them_and_of_too_many_none) {
    const Shape large = {.channels = 3, .height = 256, .width = 256};
    const auto sample = [&](hsize_t side) {
        return bytes_of([&](hid_t file) {
            for (const char* name : {"climate/data", "climate/labels_0"}) {
                const bool is_data = std::string_view(name) == "climate/data";
                const std::vector<hsize_t> sizes = {256, 256, 3}, chunk = {side, side, 1};
                const int rank = is_data ? 3 : 2;
                const hid_t space = H5Screate_simple(rank, sizes.data(), nullptr);
                const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
                H5Pset_chunk(creation, rank, chunk.data());
                H5Pset_deflate(creation, 6);
                H5Dclose(H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
                H5Pclose(creation);
                H5Sclose(space);
            }
        });
    };
    const Decoded empty = decode(sample(16), large);
    ASSERT_TRUE(empty.outcome) << empty.outcome.error().message();
    EXPECT_EQ(empty.values[0], 0);
    EXPECT_EQ(empty.values[256 * 256], (0 - kRanges.lowest[1]) * kRanges.factor[1]);
    EXPECT_THAT(decode(sample(1), large).outcome.error().message(),
                HasSubstr("its climate/data has 196608 chunks; up to 65536 are read"));
}

// libhdf5 would read beyond the short one: its place in the list of chunks is a little-endian size, before a mask of filters.
TEST(bench_hdf5_climate, chunks_without_filters_are_as_long_as_they_should_be) {
    std::string bytes = sample_bytes({.chunk = {2, 5, 3}});
    constexpr std::string_view kSizeAndMask("\x78\0\0\0\0\0\0\0", 8);
    const size_t place = bytes.find(kSizeAndMask);
    ASSERT_NE(place, std::string::npos);
    ASSERT_TRUE(decode(bytes).outcome);
    for (const char size : {'\x3a', '\x79'}) {
        bytes[place] = size;
        EXPECT_THAT(decode(bytes).outcome.error().message(),
                    HasSubstr(fmt::format("its climate/data has a chunk of {} bytes, and should have 120",
                                          static_cast<int>(size))));
    }
}

// Whatever is done to the bytes, it ends with values or with an error of ours, and nothing is printed.
TEST(bench_hdf5_climate, free_blocks_in_a_circle_are_refused_before_libhdf5_sees_them) {
    std::string bytes = sample_bytes();
    ASSERT_TRUE(check_local_heaps(bytes));
    const size_t heap = bytes.find(std::string_view("HEAP\0\0\0\0", 8));
    ASSERT_NE(heap, std::string::npos) << "the group of the samples has a local heap";
    uint64_t head = 0, data = 0;
    std::memcpy(&head, bytes.data() + heap + 16, sizeof head);
    std::memcpy(&data, bytes.data() + heap + 24, sizeof data);
    std::memcpy(bytes.data() + data + head, &head, sizeof head);  // the first free block is its own next
    const auto checked = check_local_heaps(bytes);
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message(), HasSubstr("go in a circle"));
}

TEST(bench_hdf5_climate, damaged_bytes_are_an_error_and_not_a_crash) {
    for (const Made& made :
         {Made{}, Made{.chunk = {2, 5, 3}}, Made{.chunk = {2, 5, 3}, .filters = {H5Z_FILTER_DEFLATE}},
          Made{.chunk = {2, 5, 3}, .filters = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE}}}) {
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
    EXPECT_THAT(ClimateDirectory::open(directory.path(), directory.path(), kImage).error().render(),
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
    auto opened = ClimateDirectory::open(directory.path(), directory.path(), kImage);
    ASSERT_TRUE(opened) << opened.error().message();
    EXPECT_THAT(opened->samples().names(Split::kTrain),
                testing::ElementsAre("train/data-1.h5", "train/data-2.h5"));
    Decoded first, other;
    first.outcome = opened->read(Split::kTrain, 0, first.values, first.mask);
    expect_right(first);
    ASSERT_TRUE(opened->read(Split::kTrain, 1, other.values, other.mask));
    EXPECT_EQ(other.mask[0], 2);
    EXPECT_THAT(opened->read(Split::kTrain, 2, other.values, other.mask).error().render(),
                HasSubstr("has 2 samples to train on, and number 2 is asked for"));
    EXPECT_THAT(opened->read(Split::kEval, 0, other.values, other.mask).error().message(),
                HasSubstr("validation/data-9.h5: it cannot be opened as HDF5"));

    const core::TemporaryDirectory staged = *core::TemporaryDirectory::create();
    ASSERT_TRUE(core::make_directories(staged.path() / "train"));
    for (const std::string& name : {std::string(kRangesName), *opened->samples().name(Split::kTrain, 1)})
        std::filesystem::copy_file(directory.path() / name, staged.path() / name);
    opened = ClimateDirectory::open(staged.path(), directory.path(), kImage);
    ASSERT_TRUE(opened) << opened.error().message();
    ASSERT_TRUE(opened->read(Split::kTrain, 1, other.values, other.mask));
    EXPECT_EQ(other.mask[0], 2) << "the second one, though alone";
    EXPECT_THAT(opened->read(Split::kTrain, 0, other.values, other.mask).error().message(),
                HasSubstr((staged.path() / "train/data-1.h5").string()));
}

}  // namespace
}  // namespace belay::bench::deepcam
