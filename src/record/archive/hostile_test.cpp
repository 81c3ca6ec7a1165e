// Records into which somebody has put what does not belong there.
#include "record/archive/archive.h"
#include "record/archive/segments.h"
#include "record/archive/testing.h"

#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::record {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A record with one segment, and beside it files of whoever seals it.
class HostileRecord : public RecordFixture {
  public:
    HostileRecord() {
        record("n1", 3, true, 3);
        fs::create_directory(mine());
        for (const char* name : {"file", "n1-0.seg", "host.parquet"}) std::ofstream(mine() / name) << "mine";
    }
    fs::path mine() const { return path().parent_path() / "mine"; }
    void expect_mine_untouched() const {
        size_t files = 0;
        for (const auto& entry : fs::directory_iterator(mine())) {
            EXPECT_EQ(core::read_file(entry.path()).value(), "mine") << entry.path();
            ++files;
        }
        EXPECT_EQ(files, 3u);
    }
    // In the place of what has this name.
    void plant_link(std::string_view name, const fs::path& target) const {
        fs::remove_all(path() / name);
        fs::create_symlink(target, path() / name);
    }
    void plant_pipe(std::string_view name) const {
        fs::remove_all(path() / name);
        ASSERT_EQ(mkfifo((path() / name).c_str(), 0600), 0);
    }
    std::string message_of_seal() const {
        auto sealed = seal(path(), kStart);
        return sealed ? "sealed" : sealed.error().render();
    }
    std::string message_of_open() const {
        auto archive = Archive::open(path());
        return archive ? "opened" : archive.error().render();
    }
};

TEST(record, a_link_in_place_of_the_manifest_is_not_followed) {
    HostileRecord record;
    const fs::path real = record.path().parent_path() / "manifest";
    fs::copy_file(manifest_path(record.path()), real);
    const std::string text = core::read_file(real).value();
    record.plant_link("record.json", real);
    EXPECT_THAT(record.message_of_open(), HasSubstr("record.json is a symbolic link"));
    EXPECT_THAT(record.message_of_seal(), HasSubstr("record.json is a symbolic link"));
    EXPECT_FALSE(join_record(record.path()));
    EXPECT_FALSE(begin_record(record.path(), {.job = {.id = 7}}));
    EXPECT_EQ(core::read_file(real).value(), text);
}

TEST(record, links_in_place_of_directories_and_segments_are_not_followed) {
    for (std::string_view name : {kSegmentsName, kTablesName, kLostSegmentsName}) {
        HostileRecord record;
        record.plant_link(name, record.mine());
        if (name == kLostSegmentsName)
            std::ofstream(record.segment("n1"), std::ios::app) << "something foreign";
        const std::string message = record.message_of_seal();
        EXPECT_THAT(message, HasSubstr(name == kLostSegmentsName ? "sealed" : "is a symbolic link"));
        record.expect_mine_untouched();
    }
    HostileRecord record;
    record.plant_link("segments/n1-0.seg", record.mine() / "n1-0.seg");
    EXPECT_THAT(record.message_of_open(), HasSubstr("n1-0.seg is a symbolic link"));
    EXPECT_THAT(record.message_of_seal(), HasSubstr("n1-0.seg is a symbolic link"));
    record.expect_mine_untouched();
}

TEST(record, links_in_the_way_of_new_tables_are_replaced) {
    HostileRecord record;
    fs::create_directory(tables_path(record.path()));
    for (const char* name : {"host.parquet", "host.parquet.tmp", "tmp_host.parquet"})
        record.plant_link(fmt::format("tables/{}", name), record.mine() / "host.parquet");
    ASSERT_EQ(record.message_of_seal(), "sealed");
    record.expect_mine_untouched();
    EXPECT_EQ(info(record.path()).tables["host"].rows, 3);
}

TEST(record, a_manifest_that_says_sealed_removes_nothing_behind_a_link) {
    HostileRecord record;
    Manifest manifest = read_manifest(record.path()).value();
    manifest.sealed = kStart;
    manifest.segments = {{"n1-0.seg", {.bytes = 4, .whole = true}}, {"file", {.bytes = 4, .whole = false}}};
    std::ofstream(manifest_path(record.path())) << to_json(manifest);
    record.plant_link("segments", record.mine());
    (void)record.message_of_seal();
    record.expect_mine_untouched();
    fs::remove(segments_path(record.path()));
    fs::create_directory(segments_path(record.path()));
    std::ofstream(segments_path(record.path()) / "file") << "mine";
    record.plant_link("segments-lost", record.mine());
    (void)record.message_of_seal();
    record.expect_mine_untouched();
}

TEST(record, a_link_in_place_of_a_table_is_a_table_that_cannot_be_read) {
    HostileRecord record;
    ASSERT_EQ(record.message_of_seal(), "sealed");
    const fs::path table = record.path().parent_path() / "somebodys.parquet";
    fs::rename(tables_path(record.path()) / "host.parquet", table);
    record.plant_link("tables/host.parquet", table);
    auto archive = Archive::open(record.path());
    ASSERT_TRUE(archive) << archive.error().message();
    EXPECT_THAT(archive->unreadable().at("host").message(), HasSubstr("is a symbolic link"));
    EXPECT_EQ(as_double(archive->query("SELECT count(*) FROM host")->rows[0][0]), 0);
}

TEST(record, pipes_in_a_record_are_named_and_not_waited_for) {
    for (const char* name : {"segments/n1-0.seg", "segments/a.seg", "record.json"}) {
        HostileRecord record;
        record.plant_pipe(name);
        EXPECT_THAT(record.message_of_open(), HasSubstr(fmt::format("{} is a named pipe", name)));
        EXPECT_THAT(record.message_of_seal(), HasSubstr(fmt::format("{} is a named pipe", name)));
    }
    HostileRecord record;
    ASSERT_EQ(record.message_of_seal(), "sealed");
    record.plant_pipe("tables/host.parquet");
    auto archive = Archive::open(record.path());
    ASSERT_TRUE(archive) << archive.error().message();
    EXPECT_THAT(archive->unreadable().at("host").message(), HasSubstr("is a named pipe"));
}

// What is opened is one file from then on.
TEST(record, a_table_that_is_exchanged_later_is_not_read) {
    HostileRecord record;
    ASSERT_EQ(record.message_of_seal(), "sealed");
    auto archive = Archive::open(record.path()).value();
    record.plant_pipe("tables/host.parquet");
    EXPECT_EQ(as_double(archive.query("SELECT count(*) FROM host")->rows[0][0]), 3);
    EXPECT_FALSE(
        archive.query(fmt::format("SELECT * FROM read_parquet({})",
                                  sql_literal((tables_path(record.path()) / "event.parquet").string()))));
}

TEST(record, a_directory_named_like_a_partition_adds_no_column) {
    HostileRecord record;
    ASSERT_EQ(record.message_of_seal(), "sealed");
    const fs::path renamed = record.path().parent_path() / "rate=0.1";
    fs::rename(record.path(), renamed);
    EXPECT_EQ(query(renamed, "SELECT * FROM host").columns.size(), schema::kHost.columns.size());
}

TEST(record, what_is_anothers_is_neither_sealed_nor_joined) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    constexpr uid_t kOther = 65533;
    for (const char* name : {"", "record.json", "segments"}) {
        HostileRecord record;
        const fs::path path = *name == '\0' ? record.path() : record.path() / name;
        ASSERT_EQ(lchown(path.c_str(), kOther, kOther), 0);
        const std::string whose = fmt::format("{} belongs to {}", path.string(), kOther);
        EXPECT_THAT(record.message_of_seal(), HasSubstr(whose));
        EXPECT_THAT(join_record(record.path()).error().message(), HasSubstr(whose));
        EXPECT_THAT(begin_record(record.path(), {.job = {.id = 7}}).error().message(), HasSubstr(whose));
        EXPECT_EQ(info(record.path()).tables["host"].rows, 3) << "it may be read";
    }
    HostileRecord record;
    ASSERT_EQ(lchown(record.segment("n1").c_str(), kOther, kOther), 0);
    EXPECT_THAT(record.message_of_seal(), HasSubstr(fmt::format("n1-0.seg belongs to {}", kOther)));
    ASSERT_EQ(lchown(record.path().c_str(), kOther, kOther), 0);
    EXPECT_THAT(record.message_of_seal(),
                HasSubstr(fmt::format("hint: put before the command: sudo -u '#{}'", kOther)));
}

TEST(record, a_place_that_somebody_else_prepared_is_refused) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    constexpr uid_t kOther = 65533;
    HostileRecord record;
    const fs::path planted = record.path().parent_path() / "planted";
    fs::create_directory(planted);
    EXPECT_TRUE(check_place(planted));
    EXPECT_TRUE(check_place(record.path().parent_path() / "absent"));
    EXPECT_FALSE(check_place(record.mine())) << "it holds something else";
    ASSERT_EQ(lchown(planted.c_str(), kOther, kOther), 0);
    EXPECT_THAT(check_place(planted).error().message(), HasSubstr("belongs to 65533"));
    EXPECT_FALSE(begin_record(planted, {.job = {.id = 7}}));
    EXPECT_TRUE(fs::is_empty(planted));

    const fs::path link = record.path().parent_path() / "link";
    const fs::path empty = record.path().parent_path() / "empty";
    fs::create_directory(empty);
    fs::create_symlink(empty, link);
    EXPECT_TRUE(check_place(link)) << "one's own link";
    ASSERT_EQ(lchown(link.c_str(), kOther, kOther), 0);
    EXPECT_THAT(check_place(link).error().message(), HasSubstr("symbolic link of another user"));
    EXPECT_EQ(check_place(link).error().cause(), core::Cause::kDenied);
    EXPECT_FALSE(begin_record(link, {.job = {.id = 7}}));
    EXPECT_TRUE(fs::is_empty(empty));
}

mode_t mode_of(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
    return status.st_mode & 07777;
}

TEST(record, a_new_record_is_its_owners_alone) {
    const mode_t before = umask(0);
    HostileRecord record;
    EXPECT_EQ(mode_of(record.path()), 0700u);
    EXPECT_EQ(mode_of(record.segment("n1")), 0600u);
    ASSERT_EQ(record.message_of_seal(), "sealed");
    EXPECT_EQ(mode_of(manifest_path(record.path())), 0600u);
    EXPECT_EQ(mode_of(tables_path(record.path())), 0700u);
    umask(before);
}

TEST(record, a_record_that_was_shared_stays_shared) {
    const mode_t before = umask(077);
    HostileRecord record;
    for (const fs::path& directory : {record.path(), segments_path(record.path())})
        ASSERT_EQ(chmod(directory.c_str(), 02750), 0);
    record.record("n2", 3, true, 3);
    EXPECT_EQ(mode_of(record.segment("n2")), 0640u);
    ASSERT_EQ(record.message_of_seal(), "sealed");
    EXPECT_EQ(mode_of(record.path()), 02750u);
    EXPECT_EQ(mode_of(manifest_path(record.path())), 0640u);
    EXPECT_EQ(mode_of(tables_path(record.path())), 02750u) << "as the record, with its group";
    EXPECT_EQ(mode_of(tables_path(record.path()) / "host.parquet"), 0640u);
    umask(before);
}

}  // namespace
}  // namespace belay::record
