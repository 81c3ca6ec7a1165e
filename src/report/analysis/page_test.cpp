#include "report/analysis/page.h"

#include "bench/analysis/runs_for_tests.h"
#include "core/json.h"

#include <gtest/gtest.h>

namespace belay::report {
namespace {

std::string page_of(std::string_view platform) {
    std::vector<bench::RunInput> inputs;
    for (double nodes : {2.0, 8.0})
        for (int i = 0; i < 4; ++i) {
            inputs.push_back(bench::make_run({.platform = std::string(platform),
                                              .nodes = nodes,
                                              .epochs = 10.0 + i,
                                              .epoch_seconds = 200 / nodes}));
            inputs.back().epochs.push_back({.number = 1, .start = 1.0, .seconds = 2.0, .metric = 0.5});
        }
    return render_analysis(bench::analyze_runs(inputs, {}), "as text");
}

nlohmann::json data_of(const std::string& page) {
    const std::string_view mark = "id=\"model\">";
    const size_t begin = page.find(mark) + mark.size();
    return core::parse_json(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(analysis_page, holds_everything_and_fetches_nothing) {
    const std::string page = page_of("alpha");
    EXPECT_TRUE(page.starts_with("<!doctype html>"));
    EXPECT_EQ(page.find("{{"), page.npos) << "every part was filled in";
    for (const char* fetching : {"src=\"http", "href=\"http", "url(", "@import", "fetch(", "XMLHttpRequest"})
        EXPECT_EQ(page.find(fetching), page.npos) << fetching;
    const auto data = data_of(page);
    EXPECT_EQ(data["figures"].size(), 7U);
    EXPECT_EQ(data["systems"].size(), 2U);
    EXPECT_EQ(data["systems"][0]["run_list"][0]["records"][0]["metric"], 0.5);
    EXPECT_EQ(data["title"], "Joint analysis: cosmoflow");
}

TEST(analysis_page, hostile_names_stay_data) {
    const std::string name = "</script><script>alert(1)</script>{{model}}";
    const std::string page = page_of(name);
    EXPECT_EQ(page.find("<script>alert"), page.npos);
    EXPECT_EQ(data_of(page)["systems"][0]["system"], name);
}

TEST(analysis_page, of_nothing_says_what_is_missing) {
    const std::string page = render_analysis(bench::analyze_runs({}, {}), "");
    EXPECT_EQ(data_of(page)["notes"][0], "no run was given");
}

}  // namespace
}  // namespace belay::report
