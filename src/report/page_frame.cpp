#include "report/page_frame.h"

#include "core/hash.h"
#include "report/json.h"

#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include <fmt/format.h>

// The files of page/ and the plotting library, put into the program by belay_embed (CMakeLists.txt).
#define BELAY_REPORT_FILE(symbol)                      \
    extern "C" const char symbol[];       /* NOLINT */ \
    extern "C" const char symbol##_end[]; /* NOLINT */
BELAY_REPORT_FILE(belay_report_html)
BELAY_REPORT_FILE(belay_report_css)
BELAY_REPORT_FILE(belay_report_format_js)
BELAY_REPORT_FILE(belay_report_view_js)
BELAY_REPORT_FILE(belay_report_theme_js)
BELAY_REPORT_FILE(belay_report_chart_js)
BELAY_REPORT_FILE(belay_report_tables_js)
BELAY_REPORT_FILE(belay_report_header_js)
BELAY_REPORT_FILE(belay_report_uplot_js)
BELAY_REPORT_FILE(belay_report_uplot_css)
BELAY_REPORT_FILE(belay_report_uplot_license)
#undef BELAY_REPORT_FILE

namespace belay::report {

namespace {

#define BELAY_REPORT_TEXT(symbol) std::string_view(symbol, static_cast<size_t>(symbol##_end - symbol))

// Scripts and styles with this mark run, those that somebody managed to put into the data do not. It is a
// digest of the content, so that equal models give equal pages; the content is escaped besides, the mark is
// the second lock, and who could predict the whole content (every measured value) could predict it.
std::string make_nonce(std::string_view content) {
    return fmt::format("{:016x}", core::fnv1a(content));
}

using Field = std::pair<std::string_view, std::string>;

// Replaces each {{name}} of the template, and never looks into what it has put there.
std::string fill_in(std::string_view text, std::span<const Field> fields) {
    std::string page;
    while (true) {
        size_t open = text.find("{{");
        size_t close = open == text.npos ? text.npos : text.find("}}", open);
        if (close == text.npos) return page.append(text);
        page.append(text.substr(0, open));
        std::string_view name = text.substr(open + 2, close - open - 2);
        for (const auto& [key, value] : fields)
            if (key == name) page += value;
        text.remove_prefix(close + 2);
    }
}

}  // namespace

std::string shared_page_script() {
    const std::string_view parts[] = {
        BELAY_REPORT_TEXT(belay_report_format_js), BELAY_REPORT_TEXT(belay_report_view_js),
        BELAY_REPORT_TEXT(belay_report_theme_js),  BELAY_REPORT_TEXT(belay_report_chart_js),
        BELAY_REPORT_TEXT(belay_report_tables_js), BELAY_REPORT_TEXT(belay_report_header_js)};
    std::string script;
    for (std::string_view part : parts) script += part;
    return script;
}

std::string page_scope(std::string_view script) {
    return fmt::format("(() => {{\n\"use strict\";\n{}}})();\n", script);
}

std::string render_page(PageContent content) {
    const std::array<Field, 9> fields = {{
        {"title", escape_html(content.title)},
        {"nonce", make_nonce(content.data)},
        {"uplot_css", std::string(BELAY_REPORT_TEXT(belay_report_uplot_css))},
        {"css", std::string(BELAY_REPORT_TEXT(belay_report_css)) + content.styles},
        {"text", escape_html(content.text)},
        {"license", escape_html(BELAY_REPORT_TEXT(belay_report_uplot_license))},
        {"model", std::move(content.data)},
        {"uplot_js", std::string(BELAY_REPORT_TEXT(belay_report_uplot_js))},
        {"script", std::move(content.script)},
    }};
    return fill_in(BELAY_REPORT_TEXT(belay_report_html), fields);
}

}  // namespace belay::report
