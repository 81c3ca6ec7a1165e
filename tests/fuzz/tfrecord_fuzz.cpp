// CosmoFlow's own files: the first byte says what the rest is. As a record has checksums, its content is also tried by itself,
// with the right ones around it.
#include "bench/models/cosmoflow/files/example.h"
#include "bench/models/cosmoflow/files/gunzip.h"
#include "bench/models/cosmoflow/files/tfrecord.h"
#include "bench/models/cosmoflow/files/universe_record.h"
#include "many_parsers.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

using namespace belay::bench::cosmoflow;

namespace {

constexpr uint32_t kSide = 2;

template <typename Number>
void append(std::string& bytes, Number number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// What is accepted are counts and parameters.
void read_file(std::string_view bytes) {
    std::vector<int16_t> counts(kChannels * kSide * kSide * kSide, -1);
    const auto parameters = decode_universe_record(bytes, kSide, counts);
    if (!parameters) return require(!parameters.error().message().empty());
    for (const float parameter : *parameters) require(std::isfinite(parameter));
    for (const int16_t count : counts) require(count >= 0);
}

void read_content(std::string_view bytes) {
    std::string file;
    append(file, uint64_t{bytes.size()});
    append(file, masked_crc32c(file));
    file += bytes;
    append(file, masked_crc32c(bytes));
    read_file(file);
}

void read_features(std::string_view bytes) {
    for (const char* name : {"x", "y", ""}) {
        const auto feature = find_feature(bytes, name);
        if (!feature) {
            require(!feature.error().message().empty());
            continue;
        }
        require(feature->values <= bytes.size() && feature->bytes.size() <= bytes.size());
        if (!feature->bytes.empty())
            require(feature->bytes.data() >= bytes.data() &&
                    feature->bytes.data() + feature->bytes.size() <= bytes.data() + bytes.size());
    }
}

void read_packed(std::string_view bytes) {
    constexpr size_t kLimit = 4096;
    if (const auto unpacked = gunzip(bytes, kLimit)) require(unpacked->size() <= kLimit);
}

void read_records(std::string_view bytes) {
    size_t read = 0;
    for (RecordReader records(bytes); !records.at_end();) {
        const auto record = records.next();
        if (!record) return require(!record.error().message().empty());
        read += record->size() + kRecordOverhead;
        require(read <= bytes.size());
    }
    require(read == bytes.size());
}

constexpr void (*kParsers[])(std::string_view) = {read_file, read_content, read_features, read_packed,
                                                  read_records};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}
