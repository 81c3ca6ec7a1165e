// What counts where the newest catalog is damaged.
#include "server/packed/catalog_store.h"
#include "server/packed/packed_reader.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace belay::server {

using core::Result;

namespace {

using Names = std::set<std::string, std::less<>>;

// A packed file as the catalog would have named it.
Result<PackedFile> describe(const core::Directory& directory, const PackedReader& reader) {
    const PackedFacts& facts = reader.facts();
    PackedFile file{.tier = facts.tier,
                    .name = reader.name(),
                    .first_time = core::Time::max(),
                    .last_time = core::Time::min(),
                    .arrived_from = facts.arrived_from,
                    .arrived_until = facts.arrived_until};
    BELAY_TRY(status, directory.facts(reader.name()));
    file.bytes = status ? status->bytes : 0;
    for (size_t stream = 0; stream < reader.index().streams(); ++stream) {
        auto parts = reader.index().parts(stream);
        if (!parts) continue;
        for (const PackedPart& part : *parts) {
            file.rows += part.rows;
            if (!part.has_rows()) continue;
            file.first_time = std::min(file.first_time, part.first_time);
            file.last_time = std::max(file.last_time, part.last_time);
        }
    }
    return file;
}

bool stands_for_what_is_gone(const PackedFacts& facts, const Names& logs, const Names& packed) {
    return std::ranges::any_of(facts.logs, [&](const std::string& log) { return !logs.contains(log); }) ||
           std::ranges::any_of(facts.replaces,
                               [&](const std::string& file) { return !packed.contains(file); });
}

}  // namespace

Result<Catalog> CatalogStore::recovered(Catalog catalog, uint64_t sequence,
                                        const core::Directory& logs) const {
    BELAY_TRY(log_names, logs.list());
    BELAY_TRY(names, directory_.list());
    const Names logs_there(log_names.begin(), log_names.end());
    const Names packed_there(names.begin(), names.end());
    // What was taken away since by retention, or by a file that stands for it.
    std::erase_if(catalog.files, [&](const PackedFile& file) { return !packed_there.contains(file.name); });
    // Two packers may have packed the same; either file will do.
    std::set<std::pair<Tier, std::vector<std::string>>> taken;
    for (const std::string& name : names) {
        const auto first_named = sequence_of_packed(name);
        if (!first_named || *first_named <= catalog.sequence || *first_named > sequence) continue;
        auto reader = PackedReader::open(directory_, name, *tier_of_packed(name));
        if (!reader && reader.error().kind() == core::ErrorKind::kBadInput) continue;
        if (!reader) return std::unexpected(std::move(reader.error()));
        const PackedFacts& facts = (*reader)->facts();
        if (!stands_for_what_is_gone(facts, logs_there, packed_there)) continue;
        std::vector<std::string> stands_for = facts.logs;
        std::ranges::copy(facts.replaces, std::back_inserter(stands_for));
        if (!taken.emplace(facts.tier, stands_for).second) continue;
        BELAY_TRY(file, describe(directory_, **reader));
        std::erase_if(catalog.files, [&](const PackedFile& other) {
            return std::ranges::find(facts.replaces, other.name) != facts.replaces.end();
        });
        catalog.files.push_back(std::move(file));
        for (const std::string& log : facts.logs) {
            BELAY_TRY(status, logs.facts(log));
            if (status) catalog.packed_logs[log] = status->bytes;
        }
        if (facts.tier != Tier::kRaw) continue;
        for (size_t i = 0; i < (*reader)->index().streams(); ++i) {
            auto stream = (*reader)->index().stream(i);
            if (!stream) continue;
            PackedBlocks& packed = catalog.streams[stream->id()];
            packed.blocks.add(stream->blocks);
            packed.arrived = std::max(packed.arrived, facts.arrived_until);
        }
    }
    catalog.sequence = sequence;
    catalog.sort_files();
    return catalog;
}

}  // namespace belay::server
