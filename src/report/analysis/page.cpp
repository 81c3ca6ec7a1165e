#include "report/analysis/page.h"

#include "core/utf8.h"
#include "report/json.h"
#include "report/page_frame.h"

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

// The files of page/, put into the program by belay_embed (CMakeLists.txt).
extern "C" const char belay_analysis_figures_js[];      // NOLINT
extern "C" const char belay_analysis_figures_js_end[];  // NOLINT
extern "C" const char belay_analysis_main_js[];         // NOLINT
extern "C" const char belay_analysis_main_js_end[];     // NOLINT
extern "C" const char belay_analysis_css[];             // NOLINT
extern "C" const char belay_analysis_css_end[];         // NOLINT

namespace belay::report {

std::string render_analysis(const bench::Analysis& analysis, std::string_view text) {
    size_t runs = 0;
    std::set<std::string> benchmarks;
    for (const bench::SystemResult& system : analysis.systems) {
        runs += system.runs.size();
        benchmarks.insert(system.benchmark.empty() ? "unknown benchmark" : system.benchmark);
    }
    std::string names;
    for (const std::string& name : benchmarks) names += (names.empty() ? "" : ", ") + name;
    nlohmann::ordered_json data = bench::to_json(analysis, runs <= kMostRunsWithEpochs);
    data["title"] =
        names.empty() ? std::string("Joint analysis") : "Joint analysis: " + core::printable(names);
    std::string script = shared_page_script();
    script.append(belay_analysis_figures_js, belay_analysis_figures_js_end);
    script.append(belay_analysis_main_js, belay_analysis_main_js_end);
    return render_page({.title = fmt::format("{} · Belay", data["title"].get<std::string>()),
                        .text = std::string(text),
                        .data = script_safe_json(data),
                        .script = page_scope(script),
                        .styles = std::string(belay_analysis_css, belay_analysis_css_end)});
}

}  // namespace belay::report
