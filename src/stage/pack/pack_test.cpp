#include "stage/pack/pack.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/testing/mounts.h"
#include "core/testing/sandbox.h"
#include "shard/crc32c.h"
#include "shard/index.h"
#include "stage/dataset/dataset.h"
#include "stage/pack/journal.h"
#include "stage/pack/plan.h"
#include "stage/pack/shard_writer.h"
#include "stage/pack/testing.h"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::stage {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr uint64_t kSmallShard = 40'960;
PackOptions small() {
    return {.shard_bytes = kSmallShard, .threads = 3, .tool = "test"};
}

TEST(stage_pack, each_file_is_found_by_its_name) {
    SourceForTests data;
    data.some_files();
    data.file("empty.txt", "");
    data.file("name with\nnewline \xff.txt", "odd");
    auto packed = pack(data.source(), data.output(), small());
    ASSERT_TRUE(packed) << packed.error().render();
    EXPECT_GT(packed->manifest.shards.size(), 3u);
    EXPECT_EQ(packed->manifest.records(), 122u);
    EXPECT_EQ(packed->manifest.name, "train");
    size_t found = 0;
    for (const shard::ManifestShard& part : packed->manifest.shards) {
        const std::string tar = content_of(data.output() / part.path);
        const std::string index = content_of((data.output() / part.path).replace_extension(".idx"));
        EXPECT_EQ(core::to_hex(core::sha256(tar)), part.sha256);
        EXPECT_EQ(core::to_hex(core::sha256(index)), part.index_sha256);
        const auto view = shard::IndexView::open(index).value();
        for (uint64_t i = 0; i < view.size(); ++i, ++found) {
            const shard::Record record = view[i];
            const std::string bytes = tar.substr(record.offset, record.bytes);
            EXPECT_EQ(bytes, content_of(data.source() / record.name)) << record.name;
            EXPECT_EQ(shard::crc32c(bytes), record.checksum);
        }
    }
    EXPECT_EQ(found, 122u);
}

TEST(stage_pack, twice_gives_the_same_bytes) {
    SourceForTests data;
    data.some_files();
    ASSERT_TRUE(pack(data.source(), data.output("a"), small()));
    PackOptions other = small();
    other.threads = 1;
    ASSERT_TRUE(pack(data.source(), data.output("b"), other));
    EXPECT_EQ(contents_of(data.output("a")), contents_of(data.output("b")));
}

TEST(stage_pack, what_is_packed_already_is_not_packed_again) {
    SourceForTests data;
    data.some_files();
    const auto first = pack(data.source(), data.output(), small()).value();
    const auto written = fs::last_write_time(data.output() / first.manifest.shards[0].path);
    const auto again = pack(data.source(), data.output(), small()).value();
    EXPECT_EQ(again.manifest, first.manifest);
    EXPECT_EQ(again.kept_shards, first.manifest.shards.size());
    EXPECT_EQ(fs::last_write_time(data.output() / first.manifest.shards[0].path), written);
    data.file("more.bin", "x");
    EXPECT_THAT(pack(data.source(), data.output(), small()).error().message(),
                HasSubstr("packed from other data"));
}

TEST(stage_pack, what_others_cannot_read_is_not_published) {
    SourceForTests data;
    data.some_files();
    ASSERT_EQ(chmod(data.source().c_str(), 0750), 0);
    ASSERT_TRUE(pack(data.source(), data.output("made"), small()));
    struct stat status{};
    ASSERT_EQ(stat(data.output("made").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07, 0u);
    fs::create_directory(data.output("there"));
    ASSERT_EQ(chmod(data.output("there").c_str(), 0755), 0);
    ASSERT_TRUE(pack(data.source(), data.output("there"), small()));
    ASSERT_EQ(stat(data.output("there").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0755u) << "whoever made it decides";
}

TEST(stage_pack, nobody_else_can_hold_its_lock) {
    SourceForTests data;
    fs::create_directory(data.output());
    const auto place = core::Directory::open(data.output()).value();
    auto journal = Journal::open(place).value();
    struct stat status{};
    ASSERT_EQ(stat((data.output() / ".packing").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u);
}

// As it is after a kill: some shards and their lines in the journal, the last line cut, temporary files, no
// manifest.
TEST(stage_pack, goes_on_where_it_was_ended) {
    SourceForTests data;
    data.some_files();
    const auto whole = pack(data.source(), data.output("whole"), small()).value();
    const auto expected = contents_of(data.output("whole"));
    const auto source = core::Directory::open(data.source()).value();
    const SourceListing listing = list_source(source, 1, LinkRule::kFollow).value();
    const auto plan = plan_shards(listing, {.shard_bytes = kSmallShard}).value();
    ASSERT_EQ(plan.size(), whole.manifest.shards.size());
    for (size_t kept = 0; kept <= plan.size(); ++kept) {
        const fs::path output = data.output(std::to_string(kept));
        fs::create_directory(output);
        {
            const auto place = core::Directory::open(output).value();
            auto journal = Journal::open(place).value();
            ASSERT_TRUE(journal.begin("train"));
            for (size_t i = 0; i < kept; ++i) {
                const shard::ManifestShard& shard = whole.manifest.shards[i];
                for (const std::string& name : {shard.path, index_name(shard.path)})
                    fs::copy_file(data.output("whole") / name, output / name);
                ASSERT_TRUE(journal.add(digest_of(listing, plan[i]), shard));
            }
        }
        std::ofstream(output / ".packing", std::ios::app) << R"({"source_sha256": "cut o)";
        std::ofstream(output / "train-000001.tar.tmp-0123456789abcdef") << "cut off";
        std::ofstream(output / "manifest.json.tmp-0123456789abcdef") << "cut off";
        auto packed = pack(data.source(), output, small());
        ASSERT_TRUE(packed) << packed.error().render();
        EXPECT_EQ(packed->kept_shards, kept);
        EXPECT_EQ(contents_of(output), expected);
    }
}

TEST(stage_pack, files_of_others_stay) {
    SourceForTests data;
    data.some_files();
    fs::create_directory(data.output());
    std::ofstream(data.output() / "train-000000.tar") << "of another program";
    std::ofstream(data.output() / "train.tmp-backup") << "of a person";
    const auto refused = pack(data.source(), data.output(), small());
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message(),
                HasSubstr("train-000000.tar is there already, and is not part of this data set"));
    EXPECT_EQ(core::read_file(data.output() / "train-000000.tar").value(), "of another program");
    EXPECT_EQ(std::distance(fs::directory_iterator(data.output()), fs::directory_iterator()), 2)
        << "no journal";
    PackOptions named = small();
    named.name = "other";
    {
        const auto place = core::Directory::open(data.output()).value();
        ASSERT_TRUE(Journal::open(place)->begin("other"))
            << "an interrupted pack of another name says nothing about these";
    }
    EXPECT_FALSE(pack(data.source(), data.output(), small()));
    EXPECT_EQ(core::read_file(data.output() / "train-000000.tar").value(), "of another program");
    ASSERT_TRUE(pack(data.source(), data.output(), named));
    EXPECT_EQ(core::read_file(data.output() / "train.tmp-backup").value(), "of a person");
}

// The lines of an earlier plan stand in the journal, and its shards are as long.
TEST(stage_pack, what_an_interrupted_pack_with_other_options_wrote_is_not_believed) {
    SourceForTests data;
    for (int i = 0; i < 40; ++i)
        data.file(fmt::format("{:02}.bin", i), std::string(2000, static_cast<char>('a' + i % 26)));
    const auto shuffled = [&](uint64_t key) {
        PackOptions options = small();
        options.shuffle_key = key;
        return options;
    };
    const auto expected = pack(data.source(), data.output("expected"), shuffled(1)).value();
    const auto other = pack(data.source(), data.output("other"), shuffled(2)).value();
    ASSERT_GE(expected.manifest.shards.size(), 3U);
    const fs::path output = data.output("resumed");
    fs::create_directory(output);
    {
        const auto place = core::Directory::open(output).value();
        auto journal = Journal::open(place).value();
        ASSERT_TRUE(journal.begin("train"));
        const auto source = core::Directory::open(data.source()).value();
        const SourceListing listing = list_source(source, 1, LinkRule::kFollow).value();
        const auto plan = plan_shards(listing, {.shard_bytes = kSmallShard, .shuffle_key = 1}).value();
        for (size_t i = 0; i < plan.size(); ++i) {
            const shard::ManifestShard& shard = expected.manifest.shards[i];
            const fs::path from = data.output(i == 1 ? "other" : "expected");
            for (const std::string& name : {shard.path, index_name(shard.path)})
                fs::copy_file(from / name, output / name);
            ASSERT_TRUE(journal.add(digest_of(listing, plan[i]), shard));
        }
    }
    fs::copy_file(data.output("expected") / "train-000000.tar",
                  output / "train-000999.tar");  // of a plan with more shards
    const auto resumed = pack(data.source(), output, shuffled(1));
    ASSERT_TRUE(resumed) << resumed.error().render();
    EXPECT_EQ(resumed->kept_shards, expected.manifest.shards.size() - 1);
    EXPECT_EQ(contents_of(output), contents_of(data.output("expected")));
}

TEST(stage_pack, what_is_missing_of_packed_data_is_said) {
    SourceForTests data;
    data.some_files();
    ASSERT_TRUE(pack(data.source(), data.output(), small()));
    EXPECT_TRUE(pack(data.source() / ".", data.output(), small())) << "by another name, the same source";
    fs::remove(data.output() / "train-000001.idx");
    EXPECT_THAT(pack(data.source(), data.output(), small()).error().render(),
                HasSubstr("train-000001.idx is missing"));
    EXPECT_FALSE(fs::exists(data.output() / ".packing"));
    fs::resize_file(data.output() / "train-000000.tar", 10);
    EXPECT_THAT(pack(data.source(), data.output(), small()).error().render(),
                HasSubstr("belay stage repair"));
}

TEST(stage_pack, words_that_are_not_utf8_are_refused_at_once) {
    SourceForTests data;
    data.some_files();
    PackOptions options = small();
    options.licence = "Z\xfcrich";
    EXPECT_THAT(pack(data.source(), data.output(), options).error().message(), HasSubstr("--licence"));
    EXPECT_FALSE(fs::exists(data.output()));
}

// As on Lustre that is mounted without it.
TEST(stage_pack, where_there_is_no_flock_one_packs_at_a_time_too) {
    for (const int failure : {ENOSYS, EOPNOTSUPP})
        core::expect_where_call_fails(SYS_flock, failure, [] {
            SourceForTests data;
            data.some_files();
            ASSERT_TRUE(pack(data.source(), data.output("whole"), small()));
            const auto packed = pack(data.source(), data.output(), small());
            ASSERT_TRUE(packed) << packed.error().render();
            EXPECT_EQ(contents_of(data.output()), contents_of(data.output("whole")));
            const auto place = core::Directory::open(data.output()).value();
            auto first = Journal::open(place);
            ASSERT_TRUE(first) << first.error().render();
            EXPECT_TRUE(fs::exists(data.output() / ".packing.lease"));
            ASSERT_TRUE(std::move(*first).remove());
        });
}

// Nor can the kernel be given such a path in one piece.
TEST(stage_pack, a_path_longer_than_the_kernel_takes_is_packed) {
    SourceForTests data;
    data.file("a.txt", "short");
    const auto root = core::Directory::open(data.source()).value();
    std::string name;
    for (const std::string part(200, 'p'); name.size() < 2 * PATH_MAX; name += "/")
        ASSERT_TRUE(root.make_directory(name += part).value());
    for (const char* last : {"b.txt", "c.txt"})
        ASSERT_TRUE(core::write_all(root.open_file(name + last, O_RDWR | O_CREAT)->get(), last, last));
    for (const shard::Format format : {shard::Format::kTar, shard::Format::kSquashfs}) {
        const fs::path output = data.output(std::string(to_text(format)));
        const auto packed = pack(data.source(), output, {.format = format, .threads = 2, .tool = "test"});
        ASSERT_TRUE(packed) << packed.error().render();
        EXPECT_EQ(packed->manifest.records(), 3u);
    }
    EXPECT_THAT(content_of(data.output("tar") / "train-000000.tar"), HasSubstr("c.txt"));
}

TEST(stage_pack, files_without_content_are_packed_as_such) {
    for (const std::string empty : {"a", "m", "z", "amz", "abcmxz"}) {
        SourceForTests data;
        for (const char* name : {"b", "c", "x"}) data.file(name, name);
        for (const char name : empty) data.file(std::string(1, name), "");
        for (const shard::Format format : {shard::Format::kTar, shard::Format::kSquashfs}) {
            const auto packed = pack(data.source(), data.output(std::string(to_text(format))),
                                     {.format = format, .threads = 2, .tool = "test"});
            ASSERT_TRUE(packed) << packed.error().render();
            EXPECT_GE(packed->manifest.records(), 4u);
        }
    }
}

TEST(stage_pack, an_output_that_is_the_source_under_another_name_is_refused) {
    SourceForTests data;
    data.file("sub/a.txt", "x");
    for (const char* part : {"", "sub"})
        core::expect_in_mounts([&](const auto& bind) {
            fs::create_directory(data.output("other"));
            bind(data.source() / part, data.output("other"));
            for (const char* beneath : {"", "new/out"}) {
                const auto packed = pack(data.source(), data.output("other") / beneath, small());
                ASSERT_FALSE(packed);
                EXPECT_THAT(packed.error().message(), HasSubstr("another name of the same directory"));
            }
            EXPECT_FALSE(fs::exists(data.source() / "manifest.json"));
        });
}

TEST(stage_pack, options_of_tars_are_refused_for_an_image) {
    SourceForTests data;
    data.some_files();
    for (const PackOptions& options : {PackOptions{.format = shard::Format::kSquashfs, .shard_bytes = 1024},
                                       PackOptions{.format = shard::Format::kSquashfs, .shuffle_key = 1}}) {
        const auto packed = pack(data.source(), data.output(), options);
        ASSERT_FALSE(packed);
        EXPECT_THAT(packed.error().hint_text(), HasSubstr("pack as tar"));
        EXPECT_FALSE(fs::exists(data.output()));
    }
}

TEST(stage_pack, two_at_once_do_not_mix) {
    SourceForTests data;
    data.some_files();
    fs::create_directory(data.output());
    const auto place = core::Directory::open(data.output()).value();
    const auto other = Journal::open(place).value();
    EXPECT_THAT(pack(data.source(), data.output(), small()).error().message(),
                HasSubstr("another process packs"));
}

TEST(stage_pack, a_link_within_the_tree_is_followed_and_one_out_of_it_refused) {
    SourceForTests data;
    data.file("real.txt", "content");
    fs::create_symlink("real.txt", data.source() / "link.txt");
    auto packed = pack(data.source(), data.output(), small());
    ASSERT_TRUE(packed) << packed.error().render();
    EXPECT_EQ(packed->manifest.records(), 2u);
    fs::create_symlink("/etc/passwd", data.source() / "out.txt");
    EXPECT_THAT(pack(data.source(), data.output("b"), small()).error().message(),
                HasSubstr("leads out of the directory"));
    PackOptions without = small();
    without.links = LinkRule::kSkip;
    EXPECT_EQ(pack(data.source(), data.output("c"), without)->manifest.records(), 1u);
}

TEST(stage_pack, what_cannot_be_packed_is_said) {
    SourceForTests data;
    auto problem = [&](const PackOptions& options = small()) {
        return pack(data.source(), data.output(), options).error().render();
    };
    EXPECT_THAT(problem(), HasSubstr("holds no files"));
    data.file("a", "x");
    ASSERT_EQ(mkfifo((data.source() / "pipe").c_str(), 0600), 0);
    EXPECT_THAT(problem(), HasSubstr("pipe is not a regular file"));
    fs::remove(data.source() / "pipe");
    PackOptions named = small();
    named.name = "../x";
    EXPECT_THAT(problem(named), HasSubstr("cannot be the name of shards"));
    EXPECT_THAT(pack(data.source(), data.source() / "out", small()).error().message(),
                HasSubstr("lies within"));
    EXPECT_THAT(pack(data.source() / "a", data.output(), small()).error().message(),
                HasSubstr("Not a directory"));
}

}  // namespace
}  // namespace belay::stage
