#include "bench/models/deepcam/files/hdf5_climate.h"

#include "bench/models/deepcam/files/inflated_size.h"
#include "bench/models/deepcam/files/local_heaps.h"
#include "core/program.h"

#include <algorithm>
#include <cmath>
#include <hdf5.h>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace belay::bench::deepcam {

namespace {

using core::bad_input;
using core::Result;

// libhdf5 may be built without locks of its own, and its error stacks are the library's.
std::mutex& library_mutex() {
    static std::mutex mutex;
    return mutex;
}

// An identifier of libhdf5, closed at its end by the function for its kind.
class Handle {
  public:
    Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
    Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    Handle& operator=(Handle&&) = delete;
    ~Handle() {
        if (id_ >= 0) close_(id_);
    }
    hid_t get() const { return id_; }
    bool ok() const { return id_ >= 0; }

  private:
    hid_t id_;
    herr_t (*close_)(hid_t);
};

herr_t keep_description(unsigned /*number*/, const H5E_error2_t* error, void* text) {
    if (error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
    return 0;
}

// What libhdf5 said last, of the call that failed deepest.
core::Error library_error(std::string_view what) {
    std::string said;
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, keep_description, &said);
    H5Eclear2(H5E_DEFAULT);
    return bad_input("{}: it is damaged, or not such a file (libhdf5: {})", what,
                     said.empty() ? "no reason given" : said)
        .error();
}

// The bytes as a file that is open.
Result<Handle> open_bytes(std::string_view bytes) {
    if (bytes.empty()) return bad_input("it is empty, and should be HDF5");
    BELAY_CHECK(check_local_heaps(bytes));
    constexpr size_t kIncrement = 1 << 16;
    Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    if (!access.ok() || H5Pset_fapl_core(access.get(), kIncrement, false) < 0 ||
        H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG) < 0 ||
        H5Pset_file_image(access.get(), const_cast<char*>(bytes.data()), bytes.size()) < 0)
        return std::unexpected(library_error("cannot be given to libhdf5"));
    Handle file(H5Fopen("climate", H5F_ACC_RDONLY, access.get()), H5Fclose);
    if (!file.ok()) return std::unexpected(library_error("it cannot be opened as HDF5"));
    return file;
}

// A data set "group/name", by links that stay within the file.
Result<Handle> open_data_set(hid_t file, const std::string& group, const std::string& name) {
    for (const std::string& path : {group, group + "/" + name}) {
        H5L_info_t link{};
        if (H5Lget_info(file, path.c_str(), &link, H5P_DEFAULT) < 0) {
            H5Eclear2(H5E_DEFAULT);
            return bad_input("it has no {}", path);
        }
        if (link.type != H5L_TYPE_HARD) return bad_input("its {} is a link, and none is followed", path);
    }
    Handle data_set(H5Dopen2(file, (group + "/" + name).c_str(), H5P_DEFAULT), H5Dclose);
    if (!data_set.ok()) return std::unexpected(library_error(fmt::format("its {}/{}", group, name)));
    return data_set;
}

std::string shape_text(std::span<const hsize_t> sizes) {
    return fmt::format("{}", fmt::join(sizes, " x "));
}

// Which of a data set's filters is deflate. Errors: kBadInput for any but shuffle and, behind it, deflate: others may
// expand a chunk to any size, or are code from elsewhere.
Result<std::optional<unsigned>> place_of_deflate(hid_t creation, std::string_view name) {
    const int count = H5Pget_nfilters(creation);
    if (count < 0) return std::unexpected(library_error(name));
    std::optional<unsigned> found;
    for (unsigned place = 0; place < static_cast<unsigned>(count); ++place) {
        unsigned flags = 0, config = 0;
        size_t values = 0;
        const H5Z_filter_t filter =
            H5Pget_filter2(creation, place, &flags, &values, nullptr, 0, nullptr, &config);
        if (filter < 0) return std::unexpected(library_error(name));
        const bool is_shuffle = filter == H5Z_FILTER_SHUFFLE && place == 0;
        if (found || (!is_shuffle && filter != H5Z_FILTER_DEFLATE))
            return bad_input(
                "its {} was written with the filter {} in place {} of {}; shuffle and, behind it, deflate "
                "are read",
                name, static_cast<int>(filter), place + 1, count);
        if (!is_shuffle) found = place;
    }
    return found;
}

struct Chunks {
    std::vector<hsize_t> sizes;
    uint64_t bytes = 0;  // of each, expanded
};

Result<Chunks> chunks_of(hid_t creation, std::string_view name, std::span<const hsize_t> sizes,
                         size_t element_bytes) {
    // libhdf5 keeps some hundred bytes for each; DeepCAM's samples in chunks of a row have 768.
    constexpr hsize_t kMostChunks = 1 << 16;
    const int rank = static_cast<int>(sizes.size());
    Chunks chunks{.sizes = std::vector<hsize_t>(sizes.size()), .bytes = element_bytes};
    if (H5Pget_chunk(creation, rank, chunks.sizes.data()) != rank)
        return std::unexpected(library_error(name));
    hsize_t count = 1;
    for (size_t i = 0; i < sizes.size(); ++i) {
        if (chunks.sizes[i] == 0 || chunks.sizes[i] > sizes[i])
            return bad_input("its {} has chunks larger than itself: it is damaged", name);
        count *= (sizes[i] + chunks.sizes[i] - 1) / chunks.sizes[i];
        chunks.bytes *= chunks.sizes[i];
    }
    if (count > kMostChunks)
        return bad_input("its {} has {} chunks; up to {} are read", name, count, kMostChunks);
    return chunks;
}

// Sets `place` to the next chunk's; false behind the last one.
bool go_on(std::vector<hsize_t>& place, const Chunks& chunks, std::span<const hsize_t> sizes) {
    for (size_t i = place.size(); i-- > 0; place[i] = 0) {
        place[i] += chunks.sizes[i];
        if (place[i] < sizes[i]) return true;
    }
    return false;
}

// Of chunks without filters. libhdf5 1.10 reads beyond one that is stored in fewer bytes than it should have, and says of it that
// it has them (H5Dget_chunk_storage_size): only the list of chunks has what is true, and is gone through for each of them.
Result<> check_plain_chunks(hid_t data_set, std::string_view name, const Chunks& chunks) {
    constexpr hsize_t kMostPlainChunks = 4096;
    Handle space(H5Dget_space(data_set), H5Sclose);
    hsize_t count = 0;
    if (!space.ok() || H5Dget_num_chunks(data_set, space.get(), &count) < 0)
        return std::unexpected(library_error(name));
    if (count > kMostPlainChunks)
        return bad_input("its {} has {} chunks without compression; up to {} are read", name, count,
                         kMostPlainChunks);
    std::vector<hsize_t> place(H5S_MAX_RANK);
    for (hsize_t number = 0; number < count; ++number) {
        unsigned filters_left_out = 0;
        haddr_t address = 0;
        hsize_t bytes = 0;
        if (H5Dget_chunk_info(data_set, space.get(), number, place.data(), &filters_left_out, &address,
                              &bytes) < 0)
            return std::unexpected(library_error(name));
        if (bytes != chunks.bytes)
            return bad_input("its {} has a chunk of {} bytes, and should have {}", name, bytes, chunks.bytes);
    }
    return {};
}

// That each chunk has as many bytes as it should when it is expanded, before libhdf5 does that: it follows a deflate stream to
// whatever size that has, a thousand times what is stored, and does not look whether it has become a whole chunk.
Result<> check_chunks(hid_t data_set, hid_t creation, std::string_view name, std::span<const hsize_t> sizes,
                      size_t element_bytes) {
    BELAY_TRY(chunks, chunks_of(creation, name, sizes, element_bytes));
    if (H5Pget_nfilters(creation) == 0) return check_plain_chunks(data_set, name, chunks);
    BELAY_TRY(deflate, place_of_deflate(creation, name));
    const uint64_t most_stored =
        chunks.bytes + chunks.bytes / 4 + 1024;  // deflate's worst is an eighth and some
    std::string stored;
    std::vector<hsize_t> place(sizes.size());
    do {
        hsize_t bytes = 0;
        if (H5Dget_chunk_storage_size(data_set, place.data(), &bytes) < 0)
            return std::unexpected(library_error(name));
        if (bytes == 0) continue;  // never written
        if (bytes > most_stored)
            return bad_input("its {} has a chunk stored in {} bytes, for {}: it is damaged", name, bytes,
                             chunks.bytes);
        stored.resize(bytes);
        uint32_t filters_left_out = 0;
        if (H5Dread_chunk(data_set, H5P_DEFAULT, place.data(), &filters_left_out, stored.data()) < 0)
            return std::unexpected(library_error(name));
        uint64_t expanded = bytes;
        if (deflate && (filters_left_out >> *deflate & 1U) == 0) {
            BELAY_TRY(inflated, core::with_context(inflated_size(stored, chunks.bytes),
                                                   fmt::format("its {}: a chunk", name)));
            expanded = inflated;
        }
        if (expanded != chunks.bytes)
            return bad_input("its {} has a chunk that expands to {} {} bytes, and should have {}", name,
                             expanded > chunks.bytes ? "at least" : "only", expanded, chunks.bytes);
    } while (go_on(place, chunks, sizes));
    return {};
}

// That it has these sizes, and nothing but its own bytes to be read, of which there are as many as these sizes need.
Result<> check_data_set(hid_t data_set, std::string_view name, std::span<const hsize_t> wanted) {
    Handle space(H5Dget_space(data_set), H5Sclose);
    std::vector<hsize_t> sizes(H5S_MAX_RANK);
    const int rank = space.ok() ? H5Sget_simple_extent_ndims(space.get()) : -1;
    if (rank < 0 || rank > H5S_MAX_RANK || H5Sget_simple_extent_dims(space.get(), sizes.data(), nullptr) < 0)
        return std::unexpected(library_error(name));
    sizes.resize(static_cast<size_t>(rank));
    if (!std::ranges::equal(sizes, wanted))
        return bad_input("its {} has {} values; this profile needs {}", name,
                         sizes.empty() ? "1" : shape_text(sizes), shape_text(wanted));

    Handle type(H5Dget_type(data_set), H5Tclose);
    if (!type.ok()) return std::unexpected(library_error(name));
    const H5T_class_t found = H5Tget_class(type.get());
    if (found != H5T_FLOAT && found != H5T_INTEGER) return bad_input("its {} does not hold numbers", name);
    if (H5Tget_size(type.get()) > sizeof(double))
        return bad_input("its {} holds numbers of more than 8 bytes", name);

    Handle creation(H5Dget_create_plist(data_set), H5Pclose);
    if (!creation.ok()) return std::unexpected(library_error(name));
    const H5D_layout_t layout = H5Pget_layout(creation.get());
    if (layout == H5D_VIRTUAL || H5Pget_external_count(creation.get()) != 0)
        return bad_input("its {} lies in other files, which are not read", name);
    return layout == H5D_CHUNKED
               ? check_chunks(data_set, creation.get(), name, sizes, H5Tget_size(type.get()))
               : Result<>();
}

Result<> read_data_set(hid_t file, const std::string& name, std::span<const hsize_t> sizes, hid_t memory_type,
                       void* out) {
    BELAY_TRY(data_set, open_data_set(file, "climate", name));
    const std::string path = "climate/" + name;
    BELAY_CHECK(check_data_set(data_set.get(), path, sizes));
    if (H5Dread(data_set.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out) < 0)
        return std::unexpected(library_error("its " + path));
    return {};
}

// Calls `work` with the open file, alone in the library.
template <typename Work>
Result<> with_file(std::string_view bytes, Work work) {
    const std::scoped_lock lock(library_mutex());
    return core::without_exceptions([&]() -> Result<> {
        H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
        H5PLset_loading_state(0);  // no filter from anybody's directory
        BELAY_TRY(file, open_bytes(bytes));
        return work(file.get());
    });
}

// [y][x][channel] to [channel][y][x], scaled.
void scale_and_transpose(std::span<const float> data, const ChannelRanges& ranges, std::span<float> values) {
    const size_t channels = ranges.lowest.size();
    const size_t cells = values.size() / channels;
    constexpr size_t kBlock = 256;  // cells whose values stay in the cache for all channels
    for (size_t start = 0; start < cells; start += kBlock)
        for (size_t channel = 0; channel < channels; ++channel) {
            const float lowest = ranges.lowest[channel], factor = ranges.factor[channel];
            for (size_t cell = start; cell < std::min(cells, start + kBlock); ++cell)
                values[channel * cells + cell] = (data[cell * channels + channel] - lowest) * factor;
        }
}

}  // namespace

size_t hdf5_climate_limit(const Shape& image) {
    return 2 * static_cast<size_t>(image.cells()) *
               (static_cast<size_t>(image.channels) * sizeof(float) + sizeof(int64_t)) +
           (size_t{1} << 20);
}

Result<ChannelRanges> read_ranges(std::string_view bytes, int channels) {
    const auto count = static_cast<size_t>(channels);
    ChannelRanges ranges{std::vector<float>(count), std::vector<float>(count)};
    std::vector<float> highest(count);
    const hsize_t sizes[] = {count};
    auto read = with_file(bytes, [&](hid_t file) -> Result<> {
        BELAY_CHECK(read_data_set(file, "minval", sizes, H5T_NATIVE_FLOAT, ranges.lowest.data()));
        return read_data_set(file, "maxval", sizes, H5T_NATIVE_FLOAT, highest.data());
    });
    BELAY_CHECK(std::move(read));
    for (size_t channel = 0; channel < count; ++channel) {
        const float range = highest[channel] - ranges.lowest[channel];
        if (!(range > 0) || !std::isfinite(range))
            return bad_input("its channel {} goes from {} to {}, by which nothing can be scaled", channel,
                             ranges.lowest[channel], highest[channel]);
        ranges.factor[channel] = 1 / range;
    }
    return ranges;
}

Result<> read_hdf5_climate(std::string_view bytes, const Shape& image, const ChannelRanges& ranges,
                           std::span<float> values, std::span<uint8_t> mask) {
    const hsize_t sizes[] = {static_cast<hsize_t>(image.height), static_cast<hsize_t>(image.width),
                             static_cast<hsize_t>(image.channels)};
    std::vector<float> data;
    std::vector<int32_t> labels;
    auto read = with_file(bytes, [&](hid_t file) -> Result<> {
        data.resize(values.size());
        labels.resize(mask.size());
        BELAY_CHECK(read_data_set(file, "data", sizes, H5T_NATIVE_FLOAT, data.data()));
        // Published files have floats or integers here; both stand for the number of a class.
        return read_data_set(file, "labels_0", std::span(sizes).first(2), H5T_NATIVE_INT32, labels.data());
    });
    BELAY_CHECK(std::move(read));
    for (size_t cell = 0; cell < mask.size(); ++cell) {
        if (labels[cell] < 0 || labels[cell] >= kClasses)
            return bad_input("its climate/labels_0 has the class {} at ({}, {}), and there are {}",
                             labels[cell], cell % static_cast<size_t>(image.width),
                             cell / static_cast<size_t>(image.width), kClasses);
        mask[cell] = static_cast<uint8_t>(labels[cell]);
    }
    scale_and_transpose(data, ranges, values);
    return {};
}

}  // namespace belay::bench::deepcam
