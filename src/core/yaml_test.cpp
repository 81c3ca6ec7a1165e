#include "core/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::core {
namespace {

using testing::HasSubstr;

std::string refused(std::string_view text) {
    auto node = parse_yaml({text, "f.yaml"});
    if (node) return "accepted";
    EXPECT_EQ(node.error().kind(), ErrorKind::kBadInput);
    return node.error().render();
}

// Ten lists of ten of the one before: a billion values.
std::string bomb() {
    std::string text = "a0: &a0 [x]\n";
    for (int i = 1; i < 10; ++i) {
        text += fmt::format("a{}: &a{} [", i, i);
        for (int j = 0; j < 10; ++j) text += fmt::format("*a{}{}", i - 1, j < 9 ? ", " : "]\n");
    }
    return text;
}

// A text of 100 kB that stands in the tree 20,000 times: 2 GB.
std::string bomb_of_text() {
    std::string text = "a: &a \"" + std::string(100'000, 'x') + "\"\nb: [";
    for (int i = 0; i < 19'000; ++i) text += "*a, ";
    return text + "*a]\n";
}

TEST(core, yaml_is_a_tree_with_positions) {
    auto root = parse_yaml({"name: p\nlist:\n  - {a: [1, two]}\n", "f.yaml"});
    ASSERT_TRUE(root.has_value());
    EXPECT_EQ(root->type, YamlType::kMap);
    EXPECT_EQ(root->find("none"), nullptr);
    const YamlEntry* list = root->find("list");
    ASSERT_NE(list, nullptr);
    EXPECT_EQ(list->line, 2);
    ASSERT_EQ(list->value.items.size(), 1u);
    const YamlEntry* a = list->value.items[0].find("a");
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(a->line, 3);
    EXPECT_EQ(a->column, 6);
    ASSERT_EQ(a->value.items.size(), 2u);
    EXPECT_EQ(a->value.items[1].text, "two");
    EXPECT_EQ(a->value.items[1].column, 13);
}

TEST(core, yaml_scalars_have_the_types_of_yaml_1_1) {
    constexpr std::pair<std::string_view, YamlType> kScalars[] = {
        {"", YamlType::kNull},       {"~", YamlType::kNull},      {"null", YamlType::kNull},
        {"yes", YamlType::kBoolean}, {"Off", YamlType::kBoolean}, {"'yes'", YamlType::kText},
        {"12", YamlType::kInteger},  {"-12", YamlType::kInteger}, {"+12", YamlType::kInteger},
        {"1.5", YamlType::kNumber},  {"1e3", YamlType::kNumber},  {"\"12\"", YamlType::kText},
        {"12GB", YamlType::kText},   {".inf", YamlType::kText},   {"1.2.3", YamlType::kText},
    };
    for (const auto& [text, type] : kScalars) {
        auto root = parse_yaml({fmt::format("a: {}\n", text), "f.yaml"});
        ASSERT_TRUE(root.has_value()) << text;
        EXPECT_EQ(root->entries.at(0).value.type, type) << text;
    }
}

TEST(core, yaml_places_count_bytes) {
    EXPECT_THAT(refused("a: {\"Größe\": 1, b: 2, b: 3}\n"),
                HasSubstr("f.yaml:1:25: the key \"b\" stands twice"));
}

TEST(core, yaml_without_a_document_is_nothing) {
    for (std::string_view text : {"", "\n", "# only this\n"}) {
        auto root = parse_yaml({text, "f.yaml"});
        ASSERT_TRUE(root.has_value()) << text;
        EXPECT_EQ(root->type, YamlType::kNull) << text;
    }
}

TEST(core, yaml_that_is_broken_or_hostile_is_refused) {
    EXPECT_THAT(refused("name: [p\n"), HasSubstr("f.yaml:2:1: end of sequence flow not found"));
    EXPECT_THAT(refused("name: p\nname: q\n"), HasSubstr("f.yaml:2:1: the key \"name\" stands twice"));
    EXPECT_THAT(refused("{[a]: b}\n"), HasSubstr("f.yaml:1:2: a key must be a word"));
    EXPECT_THAT(refused("a: 1\n---\nb: 2\n"), HasSubstr("unexpected content after the end"));
    EXPECT_THAT(refused("name: p\nchecks: &a [*a]\n"), HasSubstr("an alias inside its own anchor"));
    EXPECT_THAT(refused(std::string(5000, '[')), HasSubstr("f.yaml:"));
    EXPECT_THAT(refused(std::string(kMaxYamlBytes + 1, ' ')), HasSubstr("larger than 256 KiB"));
    EXPECT_THAT(refused(","), HasSubstr("f.yaml:1:1: unexpected content after the end of the document"))
        << "for which the library alone never comes to an end";
    EXPECT_THAT(refused("name: \xff\n"), HasSubstr("f.yaml:1:1: the line is not UTF-8"));
    EXPECT_THAT(refused("a: &a {b: 1}\nc: {<<: *a}\n"),
                HasSubstr("f.yaml:2:5: merging with << is not supported"));
    EXPECT_THAT(refused(bomb()), HasSubstr("more than 20000 values"));
    EXPECT_THAT(refused(bomb_of_text()), HasSubstr("more than 1024 KiB of text, aliases written out"));
}

TEST(core, yaml_that_is_nested_without_end_is_refused) {
    for (std::string_view part : {"[", "{a: ", "- ", "? ", "{", "a: [", "!!x ", "&a "}) {
        std::string text;
        while (text.size() + part.size() < kMaxYamlBytes) text += part;
        EXPECT_THAT(refused(text), HasSubstr("f.yaml:")) << part;
    }
}

}  // namespace
}  // namespace belay::core
