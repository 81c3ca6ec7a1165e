// A layer as the stream of its tar bytes: gzip (ISA-L), zstd or plain, told apart by its first bytes, never
// by what a manifest says of it. The hash of the tar bytes (diff_id) is computed on the way.
#pragma once

#include "core/file.h"
#include "image/digest.h"
#include "image/limits.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace belay::image {

// Where compressed bytes come from: fills the buffer and says how much it was; 0 at the end.
using ByteSource = std::function<core::Result<size_t>(char* buffer, size_t size)>;

// Reads the descriptor, which stays the caller's, from its beginning.
ByteSource read_from_descriptor(int fd, std::string name);
ByteSource read_from_memory(std::string_view bytes);

// Unpacks; one for each format.
class Decoder {
  public:
    virtual ~Decoder() = default;
    // Takes from the front of `input` what it can use and writes to `out`; how much it wrote. With `last`, no
    // input follows. `done` is whether the stream could end here. Errors: kSystem for damaged data.
    virtual core::Result<size_t> decode(std::string_view& input, char* out, size_t size, bool last) = 0;
    virtual bool done() const = 0;
};

class LayerStream {
  public:
    // `whole_bytes` is the size of the layer where it is known: what it may unpack to is compared with that,
    // else with what has been read of it. Errors: kSystem if the source fails or the format is unknown.
    static core::Result<LayerStream> open(ByteSource source, const ImportLimits& limits,
                                          uint64_t whole_bytes = 0);

    // The next bytes of the tar, valid until the next call; empty at the end. Errors: kSystem for data that
    // is damaged, ends early, or unpacks to more than the limits allow, wherever in the tar that is.
    core::Result<std::string_view> next();

    // Reads on to the end, so that the hash covers all of it.
    core::Result<> drain();

    // Of all bytes that next() returned. Once, at the end.
    std::string diff_id() { return digest_text(hash_.finish()); }
    uint64_t compressed_bytes() const { return compressed_bytes_; }
    uint64_t tar_bytes() const { return tar_bytes_; }

    // Whether the layer may unpack to so many bytes, be they in its tar or holes of its files.
    core::Result<> check_ratio(uint64_t unpacked_bytes) const;

  private:
    LayerStream(ByteSource source, const ImportLimits& limits, uint64_t whole_bytes)
        : source_(std::move(source)), limits_(limits), whole_bytes_(whole_bytes) {}
    core::Result<> refill();
    core::Result<> check_limits() const;

    ByteSource source_;
    ImportLimits limits_;
    uint64_t whole_bytes_;
    std::unique_ptr<Decoder> decoder_;
    std::string input_;        // storage
    std::string_view unused_;  // what of it was not decoded yet
    bool at_end_ = false;      // of the source
    std::string output_;
    core::Sha256 hash_;
    uint64_t compressed_bytes_ = 0;
    uint64_t tar_bytes_ = 0;
};

}  // namespace belay::image
