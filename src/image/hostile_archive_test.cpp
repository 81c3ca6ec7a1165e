// Layers as an attacker would write them. Each case is imported beside a canary; what the image holds, or why
// it was refused, is compared, and the canary and everything around it must stay as it was.
#include "image/testing/hostile_archive.h"

#include <gtest/gtest.h>

namespace belay::image {
namespace {

using namespace belay::image::testing;

// The same name in the three dialects of tar.
std::vector<std::pair<std::string, std::string>> dialects(const std::string& name) {
    return {{"ustar", one(tar_file(name))},
            {"PAX", one(pax("path", name) + tar_file("short"))},
            {"GNU", one(gnu_long('L', name) + tar_entry({.name = "short", .content = "x"}, true))}};
}

TEST(image, hostile_names) {
    const std::string kLong(256, 'n');
    std::string deep;
    for (int i = 0; i < 200; ++i) deep += "d/";
    std::string wide;
    for (int i = 0; i < 40; ++i) wide += std::string(200, 'w') + "/";
    struct Name {
        std::string name;
        std::string expected;
        bool fits_ustar = true;
    };
    const Name kNames[] = {
        {"../canary", "refused: an entry's name leads out of the image: \"../canary\""},
        {"../../../../../../etc/passwd", "refused: an entry's name leads out"},
        {"a/../../canary", "refused: an entry's name leads out"},
        {"a/..", "refused: an entry's name leads out"},
        {"..", "refused: an entry's name leads out"},
        {"/canary", "canary=x"},
        {"//canary", "canary=x"},
        {"/./canary", "canary=x"},
        {"a/./b//c", "a/ a/b/ a/b/c=x"},
        {"..canary", "..canary=x"},
        {"...", "...=x"},
        {"..\\canary", "..\\canary=x"},
        {"C:\\canary", "C:\\canary=x"},
        {"~/canary", "~/ ~/canary=x"},
        {"$(touch canary)", "$(touch canary)=x"},
        {"a\nb", "a\nb=x"},
        {"\x1b[2J", "\x1b[2J=x"},
        {"-rf", "-rf=x"},
        {"caf\xc3\xa9", "caf\xc3\xa9=x"},
        {kLong, "refused: a component of 256 bytes", false},
        {deep + "x", "refused: an entry lies deeper than 128 directories", false},
        {wide + "x", "refused: bytes: ", false},
        {".", "refused: the root of the image is not a directory"},
        {".wh...", "refused: the whiteout"},
        {"a/.wh..", "refused: the whiteout"},
        {".wh.", "refused: the whiteout"},
        {".wh.../canary", ".wh.../ .wh.../canary=x"},
    };
    std::vector<Case> cases;
    for (const Name& row : kNames) {
        for (const auto& [dialect, tar] : dialects(row.name)) {
            if (dialect == "ustar" && !row.fits_ustar) continue;
            cases.push_back({fmt::format("{} ({})", row.name, dialect), {tar}, row.expected});
        }
    }
    check_cases(cases);
}

TEST(image, hostile_links) {
    const Case kCases[] = {
        {"absolute link, verbatim", {one(tar_symlink("l", "/etc/passwd"))}, "l->/etc/passwd"},
        {"link out, verbatim", {one(tar_symlink("l", "../canary"))}, "l->../canary"},
        {"link, then a file through it",
         {one(tar_symlink("l", "..") + tar_file("l/canary", "dead"))},
         "l/ l/canary=dead"},
        {"link to the root, then a file through it",
         {one(tar_symlink("l", "/") + tar_file("l/etc/passwd"))},
         "l/ l/etc/ l/etc/passwd=x"},
        {"link, then a file of its name",
         {one(tar_symlink("canary", "../canary") + tar_file("canary", "dead"))},
         "canary=dead"},
        {"link below, file through it above",
         {one(tar_symlink("l", "..")), one(tar_file("l/canary", "dead"))},
         "l/ l/canary=dead"},
        {"link to itself", {one(tar_symlink("l", "l"))}, "l->l"},
        {"ring of links, then a file through it",
         {one(tar_symlink("a", "b") + tar_symlink("b", "a") + tar_file("a/x"))},
         "a/ a/x=x b->a"},
        {"hard link to the host",
         {one(tar_hard_link("l", "/etc/passwd"))},
         "refused: hard link to what is not there: \"etc/passwd\""},
        {"hard link out", {one(tar_hard_link("l", "../canary"))}, "refused: leads out of the image"},
        {"hard link out through a link",
         {one(tar_symlink("s", "..") + tar_hard_link("l", "s/canary"))},
         "refused: is not there"},
        {"hard link to a link that leads out",
         {one(tar_symlink("s", "../canary") + tar_hard_link("l", "s"))},
         "l->../canary s->../canary"},
        {"hard link to such a link, then content",
         {one(tar_symlink("s", "../canary") + tar_hard_link("l", "s") + tar_file("l", "dead"))},
         "l=dead s->../canary"},
        {"hard link with content of its own",
         {one(tar_file("x") + tar_entry({.name = "l", .type = '1', .content = "dead", .link = "x"}))},
         "refused: damaged header"},
        {"hard link to the root", {one(tar_hard_link("l", "./"))}, "refused: hard link to the root"},
        {"hard link to a directory",
         {one(tar_directory("d") + tar_hard_link("l", "d"))},
         "refused: hard link to the directory"},
        {"hard link to a lower layer's link",
         {one(tar_symlink("s", "/etc")), one(tar_hard_link("l", "s"))},
         "l->/etc s->/etc"},
        {"link without a target", {one(tar_symlink("l", ""))}, "refused: target of 0 bytes"},
        {"link with an endless target",
         {one(pax("linkpath", std::string(5000, 't')) + tar_symlink("l", "t"))},
         "refused: target of 5000 bytes"},
        {"PAX link target", {one(pax("linkpath", "../canary") + tar_symlink("l", "t"))}, "l->../canary"},
        {"GNU link target",
         {one(gnu_long('K', "../canary") + tar_entry({.name = "l", .type = '1', .link = "t"}, true))},
         "refused: leads out"},
    };
    check_cases(kCases);
}

TEST(image, hostile_metadata) {
    const std::string kCapability("\x01\x00\x00\x02\x00\x20\x00\x00", 8);
    const Case kCases[] = {
        {"setuid and setgid", {one(tar_entry({.name = "x", .content = "x", .mode = 06755}))}, "x=x"},
        {"sticky stays",
         {one(tar_directory("tmp", 01777) + tar_directory("run", 06711))},
         "run/[711] tmp/[1777]"},
        {"owner's name that is not UTF-8", {one(pax("uname", "\xe9") + tar_file("x"))}, "x=x"},
        {"owner", {one(tar_entry({.name = "x", .content = "x", .user = 12345}))}, "x=x"},
        {"type bits in the mode", {one(tar_entry({.name = "x", .content = "x", .mode = 0120644}))}, "x=x"},
        {"capabilities", {one(pax("SCHILY.xattr.security.capability", kCapability) + tar_file("x"))}, "x=x"},
        {"overlay attributes",
         {one(pax("SCHILY.xattr.trusted.overlay.opaque", "y") + tar_directory("d"))},
         "d/"},
        {"character device", {one(tar_entry({.name = "null", .type = '3'}))}, ""},
        {"block device", {one(tar_entry({.name = "disk", .type = '4'}))}, ""},
        {"FIFO", {one(tar_entry({.name = "fifo", .type = '6'}))}, ""},
        {"device below dev",
         {one(tar_directory("dev") + tar_entry({.name = "dev/mem", .type = '3'}) + tar_file("dev/x"))},
         "dev/"},
        {"hard link to a device",
         {one(tar_entry({.name = "null", .type = '3'}) + tar_hard_link("l", "null"))},
         ""},
        {"content for a device",
         {one(tar_entry({.name = "null", .type = '3'}) + tar_file("null", "dead"))},
         "null=dead"},
        {"a file as parent", {one(tar_file("x") + tar_file("x/y"))}, "x/ x/y=x"},
        {"a device as parent", {one(tar_entry({.name = "x", .type = '3'}) + tar_file("x/y"))}, "x/ x/y=x"},
        {"time before 1970", {one(tar_entry({.name = "x", .content = "x", .mtime = -5}))}, "x=x"},
        {"time after 2106", {one(pax("mtime", "99999999999999") + tar_file("x"))}, "x=x"},
        {"unknown type", {one(tar_entry({.name = "x", .type = 'Z', .content = "z"}))}, "x=z"},
        {"global header",
         {one(tar_entry({.name = "g", .type = 'g', .content = "16 path=../cana\n"}) + tar_file("x"))},
         "x=x"},
        {"names that differ in case", {one(tar_file("a") + tar_file("A"))}, "A=x a=x"},
    };
    check_cases(kCases);
}

TEST(image, hostile_sizes) {
    ImportLimits few;
    few.entries = 3;
    ImportLimits small;
    small.file_bytes = 1000;
    ImportLimits little;
    little.total_bytes = 1500;
    ImportLimits tight;
    tight.ratio_floor_bytes = 100'000;
    tight.compression_ratio = 50;
    ImportLimits unlinked;
    unlinked.links = 1;
    ImportLimits shallow;
    shallow.nodes = 200;
    ImportLimits terse;
    terse.name_bytes = 1000;
    ImportLimits plain;
    plain.total_bytes = 100'000;
    plain.entries = 10;
    std::string deep;
    for (int i = 0; i < 100; ++i) deep += "/d";
    const std::string kDeepPaths =
        one(pax("path", "a" + deep + "/x") + tar_file("x") + pax("path", "b" + deep + "/x") + tar_file("x"));
    const std::string kDeepPath = one(pax("path", "a" + deep + "/x") + tar_file("x"));
    const std::string kOtherDeepPath = one(pax("path", "b" + deep + "/x") + tar_file("x"));
    const std::string kZeros(1'000'000, '\0');
    const std::string kHuge("\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff", 12);
    const std::string kNegative(12, '\xff');
    const Case kCases[] = {
        {"more promised than there",
         {tar_entry({.name = "x", .content = "x", .size_field = "00000100000"})},
         "refused: damaged"},
        {"8 EiB promised", {one(tar_entry({.name = "x", .content = "x", .size_field = kHuge}))}, "refused: "},
        {"8 EiB by PAX", {one(pax("size", "9223372036854775807") + tar_file("x"))}, "refused: "},
        {"beyond 64 bits by PAX", {one(pax("size", "99999999999999999999") + tar_file("x"))}, "refused: "},
        {"negative", {one(tar_entry({.name = "x", .content = "x", .size_field = kNegative}))}, "refused: "},
        {"negative by PAX", {one(pax("size", "-1") + tar_file("x"))}, "refused: "},
        {"huge by GNU.sparse.realsize",
         {one(pax_raw("22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n37 GNU.sparse.realsize=999999999999\n") +
              tar_file("x", "0\n"))},
         "refused: "},
        {"a file over the limit",
         {one(tar_file("x", std::string(1001, 'x')))},
         "refused: more than the 1000 allowed",
         small},
        {"all over the limit",
         {one(tar_file("x", std::string(800, 'x')) + tar_file("y", std::string(800, 'x')))},
         "refused: more than 1500 bytes",
         little},
        {"too many entries",
         {one(tar_file("a") + tar_file("b") + tar_file("c") + tar_file("d"))},
         "refused: more than 3 entries",
         few},
        {"too many links",
         {one(tar_file("a") + tar_hard_link("b", "a") + tar_hard_link("c", "a"))},
         "refused: more than 1 hard links",
         unlinked},
        {"gzip bomb",
         {gzip(one(tar_file("x", kZeros) + tar_file("y")))},
         "refused: more than 50 times",
         tight},
        {"zstd bomb",
         {zstd(one(tar_file("x", kZeros) + tar_file("y")))},
         "refused: more than 50 times",
         tight},
        {"gzip bomb behind the end of the archive",
         {gzip(one(tar_file("x")) + kZeros)},
         "refused: more than 50 times",
         tight},
        {"zstd bomb behind the end of the archive",
         {zstd(one(tar_file("x")) + kZeros)},
         "refused: more than 50 times",
         tight},
        {"endless zeros behind the end of the archive",
         {one(tar_file("x")) + kZeros},
         "refused: more than 100000 bytes",
         plain},
        {"bomb as the body of a hard link",
         {gzip(one(tar_file("x") + tar_entry({.name = "l", .type = '1', .content = kZeros, .link = "x"})))},
         "refused: more than 50 times",
         tight},
        {"few entries, many directories", {kDeepPaths}, "refused: more than 200 names", shallow},
        {"many directories over all layers",
         {kDeepPath, kOtherDeepPath},
         "refused: more than 200 names",
         shallow},
        {"long names over all layers",
         {one(tar_file(std::string(90, 'a')) + tar_file(std::string(90, 'b'))),
          one(tar_file(std::string(90, 'c')) + tar_directory(std::string(90, 'd'))),
          one(tar_symlink("l", std::string(95, 't')) + tar_file(".wh." + std::string(90, 'w')) +
              tar_file(std::string(90, 'e')) + tar_file(std::string(90, 'f'))),
          one(tar_hard_link("h", std::string(90, 'a')) + tar_file(std::string(90, 'g')) +
              tar_file(std::string(90, 'h')) + tar_file(std::string(90, 'i')))},
         "refused: more than 1000 bytes",
         terse},
        {"zeros below the floor", {gzip(one(tar_file("x", kZeros)))}, "x=1000000 bytes"},
    };
    check_cases(kCases);
}

TEST(image, damaged_archives) {
    const std::string good = one(tar_file("x", "content"));
    std::string bad_checksum = good;
    bad_checksum[10] = 'y';
    const std::string first = tar_file("first");
    std::string hidden = one(first + tar_file("hidden", tar_file("smuggled")) + tar_file("last"));
    hidden[first.size()] = 'H';
    std::string flipped = gzip(good);
    flipped[flipped.size() - 6] = static_cast<char>(flipped[flipped.size() - 6] ^ 1);
    std::string flipped_zstd = zstd(good);
    flipped_zstd[flipped_zstd.size() - 3] = static_cast<char>(flipped_zstd[flipped_zstd.size() - 3] ^ 0x55);
    const Case kCases[] = {
        {"nothing at all", {""}, ""},
        {"only an end", {tar_end()}, ""},
        {"gzip", {gzip(good)}, "x=content"},
        {"zstd", {zstd(good)}, "x=content"},
        {"gzip in two members", {gzip(good.substr(0, 700)) + gzip(good.substr(700))}, "x=content"},
        {"zstd in two frames", {zstd(good.substr(0, 700)) + zstd(good.substr(700))}, "x=content"},
        {"gzip, padded with zeros", {gzip(good) + std::string(100, '\0')}, "x=content"},
        {"gzip and something else", {gzip(good) + "dead"}, "refused: something else follows"},
        {"no tar", {std::string(2000, 'g')}, "refused: its tar is damaged"},
        {"wrong checksum", {bad_checksum}, "refused: its tar is damaged"},
        {"wrong checksum of a file that holds an entry",
         {hidden},
         "refused: its tar is damaged: entry 2 has a damaged header"},
        {"half a header", {good.substr(0, 100)}, "refused: its tar is damaged"},
        {"half a file", {good.substr(0, 515)}, "refused: its tar is damaged"},
        {"no end", {good.substr(0, 1024)}, "x=content"},
        {"something behind the end", {good + tar_file("dead")}, "x=content"},
        {"gzip that ends early", {gzip(good).substr(0, gzip(good).size() - 10)}, "refused: it ends early"},
        {"gzip with a wrong checksum", {flipped}, "refused: gzip"},
        {"zstd that ends early", {zstd(good).substr(0, zstd(good).size() - 4)}, "refused: it ends early"},
        {"zstd with damage", {flipped_zstd}, "refused: "},
        {"only a magic number", {"\x1f\x8b"}, "refused: it ends early"},
        {"xz",
         {std::string("\xfd"
                      "7zXZ\0\0\0",
                      8)},
         "refused: compressed with xz"},
        {"bzip2", {"BZh91AY"}, "refused: compressed with bzip2"},
        {"PAX record without length",
         {one(pax_raw("path=canary\n") + tar_file("x"))},
         "refused: its tar is damaged"},
        {"PAX record of a wrong length",
         {one(pax_raw("99 path=canary\n") + tar_file("x"))},
         "refused: its tar is damaged"},
        {"PAX record of length 0",
         {one(pax_raw("0 path=canary\n") + tar_file("x"))},
         "refused: its tar is damaged"},
        {"PAX name that is not UTF-8", {one(pax("path", "caf\xe9") + tar_file("x"))}, "refused: not UTF-8"},
        {"ustar name that is not UTF-8", {one(tar_file("caf\xe9"))}, "caf\xe9=x"},
        {"endless GNU name", {one(gnu_long('L', std::string(3 << 20, 'n')) + tar_file("x"))}, "refused: "},
        {"a layer of garbage above a good one",
         {good, std::string(700, '\x7f')},
         "refused: its tar is damaged"},
    };
    check_cases(kCases);
}

TEST(image, sparse_archives) {
    // GNU tar's map in the file's content (its manual, "PAX Format, Version 1.0"): 4 bytes at 2, of 8.
    std::string map = "2\n2\n4\n8\n0\n";
    map.resize(512);
    const std::string sparse = pax_raw(
                                   "22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n21 GNU.sparse.name=x\n25 "
                                   "GNU.sparse.realsize=8\n") +
                               tar_file("GNUSparseFile.1/x", map + "data");
    const Case kCases[] = {{"a hole on either side",
                            {one(tar_file("first") + sparse + tar_file("last"))},
                            std::string("first=x last=x x=\0\0data\0\0", 25)}};
    check_cases(kCases);
}

}  // namespace
}  // namespace belay::image
