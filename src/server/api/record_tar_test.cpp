#include "server/api/record_tar.h"

#include "core/file.h"
#include "core/process.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace belay::server {
namespace {

namespace fs = std::filesystem;

struct MadeTar {
    std::string bytes;
    size_t pieces = 0;
};

MadeTar tar_of(const fs::path& record) {
    MadeTar made;
    auto tar = RecordTar::open(core::Directory::open(record).value(), "job-1");
    EXPECT_TRUE(tar) << (tar ? "" : tar.error().render());
    while (tar) {
        auto piece = tar->next();
        EXPECT_TRUE(piece) << (piece ? "" : piece.error().render());
        if (!piece || piece->empty()) break;
        made.bytes += *piece;
        ++made.pieces;
    }
    return made;
}

void write(const fs::path& path, const std::string& text) {
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
}

TEST(record_tar, tar_gives_the_record_back) {
    const auto directory = core::TemporaryDirectory::create().value();
    const fs::path record = directory.path() / "record";
    const std::string big(1'000'000, 'x');
    write(record / "record.json", "{}");
    write(record / "tables/host.parquet", big);
    write(record / "tables/empty.parquet", "");
    fs::create_symlink("/etc/passwd", record / "tables/link.parquet");
    const MadeTar made = tar_of(record);
    EXPECT_GE(made.pieces, 3u);
    EXPECT_EQ(tar_of(record).bytes, made.bytes);
    write(directory.path() / "made.tar", made.bytes);
    const fs::path out = directory.path() / "out";
    fs::create_directories(out);
    const auto ran =
        core::run({.argv = {"tar", "-xf", (directory.path() / "made.tar").string(), "-C", out.string()}});
    ASSERT_TRUE(ran);
    ASSERT_TRUE(ran->status.success()) << ran->err;
    EXPECT_EQ(core::read_file(out / "job-1/record.json", 100).value(), "{}");
    EXPECT_EQ(core::read_file(out / "job-1/tables/host.parquet", 2'000'000).value(), big);
    EXPECT_EQ(core::read_file(out / "job-1/tables/empty.parquet", 100).value(), "");
    EXPECT_FALSE(fs::exists(out / "job-1/tables/link.parquet"));
}

TEST(record_tar, a_file_that_becomes_shorter_is_an_error) {
    const auto directory = core::TemporaryDirectory::create().value();
    const fs::path record = directory.path() / "record";
    write(record / "tables/host.parquet", std::string(2'000'000, 'x'));
    auto tar = RecordTar::open(core::Directory::open(record).value(), "job-1");
    ASSERT_TRUE(tar);
    ASSERT_TRUE(tar->next());
    fs::resize_file(record / "tables/host.parquet", 10);
    bool failed = false;
    for (int i = 0; i < 20 && !failed; ++i) failed = !tar->next().has_value();
    EXPECT_TRUE(failed);
}

}  // namespace
}  // namespace belay::server
