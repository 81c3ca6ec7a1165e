#include "record/import/source_files.h"

#include "record/import/import_testing.h"

#include <gmock/gmock.h>

namespace belay::record {
namespace {

namespace fs = std::filesystem;
using import_testing::expect_not_read;
using import_testing::header;
using import_testing::kMeta;
using import_testing::Recording;
using import_testing::rows;
using testing::HasSubstr;

void write_two_nodes(const Recording& recording) {
    recording.write("step_0/proc_0.meta.txt", kMeta);
    for (const char* name : {"step_0/proc_0.csv", "step_0/proc_4.csv"})
        recording.write(name, header() + rows(1, 3, 1));
}

TEST(record_import, what_cannot_be_read_is_an_error_and_not_missing) {
    for (const char* name : {"step_0/proc_0.meta.txt", "step_0/proc_4.csv"}) {
        Recording recording;
        write_two_nodes(recording);
        recording.write_unreadable(name);
        expect_not_read(import_gssr(recording.options()), recording, name);
    }
}

TEST(record_import, what_cannot_be_looked_at_is_not_taken_for_missing) {
    const Recording recording;
    write_two_nodes(recording);
    const fs::path loop = recording.source() / "loop";
    fs::create_symlink("loop", loop);
    ImportOptions options = recording.options();
    options.source = loop;
    for (auto import : {import_gssr, import_jobreport}) {
        auto refused = import(options);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind(), core::ErrorKind::kSystem);
        EXPECT_THAT(refused.error().message(), HasSubstr("cannot look at " + loop.string()));
    }
    options.source = recording.source();
    EXPECT_THAT(import_gssr(options).error().message(), HasSubstr("cannot look at " + loop.string()));
    fs::remove(loop);
    fs::create_symlink("nowhere", loop);
    EXPECT_EQ(entries_of(recording.source())->front().type, fs::file_type::not_found);
    EXPECT_EQ(look_at_source(loop).error().kind(), core::ErrorKind::kBadInput);
}

}  // namespace
}  // namespace belay::record
