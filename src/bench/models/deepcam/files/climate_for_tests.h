// For tests: DeepCAM's own files, as libhdf5 writes them.
#pragma once

#include "core/file.h"

#include <cstdint>
#include <functional>
#include <hdf5.h>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace belay::bench::deepcam {

// How a file for the tests is made; the defaults are right.
struct Made {
    std::vector<hsize_t> data_sizes = {4, 5, 3}, label_sizes = {4, 5}, chunk = {};
    std::vector<int32_t> labels = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1};
    hid_t label_type = H5T_STD_I32LE;
    bool with_labels = true, by_link = false, is_external = false;
    std::vector<H5Z_filter_t> filters = {};  // of chunks
};

inline void add_filter(hid_t creation, H5Z_filter_t filter) {
    switch (filter) {
        case H5Z_FILTER_DEFLATE:
            H5Pset_deflate(creation, 6);
            break;
        case H5Z_FILTER_SHUFFLE:
            H5Pset_shuffle(creation);
            break;
        default:
            H5Pset_fletcher32(creation);
    }
}

inline void write_set(hid_t file, const char* name, const std::vector<hsize_t>& sizes, hid_t type,
                      hid_t memory_type, const void* values, const Made& made) {
    const hid_t space = H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    if (made.chunk.size() == sizes.size())
        H5Pset_chunk(creation, static_cast<int>(sizes.size()), made.chunk.data());
    for (H5Z_filter_t filter : made.filters)
        if (made.chunk.size() == sizes.size()) add_filter(creation, filter);
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
inline std::string bytes_of(const std::function<void(hid_t file)>& fill) {
    const core::TemporaryDirectory directory = *core::TemporaryDirectory::create();
    const std::string path = (directory.path() / "made.h5").string();
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    EXPECT_GE(file, 0);
    H5Gclose(H5Gcreate2(file, "climate", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    fill(file);
    H5Fclose(file);
    return *core::read_file(path);
}

inline std::string sample_bytes(const Made& made = {}) {
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

inline std::string range_bytes(const std::vector<float>& lowest, const std::vector<float>& highest) {
    return bytes_of([&](hid_t file) {
        write_set(file, "climate/minval", {lowest.size()}, H5T_IEEE_F64LE, H5T_NATIVE_FLOAT, lowest.data(),
                  {});
        write_set(file, "climate/maxval", {highest.size()}, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, highest.data(),
                  {});
    });
}

}  // namespace belay::bench::deepcam
