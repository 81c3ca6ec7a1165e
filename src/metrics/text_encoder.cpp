#include "metrics/text_encoder.h"

#include "core/utf8.h"
#include "metrics/number_text.h"

#include <limits>
#include <optional>
#include <string_view>

namespace belay::metrics {

namespace {

// Quotes are escaped but in the help of Prometheus' form.
std::string escaped(std::string_view text, bool quotes) {
    std::string out;
    out.reserve(text.size());
    for (char c : core::to_valid_utf8(text)) {
        if (c == '\n')
            out += "\\n";
        else if (c == '\\' || (c == '"' && quotes))
            (out += '\\') += c;
        else
            out += c;
    }
    return out;
}

class TextWriter {
  public:
    TextWriter(TextForm form, std::string& out) : form_(form), out_(out) {}

    void add(const Family& family) {
        describe(family);
        for (const Sample& sample : family.samples) {
            if (const auto* histogram = std::get_if<Histogram>(&sample.value))
                add_histogram(family, sample, *histogram);
            else
                line(family.name, sample, {}, number_text(std::get<double>(sample.value)));
        }
    }

  private:
    bool is_open_metrics() const { return form_ == TextForm::kOpenMetrics; }

    void describe(const Family& family) {
        const bool info_as_gauge = !is_open_metrics() && family.type == MetricType::kInfo;
        const std::string_view type = row_of(info_as_gauge ? MetricType::kGauge : family.type).name;
        const std::string_view name = is_open_metrics() ? stem(family) : std::string_view(family.name);
        // In the order that each form advises.
        if (!is_open_metrics()) descriptor("HELP", name, escaped(family.help, false));
        descriptor("TYPE", name, type);
        if (!is_open_metrics()) return;
        descriptor("UNIT", name, family.unit);
        descriptor("HELP", name, escaped(family.help, true));
    }

    void descriptor(std::string_view word, std::string_view name, std::string_view text) {
        if (!text.empty()) out_ += fmt::format("# {} {} {}\n", word, name, text);
    }

    void add_histogram(const Family& family, const Sample& sample, const Histogram& histogram) {
        for (size_t i = 0; i < histogram.counts.size(); ++i) {
            const double bound =
                i < histogram.bounds.size() ? histogram.bounds[i] : std::numeric_limits<double>::infinity();
            line(family.name + "_bucket", sample, bound_text(bound), fmt::to_string(histogram.counts[i]));
        }
        // OpenMetrics has the count exactly where the sum is.
        if (histogram.sum || !is_open_metrics())
            line(family.name + "_count", sample, {}, fmt::to_string(histogram.counts.back()));
        if (histogram.sum) line(family.name + "_sum", sample, {}, number_text(*histogram.sum));
    }

    void line(std::string_view name, const Sample& sample, std::string_view bound, std::string_view value) {
        out_ += name;
        char before = '{';
        auto add_label = [&](std::string_view label, std::string_view text) {
            if (text.empty()) return;
            out_ += before;
            out_.append(label).append("=\"").append(escaped(text, true)) += '"';
            before = ',';
        };
        for (const Label& label : sample.labels) add_label(label.name, label.value);
        add_label("le", bound);
        if (before == ',') out_ += '}';
        (out_ += ' ') += value;
        if (sample.time)
            (out_ += ' ') += is_open_metrics() ? seconds_text(*sample.time)
                                               : fmt::to_string(milliseconds_of(*sample.time));
        out_ += '\n';
    }

    TextForm form_;
    std::string& out_;
};

core::Result<> check_single(const Family& family) {
    for (size_t i = 1; i < family.samples.size(); ++i)
        if (identity_of(family.samples[i - 1].labels) == identity_of(family.samples[i].labels))
            return core::bad_input("{}: two samples of one series in Prometheus' text form", family.name)
                .hint("keep the newest of each series");
    return {};
}

}  // namespace

core::Result<std::string> encode_text(std::span<const Family> families, TextForm form) {
    BELAY_CHECK(check(families));
    std::string out;
    TextWriter writer(form, out);
    for (const Family& family : families) {
        if (form == TextForm::kPrometheus) BELAY_CHECK(check_single(family));
        writer.add(family);
    }
    if (form == TextForm::kOpenMetrics) out += "# EOF\n";
    return out;
}

}  // namespace belay::metrics
