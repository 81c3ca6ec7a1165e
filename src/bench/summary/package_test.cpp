#include "bench/summary/package.h"

#include "bench/summary/package_for_tests.h"
#include "bench/summary/table.h"

#include <sys/stat.h>

#include <gmock/gmock.h>

namespace belay::bench {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::vector<std::string> all_errors(std::span<const SummaryRow> rows) {
    std::vector<std::string> errors;
    for (const SummaryRow& row : rows) errors.insert(errors.end(), row.errors.begin(), row.errors.end());
    return errors;
}

TEST(bench, package_description_has_thirty_three_fields) {
    const auto empty = parse_system_description("{}", "s.json").value();
    EXPECT_EQ(empty.missing.size(), 33u);
    EXPECT_FALSE(empty.accelerators());
    const auto some = parse_system_description(R"({"number_of_nodes": " 16", "accelerators_per_node": 0,
        "submitter": ["a"], "division": "open"})",
                                               "s.json")
                          .value();
    EXPECT_EQ(some.accelerators(), 16) << "a node without accelerators counts as one";
    EXPECT_FALSE(some.units_per_node());
    EXPECT_EQ(some.submitter, "");
    EXPECT_EQ(some.division, "open");
    EXPECT_FALSE(parse_system_description(R"({"number_of_nodes": "many"})", "s.json").value().nodes);
    EXPECT_THAT(parse_system_description("[1]", "s.json").error().message(),
                HasSubstr("s.json: is not a JSON object"));
    EXPECT_FALSE(parse_system_description(std::string(100'000, '['), "s.json"));
}

TEST(bench, package_description_counts_host_processors_where_there_are_no_accelerators) {
    auto described = [](std::string_view accelerators) {
        return parse_system_description(
                   fmt::format(R"({{"accelerators_per_node": {}, "host_processors_per_node": "2"}})",
                               accelerators),
                   "s.json")
            .value();
    };
    EXPECT_EQ(described("8").units_per_node(), 8);
    EXPECT_EQ(described("0").units_per_node(), 2);
    EXPECT_EQ(described("\"N/A\"").units_per_node(), 2);
}

TEST(bench, package_parameters_are_lines) {
    EXPECT_TRUE(parse_bypass("rcp-bypass\n", false).rcp);
    EXPECT_FALSE(parse_bypass("rcp-bypass\n", true).rcp);
    EXPECT_TRUE(parse_bypass("x\nrcp-bypass", true).rcp);
    EXPECT_TRUE(parse_bypass(" seed-checker-bypass \r\nrcp-bypass", false).seeds);
    EXPECT_FALSE(parse_bypass("rcp_bypass\n", false).rcp) << "as some published packages write it";
}

TEST(bench, package_scaling_is_a_number_above_zero) {
    EXPECT_EQ(parse_scaling(format_scaling(1.25), "scaling.json").value(), 1.25);
    for (const char* text :
         {"", "[]", "{}", "1.5", R"({"scaling_factor": "1"})", R"({"scaling_factor": -1})"})
        EXPECT_FALSE(parse_scaling(text, "scaling.json")) << text;
}

TEST(bench, package_links_are_not_followed) {
    PackageOnDisk disk;
    disk.add_logs(5);
    std::filesystem::create_directories(disk.root() / "elsewhere/oc20");
    std::ofstream(disk.root() / "elsewhere/result_9.txt") << "minutes=1";
    std::filesystem::create_directory_symlink(disk.root() / "elsewhere",
                                              disk.package() / "results/machine/weak");
    std::filesystem::remove(disk.package() / "results/machine/strong/oc20/result_0.txt");
    std::filesystem::create_symlink(disk.root() / "elsewhere/result_9.txt",
                                    disk.package() / "results/machine/strong/oc20/result_0.txt");
    const auto rows = disk.rows();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_THAT(rows[0].errors,
                ElementsAre("results/machine/weak is a symbolic link, which is not followed: put what "
                            "it leads to in its place"));
    EXPECT_EQ(rows[1].failed_logs, 1);
    EXPECT_THAT(rows[1].warnings, Contains(HasSubstr("result_0.txt does not comply: ")));
}

TEST(bench, package_without_its_folders_says_what_is_missing) {
    PackageOnDisk disk;
    EXPECT_THAT(all_errors(disk.rows()), ElementsAre("results is missing: it holds the logs"));
    disk.add_logs(5);
    std::filesystem::remove_all(disk.package() / "systems");
    EXPECT_THAT(all_errors(disk.rows()),
                ElementsAre(HasSubstr("systems is missing"), HasSubstr("machine.json is missing")));
    EXPECT_EQ(disk.rows().back().division, "");
    EXPECT_EQ(disk.rows().back().score_minutes, 12);
    std::filesystem::create_symlink("/", disk.package() / "systems");
    EXPECT_THAT(all_errors(disk.rows()), Contains(HasSubstr("systems is a symbolic link")));
    EXPECT_FALSE(summarize(disk.package() / "benchmarks", verdict_of_facts, {})) << "not a package";
    EXPECT_FALSE(summarize(disk.package() / "absent", verdict_of_facts, {}));
}

TEST(bench, package_of_many_organisations_gives_the_rows_of_all) {
    PackageOnDisk disk;
    disk.add_logs(5);
    std::filesystem::copy(disk.package(), disk.root() / "Another", std::filesystem::copy_options::recursive);
    std::filesystem::create_directories(disk.root() / "notes");
    const auto rows = summarize(disk.root(), verdict_of_facts, {.threads = 3}).value();
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0].path, "Another/results/machine/strong/oc20");
    EXPECT_EQ(rows[0].submitter, "Org") << "of the description";
    EXPECT_FALSE(has_errors(rows));
}

TEST(bench, package_pipes_and_large_logs_are_not_read) {
    PackageOnDisk disk;
    disk.add_logs(5);
    const auto log = disk.package() / "results/machine/strong/oc20/result_1.txt";
    std::filesystem::remove(log);
    ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
    EXPECT_EQ(disk.only_row().failed_logs, 1);
    const auto large = disk.package() / "results/machine/strong/oc20/result_2.txt";
    std::filesystem::resize_file(large, kMostLogBytes + 1);
    EXPECT_EQ(disk.only_row().failed_logs, 2);
}

TEST(bench, package_names_with_control_characters_are_shown_without) {
    PackageOnDisk disk;
    disk.describe("ev\x1b[2Jil|\n*");
    disk.add_logs(5, "epochs=20 batch=256", "results/ev\x1b[2Jil|\n*/strong/oc20");
    const auto rows = disk.rows();
    ASSERT_FALSE(rows.empty());
    for (const std::string& text : {to_csv(rows), to_markdown(rows)}) {
        EXPECT_THAT(text, Not(HasSubstr("\x1b")));
        EXPECT_THAT(text, HasSubstr("[2Jil"));
    }
    EXPECT_THAT(to_markdown(rows), HasSubstr("il\\|?\\*"));
    EXPECT_EQ(to_json(rows).back()["system"], "ev\x1b[2Jil|\n*") << "a JSON text may hold any character";
}

SummaryRow row_for_table() {
    SummaryRow row{.submitter = "A, \"B\"", .system = "s", .benchmark = "oc20", .mode = "time_to_train"};
    row.division = "closed";
    row.score_minutes = 12.5;
    row.rcp = "pass";
    row.scaling = 1;
    row.errors = {"one", "two; three"};
    return row;
}

TEST(bench, summary_table_has_the_columns_of_the_contract_first) {
    std::vector<std::string_view> names;
    for (const SummaryColumn& column : summary_columns().first(10)) names.push_back(column.name);
    EXPECT_THAT(names, ElementsAre("submitter", "system", "benchmark", "mode", "division", "score_minutes",
                                   "rcp", "scaling", "models", "accelerators_per_model"));
    const auto json = to_json(std::vector{row_for_table()});
    EXPECT_EQ(json[0]["score_minutes"], 12.5);
    EXPECT_TRUE(json[0]["models"].is_null());
    EXPECT_EQ(json[0]["errors"].size(), 2u);
}

TEST(bench, summary_table_is_valid_csv_and_markdown) {
    const std::vector rows = {row_for_table()};
    const std::string csv = to_csv(rows);
    EXPECT_THAT(csv, HasSubstr("\n\"A, \"\"B\"\"\",s,oc20,time_to_train,closed,12.5,pass,1.0,,"));
    EXPECT_EQ(std::ranges::count(csv, '\n'), 2);
    const std::string markdown = to_markdown(rows);
    EXPECT_THAT(markdown,
                HasSubstr("| A, \"B\" | s | oc20 | time\\_to\\_train | closed | 12.5 | pass | 1 | - |"));
    EXPECT_THAT(markdown, HasSubstr("- A, \"B\", s, oc20, time\\_to\\_train: two; three\n"));
    EXPECT_THAT(markdown, Not(HasSubstr("Warnings")));
    EXPECT_EQ(std::ranges::count(to_csv({}), '\n'), 1);
}

}  // namespace
}  // namespace belay::bench
