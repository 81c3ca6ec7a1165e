#include "report/page.h"

#include "report/json.h"
#include "report/page_frame.h"
#include "report/terminal.h"

#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

// The report's own files of page/, put into the program by belay_embed (CMakeLists.txt).
#define BELAY_REPORT_FILE(symbol)                      \
    extern "C" const char symbol[];       /* NOLINT */ \
    extern "C" const char symbol##_end[]; /* NOLINT */
BELAY_REPORT_FILE(belay_report_heatmap_js)
BELAY_REPORT_FILE(belay_report_score_js)
BELAY_REPORT_FILE(belay_report_evidence_js)
BELAY_REPORT_FILE(belay_report_findings_js)
BELAY_REPORT_FILE(belay_report_multiples_js)
BELAY_REPORT_FILE(belay_report_gpus_js)
BELAY_REPORT_FILE(belay_report_main_js)
#undef BELAY_REPORT_FILE

namespace belay::report {

namespace {

#define BELAY_REPORT_PART(symbol) std::string_view(symbol, static_cast<size_t>(symbol##_end - symbol))

// The scripts share one scope, in this order.
std::string page_script() {
    const std::string_view parts[] = {
        BELAY_REPORT_PART(belay_report_heatmap_js),   BELAY_REPORT_PART(belay_report_score_js),
        BELAY_REPORT_PART(belay_report_evidence_js),  BELAY_REPORT_PART(belay_report_findings_js),
        BELAY_REPORT_PART(belay_report_multiples_js), BELAY_REPORT_PART(belay_report_gpus_js),
        BELAY_REPORT_PART(belay_report_main_js)};
    std::string script = shared_page_script();
    for (std::string_view part : parts) script += part;
    return page_scope(script);
}

std::string page_title(const ReportModel& model) {
    std::string name = model.job.name.empty() ? std::string("Job") : model.job.name;
    return model.job.id ? fmt::format("{} ({}) · Belay report", name, record::id_text(model.job))
                        : fmt::format("{} · Belay report", name);
}

}  // namespace

std::string render_html(const ReportModel& model) {
    return render_page({.title = page_title(model),
                        .text = render_terminal(model, false, 100),
                        .data = script_safe_json(to_json(model)),
                        .script = page_script(),
                        .styles = {}});
}

}  // namespace belay::report
