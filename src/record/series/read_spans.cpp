#include "record/series/read_spans.h"

#include "record/series/scan_nodes.h"

#include <optional>
#include <utility>

namespace belay::record {

using core::Result;

namespace {

class SpanReader : public NodeReader {
  public:
    SpanReader(const SpanSource& source, const SpanFrame& frame)
        : source_(source), frame_(frame), values_(source.inputs.size()) {
        for (const SpanInput& input : source.inputs) kinds_.push_back(input.kind);
    }

    void begin(std::string_view node) override {
        done_.emplace_back(node, std::vector<Spans>());
        spans_.emplace(frame_, kinds_, source_.outputs);
    }

    void add(const ScanRows& rows, size_t row) override {
        SpanSample sample{.time_microseconds = core::to_microseconds(rows.time(row)), .values = values_};
        for (size_t i = 0; i < source_.keys.size(); ++i)
            sample.key = sample.key * 0x9E3779B97F4A7C15U + rows.hashes(i)[row];
        for (size_t i = 0; i < values_.size(); ++i) values_[i] = rows.numbers(i)[row];
        if (!source_.born.empty()) sample.born_microseconds = rows.numbers(values_.size())[row];
        spans_->add(sample);
    }

    void end() override {
        const std::span<const Spans> spans = spans_->finish();
        done_.back().second.assign(spans.begin(), spans.end());
    }

    void tell(const SpanConsumer& consume) const {
        for (const auto& [node, spans] : done_) consume(node, spans);
    }

  private:
    const SpanSource& source_;
    const SpanFrame& frame_;
    std::vector<Sampled> kinds_;
    std::vector<double> values_;
    std::optional<NodeSpans> spans_;
    std::vector<std::pair<std::string, std::vector<Spans>>> done_;
};

}  // namespace

Result<> read_spans(Archive& archive, const SpanSource& source, const SpanFrame& frame,
                    std::vector<std::string> nodes, const SpanConsumer& consume) {
    ScanRequest request{.table = source.table,
                        .numbers = {},
                        .texts = {kNodeColumn},
                        .hashes = {source.keys.begin(), source.keys.end()},
                        .formulas = {},
                        .filter = std::string(source.filter),
                        .splits = {}};
    for (const SpanInput& input : source.inputs) request.formulas.emplace_back(input.sql);
    if (!source.born.empty()) request.formulas.emplace_back(source.born);
    return scan_nodes(archive, request, std::move(nodes),
                      {.make = [&] { return std::make_unique<SpanReader>(source, frame); },
                       .take = [&](NodeReader& reader) { static_cast<SpanReader&>(reader).tell(consume); }});
}

}  // namespace belay::record
