#include "server/records/judge.h"

#include "core/json.h"
#include "server/records/record_store.h"
#include "server/records/testing.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace belay::server {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
namespace fs = std::filesystem;

constexpr const char* kJudgedKey = "alps-7-0-1700000010";

// AddressSanitizer takes terabytes of addresses.
ProgramLimits limits_for_tests() {
    ProgramLimits limits;
#ifdef __SANITIZE_ADDRESS__
    limits.memory_bytes = 0;
#endif
    return limits;
}

// What a script prints in place of `belay`, by its first words.
constexpr const char* kFine = R"(
case "$1" in
    record) echo '{"sealed": true}' ;;
    score) echo '{"score": 1}' ;;
    findings) echo '{"findings": [1]}'; exit 1 ;;
    report) echo page >"$4"; echo '{"outcome": "success"}' ;;
esac)";

// A directory of a job whose record nobody looks at, and a program that judges it.
class Entry {
  public:
    explicit Entry(const std::string& script, ProgramLimits limits = limits_for_tests())
        : limits_(std::move(limits)) {
        const fs::path program = place_.path() / "belay";
        std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
        fs::permissions(program, fs::perms::owner_all);
        fs::create_directories(path() / kRecordName);
    }
    fs::path path() const { return place_.path() / "entry"; }
    Judged judge() const {
        const auto entry = core::Directory::open(path());
        auto judged = judge_record(*entry, place_.path() / "belay", limits_, at(5));
        if (!judged) ADD_FAILURE() << judged.error().message();
        return judged.value_or(Judged());
    }
    std::string why(const std::string& what) const {
        const Judged judged = this->judge();
        for (const JudgeRun& run : judged.runs)
            if (run.what == what) return run.why.value_or("");
        return "not run";
    }
    std::string text(std::string_view name) const {
        return core::read_file(path() / name).value_or("nothing");
    }
    std::vector<std::string> names() const { return core::Directory::open(path())->list().value(); }

  private:
    core::TemporaryDirectory place_ = core::TemporaryDirectory::create("judge_test").value();
    ProgramLimits limits_;
};

TEST(server_records, answers_are_kept_beside_the_record) {
    const Entry entry(kFine);
    const Judged judged = entry.judge();
    EXPECT_TRUE(judged.is_whole());
    EXPECT_EQ(judged.at, at(5));
    EXPECT_THAT(judged.runs, SizeIs(4));
    EXPECT_EQ(entry.text(kScoreName), "{\"score\": 1}\n");
    EXPECT_EQ(entry.text(kFindingsName), "{\"findings\": [1]}\n");
    EXPECT_EQ(entry.text(kSummaryName), "{\"outcome\": \"success\"}\n");
    EXPECT_EQ(entry.text(kReportName), "page\n");
    EXPECT_EQ(judged_from_json(entry.text(kJudgedName), "judged.json").value(), judged);
    EXPECT_THAT(entry.names(), ElementsAre("findings.json", "judged.json", "record", "report.html",
                                           "score.json", "summary.json"));
}

TEST(server_records, a_program_that_fails_is_an_answer) {
    const std::string fine = kFine;
    const Entry entry(
        "case $1 in score) echo oops >&2; echo 'no '$(printf '\\033')'record' >&2; exit 3;; esac" + fine);
    const Judged judged = entry.judge();
    EXPECT_FALSE(judged.is_whole());
    EXPECT_EQ(judged.runs[1].why, "exit status 3: no ?record");
    EXPECT_EQ(judged.runs[2].why, std::nullopt);
    EXPECT_FALSE(fs::exists(entry.path() / kScoreName));
    EXPECT_TRUE(fs::exists(entry.path() / kFindingsName));
    EXPECT_TRUE(fs::exists(entry.path() / kRecordName));
    EXPECT_EQ(judged_from_json(entry.text(kJudgedName), "judged.json").value(), judged);
}

TEST(server_records, what_findings_could_not_look_at_is_told_with_those_it_found) {
    const Entry entry("case $1 in findings) echo '{}'; echo 'a rule is wrong' >&2; exit 2;; esac" +
                      std::string(kFine));
    EXPECT_EQ(entry.why("findings"), "exit status 2: a rule is wrong");
    EXPECT_EQ(entry.text(kFindingsName), "{}\n");
}

TEST(server_records, a_program_that_crashes_says_how) {
    EXPECT_THAT(Entry("kill -SEGV $$").why("score"), HasSubstr("SIGSEGV"));
}

TEST(server_records, what_is_not_json_is_not_kept) {
    const Entry entry("case $1 in score) echo 'score: 5';; findings) ;; esac; exit 0");
    EXPECT_EQ(entry.why("score"), "it printed no JSON");
    EXPECT_EQ(entry.why("findings"), "it printed no JSON");
    EXPECT_FALSE(fs::exists(entry.path() / kScoreName));
}

TEST(server_records, an_answer_of_before_stays_where_there_is_none) {
    const Entry entry("case $1 in score) exit 3;; esac" + std::string(kFine));
    std::ofstream(entry.path() / kScoreName) << "before";
    std::ofstream(entry.path() / kFindingsName) << "before";
    entry.judge();
    EXPECT_EQ(entry.text(kScoreName), "before");
    EXPECT_EQ(entry.text(kFindingsName), "{\"findings\": [1]}\n");
}

TEST(server_records, a_program_has_limits) {
    ProgramLimits limits = limits_for_tests();
    limits.time = std::chrono::milliseconds(300);
    EXPECT_THAT(Entry("sleep 1000", limits).why("score"), Not(IsEmpty()));
    limits = limits_for_tests();
    limits.output_bytes = 1000;
    EXPECT_THAT(Entry("yes", limits).why("score"), HasSubstr("more than 1000 bytes"));
    limits = limits_for_tests();
    limits.cpu = std::chrono::seconds(1);
    EXPECT_THAT(Entry("while :; do :; done", limits).why("score"), HasSubstr("signal"));
    limits = limits_for_tests();
    limits.file_bytes = 2000;
    limits.memory_bytes = uint64_t{1} << 30;
    limits.niceness = 7;
    const Entry entry("case $1 in score) echo \"[$(ulimit -f), $(ulimit -v), $(ulimit -c), $(nice)]\";; esac",
                      limits);
    entry.judge();
    // Blocks of 512 bytes, and kibibytes; those of a process that is nicer already stay so.
    EXPECT_THAT(entry.text(kScoreName), ::testing::MatchesRegex(R"(\[3, 1048576, 0, [0-9]+\].)"));
}

TEST(server_records, a_program_gets_no_secrets) {
    ASSERT_EQ(setenv("BELAY_TEST_SECRET", "secret", 1), 0);
    const Entry kept("case $1 in score) echo \"[\\\"$BELAY_TEST_SECRET\\\"]\";; esac");
    kept.judge();
    unsetenv("BELAY_TEST_SECRET");
    EXPECT_EQ(kept.text(kScoreName), "[\"\"]\n");
}

TEST(server_records, a_program_that_is_missing_is_an_answer) {
    const core::TemporaryDirectory place = core::TemporaryDirectory::create("judge_test").value();
    const auto entry = core::Directory::open(place.path());
    const auto judged = judge_record(*entry, "/nonexistent/belay", limits_for_tests(), at(1));
    ASSERT_TRUE(judged) << judged.error().message();
    EXPECT_THAT(judged->runs[1].why.value_or(""), HasSubstr("nonexistent"));
}

TEST(server_records, judgements_that_were_damaged_are_told) {
    for (const char* text : {"", "[]", "{}", R"({"at": 5, "runs": []})", R"({"at": "2026-01-01T00:00:00Z"})",
                             R"({"at": "2026-01-01T00:00:00Z", "runs": [5]})",
                             R"({"at": "2026-01-01T00:00:00Z", "runs": [{"what": "score"}]})"}) {
        const auto judged = judged_from_json(text, "judged.json");
        ASSERT_FALSE(judged) << text;
        EXPECT_EQ(judged.error().kind(), core::ErrorKind::kBadInput) << text;
    }
}

// By the program itself.
TEST(server_records, a_record_is_judged) {
    Site site;
    site.write({}, {{.job = 7, .step = "0", .from = 10.5, .to = 60.5, .devices = {"GPU-1"}, .cpus = 1}},
               {"GPU-1"});
    auto intake = site.open();
    Site::upload(*intake, uploads_of(site.spool(), 20'000));
    const auto store =
        RecordStore::open(site.path("records"), {.belay = BELAY_PROGRAM, .judging = limits_for_tests()});
    ASSERT_TRUE(store) << store.error().message();
    EXPECT_EQ(store->judge(kJudgedKey).error().cause(), core::Cause::kNotFound);
    const auto built = store->build(*intake, kJudgedKey, job_at(7, 10, 61));
    ASSERT_TRUE(built) << built.error().message();
    EXPECT_EQ(store->judged(kJudgedKey).value(), std::nullopt);
    const auto judged = store->judge(kJudgedKey);
    ASSERT_TRUE(judged) << judged.error().message();
    for (const JudgeRun& run : judged->runs) EXPECT_EQ(run.why, std::nullopt) << run.what;
    EXPECT_EQ(store->judged(kJudgedKey).value(), *judged);
    auto json = [&](std::string_view name) {
        return core::parse_json(core::read_file(built->path / name).value_or(""));
    };
    EXPECT_TRUE(json(kScoreName).contains("score"));
    EXPECT_TRUE(json(kFindingsName).contains("findings"));
    EXPECT_TRUE(json(kSummaryName).contains("outcome"));
    EXPECT_THAT(core::read_file(built->path / kReportName).value(), HasSubstr("<html"));
    EXPECT_THAT(core::files_with_suffix(built->path / kRecordName / "tables", ".parquet").value(),
                Not(IsEmpty()));
}

}  // namespace
}  // namespace belay::server
