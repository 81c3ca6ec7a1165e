#include "metrics/remote/write_request.h"

#include "metrics/remote/protobuf.h"

#include <bit>
#include <cmath>
#include <snappy-c.h>
#include <utility>

namespace belay::metrics::remote {

namespace {

// Numbers of the fields.
constexpr uint32_t kTimeSeries = 1, kMetadata = 3;                // of WriteRequest
constexpr uint32_t kSeriesLabels = 1, kSeriesSamples = 2;         // of TimeSeries
constexpr uint32_t kLabelName = 1, kLabelValue = 2;               // of Label
constexpr uint32_t kSampleValue = 1, kSampleTimestamp = 2;        // of Sample
constexpr uint32_t kType = 1, kFamily = 2, kHelp = 4, kUnit = 5;  // of MetricMetadata

// MetricMetadata.MetricType
int64_t metadata_type(MetricType type) {
    switch (type) {
        case MetricType::kCounter:
            return 1;
        case MetricType::kGauge:
            return 2;
        case MetricType::kHistogram:
            return 3;
        case MetricType::kInfo:
            return 6;
    }
    return 0;  // unknown
}

std::string encode_metadata(const Metadata& metadata) {
    std::string message;
    add_integer(message, kType, metadata_type(metadata.type));
    add_text(message, kFamily, metadata.family);
    add_text(message, kHelp, metadata.help);
    add_text(message, kUnit, metadata.unit);
    return message;
}

std::string encode_labels(const Labels& labels) {
    std::string message;
    for (const Label& label : labels) {
        std::string inner;
        add_text(inner, kLabelName, label.name);
        add_text(inner, kLabelValue, label.value);
        add_message(message, kSeriesLabels, inner);
    }
    return message;
}

uint64_t bits_of(const Point& point) {
    if (point.stale) return kStaleBits;
    return std::isnan(point.value) ? kNanBits : std::bit_cast<uint64_t>(point.value);
}

// As a field of TimeSeries.
std::string encode_point(const Point& point) {
    std::string inner;
    add_double_bits(inner, kSampleValue, bits_of(point));
    add_integer(inner, kSampleTimestamp, point.milliseconds);
    std::string message;
    add_message(message, kSeriesSamples, inner);
    return message;
}

class BatchMaker {
  public:
    explicit BatchMaker(const BatchLimits& limits) : limits_(limits) {}

    void add(const Metadata& metadata) {
        std::string inner = encode_metadata(metadata);
        const size_t size = message_size(kMetadata, inner.size());
        if (size > limits_.bytes) return;
        if (batch_.message.size() + size > limits_.bytes) close();
        add_message(batch_.message, kMetadata, inner);
    }

    void add(const Series& series) {
        const std::string labels = encode_labels(series.labels);
        std::string piece = labels;  // a TimeSeries with the points so far
        size_t points = 0;
        auto end_piece = [&] {
            if (points == 0) return;
            add_message(batch_.message, kTimeSeries, piece);
            batch_.samples += std::exchange(points, 0);
            piece = labels;
        };
        for (const Point& point : series.points) {
            const std::string encoded = encode_point(point);
            if (message_size(kTimeSeries, labels.size() + encoded.size()) > limits_.bytes) {
                ++all_.too_large;
                continue;
            }
            const size_t size =
                batch_.message.size() + message_size(kTimeSeries, piece.size() + encoded.size());
            if (size > limits_.bytes || batch_.samples + points >= limits_.samples) {
                end_piece();
                close();
            }
            piece += encoded;
            ++points;
        }
        end_piece();
    }

    Batches finish() && {
        close();
        return std::move(all_);
    }

  private:
    void close() {
        if (!batch_.message.empty()) all_.batches.push_back(std::exchange(batch_, {}));
    }

    const BatchLimits& limits_;
    Batches all_;
    Batch batch_;
};

}  // namespace

Batches encode(std::span<const Series> series, std::span<const Metadata> metadata,
               const BatchLimits& limits) {
    BatchMaker maker(limits);
    for (const Metadata& one : metadata) maker.add(one);
    for (const Series& one : series) maker.add(one);
    return std::move(maker).finish();
}

core::Result<std::string> compress(std::string_view message) {
    size_t size = snappy_max_compressed_length(message.size());
    std::string out(size, '\0');
    if (snappy_compress(message.data(), message.size(), out.data(), &size) != SNAPPY_OK)
        return core::system_error("snappy cannot compress {} bytes", message.size());
    out.resize(size);
    return out;
}

}  // namespace belay::metrics::remote
