#include "bench/models/cosmoflow/files/gunzip.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <memory>
#include <zlib.h>

namespace belay::bench::cosmoflow {

namespace {

using core::bad_input;
using core::Result;

constexpr std::string_view kGzipMagic("\x1f\x8b\x08",
                                      3);  // with deflate, the only method there is (RFC 1952)

class Inflater {
  public:
    Inflater(std::string_view in, char* out, size_t room)
        : in_(in), out_(out), room_(room), is_ready_(inflateInit2(&stream_, kWindowBits) == Z_OK) {}
    ~Inflater() {
        if (is_ready_) inflateEnd(&stream_);
    }
    Inflater(const Inflater&) = delete;
    Inflater& operator=(const Inflater&) = delete;

    std::string_view left() const { return in_; }
    size_t room() const { return room_; }

    // Unpacks one member; ends early where no room is left.
    Result<> unpack_member() {
        if (!is_ready_ || inflateReset(&stream_) != Z_OK)
            return core::system_error("out of memory").because_of_errno(ENOMEM);
        while (room_ > 0) {
            const int result = unpack_some();
            if (result == Z_STREAM_END) return {};
            if (result == Z_MEM_ERROR) return core::system_error("out of memory").because_of_errno(ENOMEM);
            if (in_.empty() && (result == Z_OK || result == Z_BUF_ERROR) && room_ > 0)
                return bad_input("its gzip data end too early: it is cut off");
            if (result != Z_OK)
                return bad_input("its gzip data are damaged (zlib: {})",
                                 stream_.msg != nullptr ? stream_.msg : "no reason given");
        }
        return {};
    }

  private:
    static constexpr int kWindowBits = MAX_WBITS + 16;  // with a gzip header

    int unpack_some() {
        constexpr size_t kMost = std::numeric_limits<uInt>::max();
        const auto in = static_cast<uInt>(std::min(in_.size(), kMost));
        const auto room = static_cast<uInt>(std::min(room_, kMost));
        stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in_.data()));
        stream_.avail_in = in;
        stream_.next_out = reinterpret_cast<Bytef*>(out_);
        stream_.avail_out = room;
        const int result = inflate(&stream_, Z_NO_FLUSH);
        in_.remove_prefix(in - stream_.avail_in);
        out_ += room - stream_.avail_out;
        room_ -= room - stream_.avail_out;
        return result;
    }

    std::string_view in_;
    char* out_;
    size_t room_;
    z_stream stream_{};
    bool is_ready_;
};

Result<size_t> unpack(std::string_view bytes, char* out, size_t room) {
    Inflater inflater(bytes, out, room);
    for (std::string_view left = bytes; left.find_first_not_of('\0') != std::string_view::npos;
         left = inflater.left()) {
        if (!is_gzip(left))
            return bad_input("something else follows its gzip data at byte {}", bytes.size() - left.size());
        BELAY_CHECK(inflater.unpack_member());
        if (inflater.room() == 0) break;
    }
    return room - inflater.room();
}

}  // namespace

bool is_gzip(std::string_view bytes) {
    return bytes.starts_with(kGzipMagic);
}

Result<std::string> gunzip(std::string_view bytes, size_t limit) {
    if (!is_gzip(bytes)) return bad_input("it is not packed by gzip");
    Result<size_t> size;
    std::string out;
    // One byte more than may come.
    out.resize_and_overwrite(limit + 1, [&](char* room, size_t /*bytes*/) {
        size = unpack(bytes, room, limit + 1);
        return size.value_or(0);
    });
    BELAY_CHECK(size);
    if (*size > limit)
        return bad_input(
            "it unpacks to more than the {} bytes that it may have: it is damaged, or of another kind",
            limit);
    return out;
}

}  // namespace belay::bench::cosmoflow
