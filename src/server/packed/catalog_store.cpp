#include "server/packed/catalog_store.h"

#include "core/file.h"
#include "core/new_file.h"

#include <algorithm>
#include <functional>

namespace belay::server {

using core::Result;

namespace {

constexpr size_t kMaxCatalogBytes = size_t{1} << 30;
constexpr uint64_t kKeptCatalogs = 3;

Result<> remove_if_there(const core::Directory& directory, const std::string& name) {
    auto removed = directory.remove_file(name);
    if (!removed && removed.error().cause() == core::Cause::kNotFound) return {};
    return removed;
}

}  // namespace

Result<CatalogStore> CatalogStore::open(const std::filesystem::path& path) {
    BELAY_TRY(directory, core::Directory::make_guarded(path, 0700));
    return CatalogStore(std::move(directory));
}

Result<uint64_t> CatalogStore::newest() const {
    BELAY_TRY(names, directory_.list());
    uint64_t newest = 0;
    for (const std::string& name : names) newest = std::max(newest, sequence_of_catalog(name).value_or(0));
    return newest;
}

Result<ReadCatalog> CatalogStore::read(const core::Directory& logs) const {
    // Another belayd that has written newer ones may take a catalog away: then those are there.
    constexpr int kTries = 100;
    for (int i = 0; i < kTries; ++i) {
        BELAY_TRY(names, directory_.list());
        std::vector<uint64_t> sequences;
        for (const std::string& name : names)
            if (const auto sequence = sequence_of_catalog(name)) sequences.push_back(*sequence);
        std::ranges::sort(sequences, std::greater());
        ReadCatalog read;
        bool is_gone = false;
        for (const uint64_t sequence : sequences) {
            const std::string name = catalog_file_name(sequence);
            auto text = directory_.read_file(name, kMaxCatalogBytes);
            is_gone = !text && text.error().cause() == core::Cause::kNotFound;
            if (is_gone) break;
            if (!text) return std::unexpected(std::move(text.error()));
            auto catalog = decode_catalog(*text);
            if (catalog && catalog->sequence == sequence) {
                if (!read.lost.empty()) {
                    BELAY_TRY(all, recovered(std::move(*catalog), sequences.front(), logs));
                    catalog = std::move(all);
                }
                read.catalog = std::make_shared<const Catalog>(std::move(*catalog));
                return read;
            }
            read.lost.push_back(
                {name, 0, text->size(), catalog ? "it is of another number" : catalog.error().message()});
        }
        if (is_gone) continue;
        Catalog all;
        if (!sequences.empty()) {
            BELAY_TRY(made, recovered({}, sequences.front(), logs));
            all = std::move(made);
        }
        read.catalog = std::make_shared<const Catalog>(std::move(all));
        return read;
    }
    return core::system_error("{}: its catalogs go faster than they can be read", directory_.path().string());
}

Result<bool> CatalogStore::commit(const Catalog& next) const {
    BELAY_TRY(file, core::NewFile::begin(directory_, catalog_file_name(next.sequence)));
    BELAY_CHECK(core::write_all(file.fd(), encode_catalog(next), file.path().string()));
    return std::move(file).create();
}

Result<std::vector<std::string>> CatalogStore::remove_leftovers(const Catalog& catalog) const {
    std::vector<std::string> removed;
    BELAY_TRY(names, directory_.list());
    for (const std::string& name : names) {
        // A file of a later number may be one that another packer is about to name.
        const auto packed = sequence_of_packed(name);
        const auto older = sequence_of_catalog(name);
        const bool is_left = packed && *packed <= catalog.sequence && catalog.find(name) == nullptr;
        const bool is_old = older && *older + kKeptCatalogs <= catalog.sequence;
        if (!is_left && !is_old) continue;
        BELAY_CHECK(remove_if_there(directory_, name));
        removed.push_back(name);
    }
    return removed;
}

}  // namespace belay::server
