#include "core/json.h"
#include "report/page.h"
#include "report/terminal.h"
#include "report/testing/synthetic.h"

#include <algorithm>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::report {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t count_of(std::string_view text, std::string_view piece) {
    size_t count = 0;
    for (size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + piece.size())) ++count;
    return count;
}

size_t columns_of(std::string_view line) {
    return static_cast<size_t>(std::ranges::count_if(line, [](char c) { return (c & 0xc0) != 0x80; }));
}

TEST(report, page_holds_everything_and_fetches_nothing) {
    std::string page = render_html(assemble(synthetic_training()));
    EXPECT_TRUE(page.starts_with("<!doctype html>"));
    EXPECT_THAT(page, HasSubstr("cosmoflow-mini"));
    EXPECT_THAT(page, HasSubstr("Copyright (c) 2022 Leon Sorokin")) << "uPlot's licence";
    EXPECT_THAT(page, Not(HasSubstr("{{"))) << "every part was filled in";
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
    for (const char* fetching : {"src=\"http", "href=\"http", "url(", "@import", "fetch(", "XMLHttpRequest"})
        EXPECT_THAT(page, Not(HasSubstr(fetching)));
}

TEST(report, page_of_a_model_is_always_the_same) {
    EXPECT_EQ(render_html(assemble(synthetic_training())), render_html(assemble(synthetic_training())));
}

TEST(report, hostile_text_stays_data) {
    std::string usual = render_html(assemble(synthetic_training()));
    std::string page = render_html(assemble(synthetic_hostile()));
    // No element more than in any other page, whatever the texts say.
    for (const char* element : {"<script", "</script", "<style", "<img", "<!--"})
        EXPECT_EQ(count_of(page, element), count_of(usual, element)) << element;
    EXPECT_THAT(page, HasSubstr("{{model}}")) << "as text, not filled in a second time";
    size_t begin = page.find("id=\"model\">") + std::string_view("id=\"model\">").size();
    nlohmann::json data = core::parse_json(page.substr(begin, page.find("</script>", begin) - begin));
    EXPECT_EQ(data["job"]["user"], "<img src=x onerror=\"window.hacked=2\"><style>*{display:none}</style>");
}

TEST(report, text_fits_its_width) {
    for (const Measurements& data : {synthetic_training(), synthetic_bare(), synthetic_large(40)}) {
        std::istringstream lines(render_terminal(assemble(data), false, 100));
        for (std::string line; std::getline(lines, line);) EXPECT_LE(columns_of(line), 100U) << line;
    }
}

TEST(report, text_says_what_matters) {
    std::string text = render_terminal(assemble(synthetic_training()), false, 100);
    EXPECT_THAT(text, HasSubstr("cosmoflow-mini · job 4711 on alps  completed"));
    EXPECT_THAT(text, HasSubstr("MAE"));
    EXPECT_THAT(text, HasSubstr("target 0.13 reached"));
    EXPECT_THAT(text, HasSubstr("gap: nid001002 host from 1:35 for 6 s"));
    EXPECT_THAT(text, HasSubstr("filesystem_hang"));
    EXPECT_THAT(text, HasSubstr("lost: nothing known"));
    EXPECT_THAT(render_terminal(assemble(synthetic_large(40)), false, 100), HasSubstr("and 24 nodes more"));
}

TEST(report, text_is_coloured_only_on_request) {
    ReportModel model = assemble(synthetic_training());
    EXPECT_THAT(render_terminal(model, true, 100), HasSubstr("\033[32m"));
    EXPECT_EQ(render_terminal(model, false, 100).find('\033'), std::string::npos);
}

TEST(report, text_lets_no_control_character_through) {
    Measurements data = synthetic_hostile();
    data.job.name = "a\033]0;title\007b\nc\xc2\x9b";
    data.nodes[1].name = "n\r2";
    std::string text = render_terminal(assemble(data), false, 100);
    EXPECT_THAT(text, HasSubstr("a?]0;title?b?c?"));
    for (char c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
}

}  // namespace
}  // namespace belay::report
