// Metrics as text and headers Accept, as anybody may send them: what the reader accepts is written again as it was, and
// keeps all rules.
#include "many_parsers.h"
#include "metrics/model.h"
#include "metrics/text_encoder.h"
#include "metrics/text_form.h"
#include "metrics/text_reader.h"

#include <string_view>

using namespace belay;

namespace {

void read_form(std::string_view text, metrics::TextForm form) {
    auto families = metrics::read_text(text, form);
    if (!families) {
        require(families.error().kind() == core::ErrorKind::kBadInput && !families.error().render().empty());
        return;
    }
    require(metrics::check(*families).has_value());
    auto again = metrics::encode_text(*families, form);
    require(again && *again == text);
}

void open_metrics(std::string_view text) {
    read_form(text, metrics::TextForm::kOpenMetrics);
}

void prometheus(std::string_view text) {
    read_form(text, metrics::TextForm::kPrometheus);
}

void accept(std::string_view text) {
    require(!metrics::content_type(metrics::negotiate(text)).empty());
}

constexpr void (*kParsers[])(std::string_view) = {open_metrics, prometheus, accept};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    feed_one_of(kParsers, data, size);
    return 0;
}
