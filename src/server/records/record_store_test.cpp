#include "server/records/record_store.h"

#include "record/place.h"
#include "server/records/testing.h"

#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
namespace fs = std::filesystem;

constexpr const char* kKey = "alps-7-0-1700000010";
constexpr const char* kOther = "alps-8-0-1764412345";

// Two jobs on a node, uploaded.
class Records {
  public:
    Records() {
        site.write({}, {{.job = 7, .step = "0", .from = 10.5, .to = 30.5, .cpus = 1},
                        {.job = 8, .step = "0", .from = 20.5, .to = 80.5, .cpus = 2}});
        intake = site.open();
        Site::upload(*intake, uploads_of(site.spool(), 20'000));
    }
    fs::path directory() const { return site.path("records"); }
    RecordStore open(const RecordStoreOptions& options = {}) const {
        auto store = RecordStore::open(directory(), options);
        if (!store) ADD_FAILURE() << store.error().message();
        return std::move(*store);
    }
    BuiltRecord build(const RecordStore& store, const char* key = kKey, int64_t job = 7) const {
        auto built = store.build(*intake, key, job_at(job, 10, 90));
        if (!built) ADD_FAILURE() << built.error().message();
        return built.value_or(BuiltRecord());
    }
    // All names beneath the store, of directories down to those of jobs.
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        for (auto at = fs::recursive_directory_iterator(directory()); at != fs::end(at); ++at) {
            names.push_back(fs::relative(at->path(), directory()));
            if (at.depth() == 2) at.disable_recursion_pending();
        }
        std::ranges::sort(names);
        return names;
    }

    Site site;
    std::unique_ptr<Intake> intake;
};

bool is_whole(const fs::path& record) {
    const auto manifest = record::read_manifest(record);
    if (!manifest || !manifest->sealed) return false;
    return std::ranges::all_of(manifest->tables, [&](const auto& table) {
        return fs::exists(record::tables_path(record) / (table.first + ".parquet"));
    });
}

TEST(server_records, a_record_is_built_once) {
    const Records records;
    const RecordStore store = records.open();
    EXPECT_FALSE(store.has(kKey).value());
    const BuiltRecord built = records.build(store);
    EXPECT_EQ(built.path, records.directory() / "alps/2023-11" / kKey);
    EXPECT_EQ(built.path, store.path_of(kKey).value());
    EXPECT_THAT(built.nodes, ElementsAre("n1"));
    EXPECT_FALSE(built.was_there);
    EXPECT_TRUE(is_whole(built.path / kRecordName));
    EXPECT_THAT(rows_of(built.path / kRecordName).at("host"), SizeIs(20));
    EXPECT_EQ(fs::status(built.path).permissions(), fs::perms::owner_all);
    EXPECT_TRUE(records.build(store).was_there);
    records.build(store, kOther, 8);
    EXPECT_THAT(store.keys().value(), ElementsAre(kKey, kOther));
    EXPECT_THAT(records.names(), ElementsAre("alps", "alps/2023-11", std::string("alps/2023-11/") + kKey,
                                             "alps/2025-11", std::string("alps/2025-11/") + kOther));
}

TEST(server_records, a_record_is_rebuilt_and_erased) {
    const Records records;
    const RecordStore store = records.open();
    const fs::path path = records.build(store).path;
    std::ofstream(path / kScoreName) << "{}";
    const auto again = store.rebuild(*records.intake, kKey, job_at(8, 10, 90));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_THAT(rows_of(path / kRecordName).at("host"), SizeIs(60));
    EXPECT_FALSE(fs::exists(path / kScoreName)) << "that was of the one before";
    ASSERT_FALSE(store.rebuild(*records.intake, kKey, job_at(999, 10, 90)));
    EXPECT_TRUE(is_whole(path / kRecordName)) << "the one before stays";
    EXPECT_TRUE(store.erase(kKey).value());
    EXPECT_FALSE(store.erase(kKey).value());
    EXPECT_THAT(records.names(), ElementsAre("alps", "alps/2023-11"));
    EXPECT_THAT(store.keys().value(), IsEmpty());
    ASSERT_TRUE(store.rebuild(*records.intake, kKey, job_at(7, 10, 90))) << "also where there is none";
    EXPECT_THAT(store.keys().value(), ElementsAre(kKey));
}

TEST(server_records, names_that_are_no_keys_lead_nowhere) {
    const Records records;
    const RecordStore store = records.open();
    for (const char* key : {"", "..", "../../x", "alps-7-0", ".a-7-0-1", "a/b-7-0-1", "alps-7-0-1/../.."}) {
        EXPECT_FALSE(store.build(*records.intake, key, job_at(7, 10, 90))) << key;
        EXPECT_FALSE(store.path_of(key)) << key;
        EXPECT_FALSE(store.erase(key)) << key;
        EXPECT_FALSE(store.judge(key)) << key;
        EXPECT_FALSE(store.adopt(key, records.site.path("x"))) << key;
    }
    EXPECT_THAT(records.names(), IsEmpty());
}

TEST(server_records, a_job_of_which_nothing_is_known_leaves_no_record) {
    const Records records;
    const RecordStore store = records.open();
    const auto none = store.build(*records.intake, kKey, job_at(999, 10, 90));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().cause(), core::Cause::kNotFound);
    EXPECT_THAT(store.keys().value(), IsEmpty());
    EXPECT_THAT(records.names(), ElementsAre("alps", "alps/2023-11"));
}

TEST(server_records, a_full_disk_leaves_no_record) {
    const Records records;
    const RecordStore store = records.open();
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (const rlim_t bytes : {100U, 3000U, 5000U}) {  // too little for the manifest, a segment, and a table
        rlimit limit = before;
        limit.rlim_cur = bytes;
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
        const auto refused = store.build(*records.intake, kKey, job_at(7, 10, 90));
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
        ASSERT_FALSE(refused) << bytes;
        EXPECT_EQ(refused.error().kind(), core::ErrorKind::kSystem) << refused.error().message();
        EXPECT_THAT(records.names(), ElementsAre("alps", "alps/2023-11")) << bytes;
    }
    signal(SIGXFSZ, handler);
    EXPECT_TRUE(is_whole(records.build(store).path / kRecordName));
}

// Makes and removes a record until it is killed; says when it begins.
[[noreturn]] void build_for_ever(const Records& records, int begun) {
    auto intake = Intake::open(records.site.path("blocks"), "b", {});
    auto store = RecordStore::open(records.directory(), {});
    if (!intake || !store) _exit(1);
    for (int i = 0;; ++i) {
        if (write(begun, "x", 1) != 1) _exit(2);
        const auto built = i % 2 == 0 ? store->build(**intake, kKey, job_at(7, 10, 90))
                                      : store->rebuild(**intake, kKey, job_at(8, 10, 90));
        if (!built) _exit(3);
        if (i % 3 == 2 && !store->erase(kKey)) _exit(4);
    }
}

TEST(server_records, a_kill_leaves_a_whole_record_or_none) {
    std::mt19937_64 random(11);
    Records records;
    records.intake.reset();
    int there = 0;
    constexpr int kRounds = 10;
    for (int round = 0; round < kRounds; ++round) {
        std::array<int, 2> pipe{};
        ASSERT_EQ(pipe2(pipe.data(), O_CLOEXEC), 0);
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) build_for_ever(records, pipe[1]);
        close(pipe[1]);
        char begun = 0;
        for (uint64_t i = 1 + random() % 3; i > 0; --i)
            if (read(pipe[0], &begun, 1) != 1) break;
        usleep(static_cast<useconds_t>(random() % 300'000));
        kill(child, SIGKILL);
        close(pipe[0]);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << WEXITSTATUS(status);
        const RecordStore store = records.open();
        for (const std::string& name : records.names())
            EXPECT_THAT(name, ::testing::AnyOf("alps", "alps/2023-11", std::string("alps/2023-11/") + kKey));
        if (!store.has(kKey).value()) continue;
        ++there;
        EXPECT_TRUE(is_whole(store.path_of(kKey).value() / kRecordName)) << round;
    }
    RecordProperty("there", there);
    const RecordStore store = records.open();
    records.intake = records.site.open();
    ASSERT_TRUE(store.rebuild(*records.intake, kKey, job_at(7, 10, 90)));
    EXPECT_THAT(rows_of(store.path_of(kKey).value() / kRecordName).at("host"), SizeIs(20));
}

}  // namespace
}  // namespace belay::server
