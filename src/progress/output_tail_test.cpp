#include "progress/output_tail.h"

#include "progress/secrets.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::progress {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<std::string> lines_of(std::string_view text) {
    OutputTail tail;
    tail.feed(text);
    return tail.lines();
}

std::string masked(const std::string& line) {
    std::vector<std::string> lines = {line};
    mask_secrets(lines);
    return lines[0];
}

TEST(progress, the_tail_of_an_output_is_its_last_lines) {
    EXPECT_THAT(lines_of(""), IsEmpty());
    EXPECT_THAT(lines_of("a\n\n  \nb\r\nc"), ElementsAre("a", "b", "c"));
    std::string text;
    for (int i = 0; i < 1000; ++i) text += fmt::format("line {}\n", i);
    const auto lines = lines_of(text);
    EXPECT_THAT(lines, SizeIs(OutputTail::kMostLines));
    EXPECT_EQ(lines.back(), "line 999");
}

TEST(progress, the_tail_of_a_progress_bar_is_its_last_state) {
    EXPECT_THAT(lines_of("  1%|#\r 50%|#####\r100%|##########\r\nRuntimeError: x\n"),
                ElementsAre("100%|##########", "RuntimeError: x"));
}

TEST(progress, the_tail_has_no_escapes_and_is_utf8) {
    EXPECT_THAT(lines_of("\x1b[31mred\x1b[0m \xff\n"), ElementsAre("red \xef\xbf\xbd"));
}

TEST(progress, a_line_that_never_ends_is_cut) {
    const auto lines = lines_of(std::string(1 << 20, 'x'));
    ASSERT_THAT(lines, SizeIs(1));
    EXPECT_LE(lines[0].size(), OutputTail::kLongestLine + 4);
}

TEST(progress, the_tail_does_not_depend_on_the_pieces) {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        std::string text;
        const size_t size = random() % (3 * OutputTail::kMostBytes);
        while (text.size() < size) text += "ab\r\n \x1b[1mé: "[random() % 13];
        OutputTail tail;
        for (size_t at = 0; at < text.size();) {
            const size_t piece = random() % (random() % 2 == 0 ? 50 : 20'000);
            tail.feed(std::string_view(text).substr(at, piece));
            at += piece;
        }
        EXPECT_EQ(tail.lines(), lines_of(text)) << seed;
    }
}

TEST(progress, secrets_are_masked) {
    const std::pair<const char*, const char*> cases[] = {
        {"DB_PASSWORD=hunter2 host=db", "DB_PASSWORD=[masked] host=db"},
        {R"({"api_key": "abc123", "x": 1})", R"({"api_key": "[masked]", "x": 1})"},
        {"run --client-secret abc --steps 5", "run --client-secret [masked] --steps 5"},
        {"HF_TOKEN: hf_abc", "HF_TOKEN: [masked]"},
        {"Authorization: Bearer abc.def", "Authorization: Bearer [masked]"},
        {"curl -H 'authorization: Basic Zm9v'", "curl -H 'authorization: Basic [masked]'"},
        {"using bearer abcdefgh12345678", "using bearer [masked]"},
        {"key AKIAIOSFODNN7EXAMPLE used", "key [masked] used"},
        {"clone with ghp_0123456789abcdefghij0123", "clone with [masked]"},
        {"login hf_0123456789abcdefghijABCD", "login [masked]"},
        {"sk-proj-0123456789abcdefghij", "[masked]"},
        {"pat github_pat_0123456789abcdefghijkl", "pat [masked]"},
        {"pat glpat-0123456789abcdefghij", "pat [masked]"},
        {"slack xoxb-0123456789-abc", "slack [masked]"},
        {"maps AIza0123456789abcdefghijklmnopqrstuvwxy", "maps [masked]"},
        {"npm npm_0123456789abcdefghijklmnopqrstuvwxyz", "npm [masked]"},
        {"jwt eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJ", "jwt [masked]"},
        {"pull https://ada:geheim@registry/lab", "pull https://ada:[masked]@registry/lab"},
        {"postgres://u:p@ss@h/db", "postgres://u:[masked]@h/db"},
        {"git clone https://0123456789abcdefghij@host/x", "git clone https://[masked]@host/x"},
        {R"("private_key": "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n",)",
         R"("private_key": "[masked]",)"},
        {R"("password": "a\"b", x)", R"("password": "[masked]", x)"},
        {"key: -----BEGIN RSA PRIVATE KEY----- MIIE -----END RSA PRIVATE KEY-----",
         "key: -----BEGIN RSA PRIVATE KEY-----[masked]-----END RSA PRIVATE KEY-----"},
        {"password=b'hunter2' x", "password=[masked]'[masked]' x"},
        {R"(password => "hunter 2", x)", R"(password => "[masked]", x)"},
        {"password := hunter2", "password := [masked]"},
        {"password=abc,def;ghi x", "password=[masked] x"},
        {R"({\"password\": \"x\"})", R"({\"password\": \"[masked]\"})"},
        {"SECRET_KEY=abc DB_PASS=x MYSQL_PWD=y AccountKey=z==",
         "SECRET_KEY=[masked] DB_PASS=[masked] MYSQL_PWD=[masked] AccountKey=[masked]"},
        {"Authorization: Negotiate YII ab", "Authorization: Negotiate [masked]"},
        {"Cookie: session=1; x=2", "Cookie: [masked]"},
        {"?X-Amz-Signature=0af9&b=1", "?X-Amz-Signature=[masked]&b=1"},
        {"curl -u ada:pw https://h", "curl -u ada:[masked] https://h"},
        {"ngc nvapi-0123456789abcdefghij", "ngc [masked]"},
        {"hub dckr_pat_0123456789abcdefghij", "hub [masked]"},
        {"pay sk_live_0123456789", "pay [masked]"},
        {"https://hooks.slack.com/services/T0/B0/xyz", "https://hooks.slack.com/services/[masked]"},
    };
    for (const auto& [line, expected] : cases) EXPECT_EQ(masked(line), expected);
}

TEST(progress, what_is_no_secret_stays) {
    for (const char* line : {
             "tokens: 123456, tokens/s 4.2e5, token = 17",
             "tokenizer=gpt2 num_tokens=512",
             "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB",
             "KeyError: 'password'",
             "FATAL: password authentication failed for user \"ada\"",
             "wandb: ERROR api_key not configured (no-tty)",
             "  File \"/opt/app/train.py\", line 12, in <module>",
             "see https://pytorch.org/docs/stable/elastic/errors.html",
             "docker://registry:5000/app@sha256:0123456789abcdef",
             "python -u train.py --bypass 3 compass: 4",
             "commit 0123456789abcdef0123456789abcdef01234567",
         })
        EXPECT_EQ(masked(line), line);
}

TEST(progress, a_private_key_is_masked_also_where_its_beginning_is_gone) {
    std::vector<std::string> lines = {"-----BEGIN RSA PRIVATE KEY-----", "MIIEow", "short",
                                      "-----END RSA PRIVATE KEY-----", "after"};
    mask_secrets(lines);
    EXPECT_THAT(lines, ElementsAre("-----BEGIN RSA PRIVATE KEY-----", kMaskedText, kMaskedText,
                                   "-----END RSA PRIVATE KEY-----", "after"));
    lines = {std::string(64, 'A'), std::string(64, 'b')};
    mask_secrets(lines);
    EXPECT_THAT(lines, Each(kMaskedText));
}

}  // namespace
}  // namespace belay::progress
