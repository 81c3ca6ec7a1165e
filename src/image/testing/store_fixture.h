// A store and a registry for tests, and two layers to push.
#pragma once

#include "core/file.h"
#include "image/squashfs_reader.h"
#include "image/store.h"
#include "image/testing/fake_registry.h"
#include "image/testing/tar_builder.h"

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

namespace belay::image::testing {

inline core::Result<std::optional<Credentials>> no_login(const CredentialQuery&) {
    return std::optional<Credentials>();
}

struct StoreFixture {
    Store store(StoreOptions options = {}) const {
        options.fetch.http.first_delay = std::chrono::milliseconds(1);
        return *Store::open(directory.path() / "store", std::move(options));
    }
    Reference reference(const std::string& name) const { return *parse_reference(registry.name(name)); }
    core::Result<Image> import(const std::string& name) const {
        return store().import(reference(name), no_login);
    }
    // Names of files below the store, but for those of layers that are kept.
    std::vector<std::string> files() const {
        std::vector<std::string> out;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(directory.path() / "store"))
            if (entry.is_regular_file() && entry.path().parent_path().filename() != "blobs")
                out.push_back(std::filesystem::relative(entry.path(), directory.path() / "store").string());
        std::ranges::sort(out);
        return out;
    }
    std::filesystem::path blob(const std::string& digest) const {
        return directory.path() / "store/blobs" / hex_of(digest);
    }

    core::TemporaryDirectory directory = std::move(*core::TemporaryDirectory::create());
    FakeRegistry registry;
};

inline std::string content(const Image& image, const std::string& path) {
    auto reader = SquashfsReader::open(image.squashfs);
    if (!reader) return reader.error().render();
    auto text = reader->read(path, 1 << 20);
    return text ? *text : text.error().render();
}

// Does not compress.
inline std::string noise(size_t bytes) {
    std::mt19937 random(7);
    std::string out(bytes, '\0');
    for (char& c : out) c = static_cast<char>(random());
    return out;
}

inline const std::string kBase =
    tar_file("etc/os-release", "ID=base\n") + tar_file("big", noise(200000)) + tar_end();
inline const std::string kTop = tar_file("etc/os-release", "ID=top\n") + tar_end();

}  // namespace belay::image::testing
