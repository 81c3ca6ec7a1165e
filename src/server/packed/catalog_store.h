// The directory of packed files, and the catalogs in it that say which of them count.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "server/packed/catalog.h"
#include "server/packed/packed_facts.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace belay::server {

struct ReadCatalog {
    std::shared_ptr<const Catalog> catalog;  // an empty one where nothing was packed yet
    std::vector<LostPart> lost;              // catalogs that are damaged
};

class CatalogStore {
  public:
    // Makes the directory, 0700, if it is not there. Errors: kBadInput for a directory of another user's; kSystem.
    static core::Result<CatalogStore> open(const std::filesystem::path& directory);

    const core::Directory& directory() const { return directory_; }
    // The highest number of a catalog, whatever is in it; 0 for none. Errors: kSystem.
    core::Result<uint64_t> newest() const;
    // The newest catalog. Where it is damaged, what the one before and the packed files themselves say: a packed file that is in
    // no catalog counts where logs or files that it stands for are gone. `logs`: the directory of the block log. Errors: kSystem;
    // kBadInput for catalogs of a newer version.
    core::Result<ReadCatalog> read(const core::Directory& logs) const;
    // False, and nothing has happened, where a catalog of that number is there: another was first. Errors: kSystem.
    core::Result<bool> commit(const Catalog& next) const;
    // Takes away files that no reader needs: packed files that the catalog does not name and that no later one can, and older
    // catalogs. Their names. Errors: kSystem.
    core::Result<std::vector<std::string>> remove_leftovers(const Catalog& catalog) const;

  private:
    explicit CatalogStore(core::Directory directory) : directory_(std::move(directory)) {}
    core::Result<Catalog> recovered(Catalog catalog, uint64_t sequence, const core::Directory& logs) const;

    core::Directory directory_;
};

}  // namespace belay::server
