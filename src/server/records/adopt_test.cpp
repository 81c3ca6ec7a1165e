#include "server/records/adopt.h"

#include "record/place.h"
#include "server/records/record_store.h"
#include "server/records/testing.h"

#include <fstream>
#include <iterator>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::server {
namespace {

using namespace testing;  // NOLINT(google-build-using-namespace): of this folder
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
namespace fs = std::filesystem;

constexpr const char* kUploadedKey = "alps-7-0-1700000010";

ProgramLimits limits_for_adopting() {
    ProgramLimits limits;
#ifdef __SANITIZE_ADDRESS__
    limits.memory_bytes = 0;
#endif
    return limits;
}

// A record that a user has sent, and a store without records.
class Uploaded {
  public:
    explicit Uploaded(bool is_sealed = true) {
        site_.write({}, {{.job = 7, .step = "0", .from = 10.5, .to = 30.5, .cpus = 1}});
        auto planned = record::SpoolCut::plan({site_.spool()}, {.job_id = 7});
        EXPECT_TRUE(planned->write(record(), at(100)));
        if (!is_sealed) return;
        EXPECT_TRUE(record::seal(record(), at(100)));
    }
    fs::path record() const { return site_.path("uploaded"); }
    fs::path adopted() const { return site_.path("records") / "alps/2023-11" / kUploadedKey / kRecordName; }
    // An error, or nothing.
    std::string adopt(const AdoptLimits& limits = {}) const {
        auto store =
            RecordStore::open(site_.path("records"),
                              {.belay = BELAY_PROGRAM, .judging = limits_for_adopting(), .adopting = limits});
        if (!store) return store.error().message();
        const auto adopted = store->adopt(kUploadedKey, record());
        EXPECT_EQ(adopted.has_value(), store->has(kUploadedKey).value());
        const fs::path month = site_.path("records") / "alps/2023-11";
        EXPECT_EQ(std::distance(fs::directory_iterator(month), {}), adopted ? 1 : 0)
            << "nothing else is left";
        if (adopted) return "";
        EXPECT_EQ(adopted.error().kind(), core::ErrorKind::kBadInput) << adopted.error().message();
        return adopted.error().message();
    }

  private:
    Site site_;
};

TEST(server_records, a_record_that_was_sent_is_taken) {
    const Uploaded uploaded;
    std::ofstream(uploaded.record() / "notes.txt") << "mine";
    EXPECT_EQ(uploaded.adopt(), "");
    EXPECT_EQ(rows_of(uploaded.adopted()), rows_of(uploaded.record()));
    EXPECT_FALSE(fs::exists(uploaded.adopted() / "notes.txt")) << "that is no part of a record";
    EXPECT_TRUE(fs::exists(uploaded.record() / "record.json")) << "what was sent stays";
    auto store = RecordStore::open(uploaded.adopted().parent_path().parent_path().parent_path().parent_path(),
                                   {.belay = BELAY_PROGRAM});
    const auto twice = store->adopt(kUploadedKey, uploaded.record());
    ASSERT_FALSE(twice);
    EXPECT_THAT(twice.error().message(), HasSubstr("already"));
}

TEST(server_records, a_record_that_was_not_sealed_is_sealed) {
    const Uploaded uploaded(false);
    EXPECT_EQ(uploaded.adopt(), "");
    EXPECT_TRUE(record::read_manifest(uploaded.adopted())->sealed);
    EXPECT_THAT(rows_of(uploaded.adopted()).at("host"), SizeIs(20));
}

TEST(server_records, what_is_no_record_is_refused) {
    Uploaded uploaded;
    fs::remove(uploaded.record() / "record.json");
    EXPECT_THAT(uploaded.adopt(), HasSubstr("not a record"));
    std::ofstream(uploaded.record() / "record.json") << "{";
    EXPECT_NE(uploaded.adopt(), "");
}

TEST(server_records, links_and_pipes_in_a_record_are_refused) {
    for (const char* how : {"link", "pipe", "folder", "manifest"}) {
        SCOPED_TRACE(how);
        const Uploaded uploaded;
        const fs::path table = uploaded.record() / "tables/host.parquet";
        const std::string kind = how;
        if (kind == "manifest") {
            fs::rename(uploaded.record() / "record.json", uploaded.record() / "real.json");
            fs::create_symlink("real.json", uploaded.record() / "record.json");
        } else if (kind == "folder") {
            fs::rename(uploaded.record() / "tables", uploaded.record() / "real");
            fs::create_directory_symlink("real", uploaded.record() / "tables");
        } else {
            fs::remove(table);
            const bool is_made = kind == "link" ? symlink("/etc/passwd", table.c_str()) == 0
                                                : mkfifo(table.c_str(), 0600) == 0;
            ASSERT_TRUE(is_made);
        }
        EXPECT_NE(uploaded.adopt(), "");
    }
}

TEST(server_records, a_record_that_is_too_large_is_refused) {
    const Uploaded uploaded;
    EXPECT_THAT(uploaded.adopt({.files = 3}), HasSubstr("more than 3 files"));
    EXPECT_THAT(uploaded.adopt({.bytes = 5000}), HasSubstr("more than 5000 bytes"));
    // What has terabytes and no byte on the disk is read as far as the limit.
    fs::resize_file(uploaded.record() / "tables/host.parquet", uintmax_t{1} << 40);
    EXPECT_THAT(uploaded.adopt({.bytes = 10'000'000}), HasSubstr("more than 10000000 bytes"));
    EXPECT_EQ(Uploaded().adopt(), "");
}

TEST(server_records, a_record_that_crashes_its_reader_is_refused) {
    const core::TemporaryDirectory place = core::TemporaryDirectory::create("adopt_test").value();
    record::Manifest manifest;
    manifest.sealed = at(1);
    ASSERT_TRUE(record::begin_record(place.path() / "record", manifest));
    const fs::path program = place.path() / "belay";
    for (const auto& [script, kind] :
         {std::pair("kill -SEGV $$", core::ErrorKind::kBadInput),
          std::pair("exit 2", core::ErrorKind::kBadInput), std::pair("exit 3", core::ErrorKind::kSystem),
          std::pair("echo text", core::ErrorKind::kBadInput),
          std::pair("sleep 1000", core::ErrorKind::kBadInput)}) {
        SCOPED_TRACE(script);
        std::ofstream(program) << "#!/bin/sh\n" << script << "\n";
        fs::permissions(program, fs::perms::owner_all);
        ProgramLimits limits = limits_for_adopting();
        if (std::string_view(script).starts_with("sleep")) limits.time = std::chrono::milliseconds(500);
        const auto checked = check_record(place.path() / "record", program, limits);
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().kind(), kind) << checked.error().message();
    }
    std::ofstream(program) << "#!/bin/sh\necho '{}'\n";
    EXPECT_TRUE(check_record(place.path() / "record", program, limits_for_adopting()));
}

}  // namespace
}  // namespace belay::server
