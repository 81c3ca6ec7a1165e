#include "slurm/hostlist.h"

#include "core/text.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::slurm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> expanded(std::string_view text) {
    auto names = expand(text);
    EXPECT_TRUE(names) << text << ": " << names.error().render();
    return names.value_or(std::vector<std::string>{});
}

std::string compressed(std::string_view text) {
    auto folded = compress(expanded(text));
    EXPECT_TRUE(folded) << text;
    return folded.value_or("");
}

// The right sides were printed by `scontrol show hostnames` of Slurm 22.05.8.
TEST(slurm, hostlist_expands_as_scontrol) {
    EXPECT_THAT(expanded("n[1-3,07-09]"), ElementsAre("n1", "n2", "n3", "n07", "n08", "n09"));
    EXPECT_THAT(expanded("gpu[01-02]-x[1-2]"), ElementsAre("gpu01-x1", "gpu01-x2", "gpu02-x1", "gpu02-x2"));
    EXPECT_THAT(expanded("n1,n1"), ElementsAre("n1", "n1"));
    EXPECT_THAT(expanded("n[8-011]"), ElementsAre("n8", "n9", "n10", "n11"));
    EXPECT_THAT(expanded("n[001-3]"), ElementsAre("n001", "n002", "n003"));
    EXPECT_THAT(expanded("n[99-101]"), ElementsAre("n99", "n100", "n101"));
    EXPECT_THAT(expanded("[1-3]"), ElementsAre("1", "2", "3"));
    EXPECT_THAT(expanded("n1-3,007"), ElementsAre("n1-3", "007"));
    EXPECT_THAT(expanded("n[1-2][3-4]"), ElementsAre("n13", "n14", "n23", "n24"));
    EXPECT_THAT(expanded("n[18446744073709551615]"), ElementsAre("n18446744073709551615"));
}

TEST(slurm, hostlist_of_three_brackets_varies_the_last_then_the_first) {
    EXPECT_THAT(expanded("n[1-2]-[3-4]-[5-6]"),
                ElementsAre("n1-3-5", "n1-3-6", "n2-3-5", "n2-3-6", "n1-4-5", "n1-4-6", "n2-4-5", "n2-4-6"));
}

TEST(slurm, hostlist_skips_empty_elements_and_blanks) {
    EXPECT_THAT(expanded(""), IsEmpty());
    EXPECT_THAT(expanded(" ,\t\n, "), IsEmpty());
    EXPECT_THAT(expanded(" n1 , n2,,m[1-2]\tx\ny"), ElementsAre("n1", "n2", "m1", "m2", "x", "y"));
}

struct Refusal {
    const char* text;
    int column;
    const char* message;
};

TEST(slurm, hostlist_refuses_with_the_place) {
    const Refusal refusals[] = {
        {"n[1-2", 2, "\"[\" without \"]\""},
        {"n[1-2,", 2, "\"[\" without \"]\""},
        {"n[", 2, "\"[\" without \"]\""},
        {"m,n1-2]", 7, "\"]\" without \"[\""},
        {"n[1-2]]", 7, "\"]\" without \"[\""},
        {"n[]", 3, "brackets hold numbers"},
        {"n[1-]", 5, "brackets hold numbers"},
        {"n[-1]", 3, "brackets hold numbers"},
        {"n[a]", 3, "brackets hold numbers"},
        {"n[1,,2]", 5, "brackets hold numbers"},
        {"n[1 ,2]", 4, "brackets hold numbers"},
        {"n[[1-2]]", 3, "brackets hold numbers"},
        {"n[+1]", 3, "brackets hold numbers"},
        {"n[1:3]", 4, "brackets hold numbers"},
        {"a1,n[3-1]", 6, "ends before it starts"},
        {"n[18446744073709551616]", 3, "too large"},
        {"a[1-2]b", 7, "nothing may follow"},
        {"n[1-2]m[3-4]p", 13, "nothing may follow"},
        {"x,n[1-1048577]", 3, "more than 1048576 hosts"},
        {"n[0-18446744073709551615]", 1, "more than 1048576 hosts"},
        {"n[1-2048]x[1-2048]", 1, "more than 1048576 hosts"},
        {"n[1-65536]a[1-65536]b[1-65536]c[1-65536]", 1, "more than 1048576 hosts"},
    };
    for (const Refusal& refusal : refusals) {
        auto names = expand(refusal.text, "SLURM_JOB_NODELIST");
        ASSERT_FALSE(names) << refusal.text;
        EXPECT_EQ(names.error().kind(), core::ErrorKind::kBadInput);
        EXPECT_THAT(names.error().message(), HasSubstr(refusal.message)) << refusal.text;
        ASSERT_TRUE(names.error().position());
        EXPECT_EQ(names.error().position()->column, refusal.column) << refusal.text;
        EXPECT_EQ(names.error().position()->file, "SLURM_JOB_NODELIST");
    }
}

TEST(slurm, hostlist_error_draws_a_caret) {
    auto names = expand("n1\nn[1-2", "nodes");
    ASSERT_FALSE(names);
    EXPECT_THAT(names.error().render(), HasSubstr("nodes:2:2: \"[\" without \"]\"\n    n[1-2\n     ^\n"));
}

TEST(slurm, hostlist_holds_as_many_hosts_as_it_says) {
    EXPECT_EQ(expanded("n[1-1048576]").size(), kMaxHosts);
    EXPECT_EQ(expanded("n[1-1024]x[1-1024]").back(), "n1024x1024");
    EXPECT_EQ(expanded(std::string(kMaxHostNameBytes, 'n')).size(), 1U);
    EXPECT_FALSE(expand(std::string(kMaxHostNameBytes + 1, 'n')));
    EXPECT_FALSE(expand("n[" + std::string(kMaxHostNameBytes, '0') + "]"));
}

// The right sides were printed by `scontrol show hostlist` of Slurm 22.05.8.
TEST(slurm, hostlist_compresses_as_scontrol) {
    const std::pair<const char*, const char*> cases[] = {
        {"", ""},
        {"n1,n2,n3", "n[1-3]"},
        {"n1,n2,n4", "n[1-2,4]"},
        {"n3,n2,n1", "n[3,2,1]"},
        {"n1,n1", "n[1,1]"},
        {"n1,n2,n1,n2", "n[1-2,1-2]"},
        {"n01,n2,n03", "n[01,2,03]"},
        {"n9,n10,n11", "n[9-11]"},
        {"n09,n10,n11", "n[09-11]"},
        {"n098,n099,n0100", "n[098-099,0100]"},
        {"n0,n00", "n[0,00]"},
        {"a1,a2,b1,b2,a3", "a[1-2],b[1-2],a3"},
        {"n,n1", "n,n1"},
        {"n,n", "n,n"},
        {"01,02", "[01-02]"},
        {"a1b,a2b", "a1b,a2b"},
        {"x1-1,x1-2,x2-1,x2-2", "x1-[1-2],x2-[1-2]"},
        {"n1,n3-n5", "n1,n3-n5"},
        {"n18446744073709551614,n18446744073709551615", "n[18446744073709551614-18446744073709551615]"},
        {"n18446744073709551615,n0", "n[18446744073709551615,0]"},
    };
    for (auto [text, wanted] : cases) EXPECT_EQ(compressed(text), wanted) << text;
}

TEST(slurm, hostlist_compress_refuses_what_is_no_name) {
    for (const std::string& name : {std::string(), std::string("a,b"), std::string("a b"),
                                    std::string("n[1]"), std::string(kMaxHostNameBytes + 1, 'n')}) {
        auto folded = compress(std::vector<std::string>{"n1", name});
        ASSERT_FALSE(folded) << name;
        EXPECT_EQ(folded.error().kind(), core::ErrorKind::kBadInput);
    }
}

// Names as clusters have them, near each other so that ranges arise, in runs, repeated, padded and not.
std::vector<std::string> random_names(std::mt19937_64& random) {
    auto pick = [&](uint64_t below) { return random() % below; };
    constexpr std::string_view kPrefixes[] = {"n", "gpu", "nid00", "r1i", "", "x-", "a.b"};
    std::vector<std::string> names;
    for (uint64_t run = pick(6); run-- > 0;) {
        std::string prefix(kPrefixes[pick(std::size(kPrefixes))]);
        if (pick(3) == 0) prefix += std::to_string(pick(12)) + "-";
        uint64_t number = pick(4) == 0 ? ~uint64_t{0} - pick(3) : pick(120);
        uint64_t width = pick(5);
        for (uint64_t count = 1 + pick(5); count-- > 0; number += pick(8) == 0 ? 2 : 1)
            names.push_back(prefix + (pick(12) == 0 ? "login" : fmt::format("{:0{}}", number, width)));
    }
    return names;
}

TEST(slurm, hostlist_round_trip) {
    std::mt19937_64 random(20260301);
    size_t ranges = 0;
    for (int i = 0; i < 20000; ++i) {
        std::vector<std::string> names = random_names(random);
        auto folded = compress(names);
        ASSERT_TRUE(folded);
        auto again = expand(*folded);
        ASSERT_TRUE(again) << *folded;
        ASSERT_EQ(*again, names) << *folded;
        ASSERT_EQ(compress(*again).value(), *folded);
        ASSERT_LE(folded->size(), core::join(names, ",").size() + 2 * names.size());
        ranges += folded->find('-') != std::string::npos && folded->find('[') != std::string::npos;
    }
    EXPECT_GT(ranges, 5000U);  // the generator makes what it is meant to test
}

// Any bytes either expand to names that fold and unfold to themselves, or are refused with a place inside the
// text.
TEST(slurm, hostlist_survives_mutations) {
    std::mt19937_64 random(7);
    constexpr std::string_view kBytes = "n1a0,-[]9 \n";
    size_t accepted = 0, refused = 0;
    for (int i = 0; i < 20000; ++i) {
        std::string text;
        for (uint64_t length = random() % 14; length-- > 0;) text += kBytes[random() % kBytes.size()];
        auto names = expand(text);
        if (names) {
            ++accepted;
            ASSERT_EQ(expand(compress(*names).value()).value(), *names) << text;
        } else {
            ++refused;
            ASSERT_TRUE(names.error().position());
            ASSERT_LE(names.error().position()->column, static_cast<int>(text.size()) + 1);
        }
    }
    EXPECT_GT(accepted, 1000U);
    EXPECT_GT(refused, 1000U);
}

}  // namespace
}  // namespace belay::slurm
