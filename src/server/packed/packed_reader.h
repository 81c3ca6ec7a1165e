// Reads a packed file: its index at once, parts where they are asked for. Where the index is damaged or cut off, it is made again of
// the parts that are there; a damaged part is lost alone.
#pragma once

#include "core/directory.h"
#include "core/error.h"
#include "core/file.h"
#include "server/packed/packed_index.h"
#include "server/packed/rows_codec.h"
#include "stream/batch.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace belay::server {

// Thread-safe once it is open.
class PackedReader {
  public:
    // `tier` is assumed where the file's facts are lost. Errors: kNotFound, kSystem; kBadInput for a file of a newer version.
    static core::Result<std::shared_ptr<const PackedReader>> open(const core::Directory& directory,
                                                                  const std::string& name, Tier tier);
    // From memory; any bytes are safe.
    static core::Result<std::shared_ptr<const PackedReader>> of_bytes(std::string bytes, std::string name,
                                                                      Tier tier);

    const std::string& name() const { return name_; }
    const PackedIndex& index() const { return *index_; }
    const PackedFacts& facts() const { return index_->facts(); }
    // The table of a part with rows; nullptr for one that this version does not know.
    const schema::Table* table_of(const PackedPart& part) const;
    // Of a part of the kind kRowsPart whose table is known: overwrites the batch, which is of it. Rows lie thing by thing. Errors:
    // kBadInput where the part is damaged; kSystem.
    core::Result<> read_rows(const PackedPart& part, const WantedColumns& wanted, stream::Batch& rows) const;
    // Of the kind kPiecePart. Errors: likewise.
    core::Result<std::string> read_piece(const PackedPart& part) const;
    // Found when it was opened.
    const std::vector<LostPart>& lost() const { return lost_; }
    size_t memory() const { return index_->bytes(); }

  private:
    explicit PackedReader(std::string name) : name_(std::move(name)) {}
    static core::Result<std::shared_ptr<const PackedReader>> finish_open(std::unique_ptr<PackedReader> reader,
                                                                         Tier tier);
    // At most `size` bytes; fewer at the end of the file.
    core::Result<std::string> bytes_at(uint64_t at, size_t size) const;
    core::Result<bool> read_index();
    core::Result<> rebuild_index(Tier tier);
    core::Result<std::string> payload_of(const PackedPart& part) const;
    void note(uint64_t at, uint64_t bytes, std::string reason);

    std::string name_;
    core::Descriptor file_;
    std::string in_memory_;  // where it is not in a file
    uint64_t size_ = 0;
    std::unique_ptr<const PackedIndex> index_;
    std::vector<LostPart> lost_;
};

}  // namespace belay::server
