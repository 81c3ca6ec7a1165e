// Random access to packed training data: the tar shards that "belay stage pack" makes. One header for programs in C++17 on Linux,
// which needs nothing else of Belay.
//
//   belay::shards::Dataset data("/scratch/train");
//   for (std::size_t i : order) {
//       data.prefetch(one_that_comes_later);
//       for (const belay::shards::Record& record : data.sample(i)) use(record.name, record.content);
//   }
//   auto label = data.find("class3/000017.cls");
//
// A shard is a plain tar; the index beside it says where each file lies (docs/formats/shard-index.md), so that a sample is read without
// reading what stands before it. Files are mapped: names and contents are views that live as long as the Dataset. All calls that are
// const may come from several threads at once. What is wrong is thrown as an Error. A file that is cut while it is mapped ends the
// program with SIGBUS, as with any mapped file; read() goes without the map.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace belay::shards {

// What is read is not a shard, or it is damaged, or cannot be read.
class Error : public std::runtime_error {
  public:
    explicit Error(const std::string& what, int code = 0) : std::runtime_error(what), code_(code) {}
    // What the system said (errno); 0 where the data themselves are wrong.
    int code() const { return code_; }

  private:
    int code_;
};

namespace detail {

#if defined(__x86_64__) && defined(__GNUC__)
// By the instruction for it; `state` is not inverted.
__attribute__((target("sse4.2"))) inline std::uint32_t crc32c_by_instruction(std::uint32_t state, std::string_view bytes) {
    std::uint64_t wide = state;
    for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
        std::uint64_t word = 0;
        std::memcpy(&word, bytes.data(), 8);
        wide = __builtin_ia32_crc32di(wide, word);
    }
    auto narrow = static_cast<std::uint32_t>(wide);
    for (const char byte : bytes) narrow = __builtin_ia32_crc32qi(narrow, static_cast<unsigned char>(byte));
    return narrow;
}
#endif

}  // namespace detail

// CRC32C (Castagnoli, RFC 3720 appendix B.4), as indexes state it. Where the CPU has no instruction for it, by a table: some hundred
// MB a second.
inline std::uint32_t crc32c(std::string_view bytes) {
#if defined(__x86_64__) && defined(__GNUC__)
    static const bool has_instruction = __builtin_cpu_supports("sse4.2");
    if (has_instruction) return ~detail::crc32c_by_instruction(0xFFFFFFFFU, bytes);
#endif
    static const std::array<std::uint32_t, 256> table = [] {
        std::array<std::uint32_t, 256> made{};
        for (std::uint32_t i = 0; i < made.size(); ++i) {
            std::uint32_t value = i;
            for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82F63B78U : 0);
            made[i] = value;
        }
        return made;
    }();
    std::uint32_t state = 0xFFFFFFFFU;
    for (char byte : bytes) state = (state >> 8) ^ table[(state ^ static_cast<unsigned char>(byte)) & 0xFF];
    return ~state;
}

struct Record {
    std::string_view name;     // as in the tar
    std::string_view content;
    std::uint64_t offset = 0;  // of the content in the tar
    std::uint32_t checksum = 0;
    std::uint32_t sample = 0;  // within the shard
    // Whether the content is what was packed: reads all of it.
    bool is_intact() const { return crc32c(content) == checksum; }
};

namespace detail {

[[noreturn]] inline void fail(const std::string& path, int error) { throw Error(path + ": " + std::strerror(error), error); }

class OpenFile {
  public:
    // Follows no link, and waits for no pipe: packed data may be another user's.
    explicit OpenFile(const std::string& path) : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) {
        struct stat status {};
        if (fd_ < 0 || ::fstat(fd_, &status) != 0) fail(path, errno);
        if (!S_ISREG(status.st_mode)) {
            ::close(fd_);
            throw Error(path + ": is not a regular file");
        }
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    ~OpenFile() { ::close(fd_); }
    int fd() const { return fd_; }

  private:
    int fd_;
};

// A small file, whole.
inline std::string read_file(const std::string& path, std::size_t most) {
    const OpenFile file(path);
    std::string text;
    while (text.size() <= most) {
        char piece[16384];
        const ssize_t size = ::read(file.fd(), piece, sizeof piece);
        if (size < 0 && errno == EINTR) continue;
        if (size < 0) fail(path, errno);
        if (size == 0) return text;
        text.append(piece, static_cast<std::size_t>(size));
    }
    throw Error(path + ": is larger than the " + std::to_string(most) + " bytes that it may have");
}

class Mapped {
  public:
    explicit Mapped(const std::string& path) {
        // Data sets have thousands of shards, and a process often no more than 1024 descriptors.
        const OpenFile file(path);
        struct stat status {};
        if (::fstat(file.fd(), &status) != 0) fail(path, errno);
        size_ = static_cast<std::size_t>(status.st_size);
        if (size_ == 0) return;
        void* at = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, file.fd(), 0);
        if (at == MAP_FAILED) fail(path, errno);
        bytes_ = static_cast<const char*>(at);
    }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    ~Mapped() {
        if (bytes_ != nullptr) ::munmap(const_cast<char*>(bytes_), size_);
    }
    std::string_view bytes() const { return {bytes_, size_}; }

  private:
    const char* bytes_ = nullptr;
    std::size_t size_ = 0;
};

// Of a path in a manifest: absolute, or with "..".
inline bool leads_out(const std::string& path) {
    return path.empty() || path.front() == '/' || ("/" + path + "/").find("/../") != std::string::npos;
}

template <typename Number>
Number number_at(std::string_view bytes, std::size_t at) {
    Number value = 0;
    for (std::size_t i = 0; i < sizeof value; ++i) value |= static_cast<Number>(static_cast<Number>(static_cast<unsigned char>(bytes[at + i])) << (8 * i));
    return value;
}

// SHA-256 (FIPS 180-4, section 6.2), as 64 hexadecimal digits: some hundred MB a second.
class Sha256 {
  public:
    static std::string of(std::string_view bytes) {
        Sha256 hash;
        std::size_t at = 0;
        for (; bytes.size() - at >= kBlock; at += kBlock) hash.add(bytes.data() + at);
        std::string last(bytes.substr(at));
        last += '\x80';
        while (last.size() % kBlock != kBlock - 8) last += '\0';
        for (int shift = 56; shift >= 0; shift -= 8) last += static_cast<char>(std::uint64_t{bytes.size()} * 8 >> shift);
        for (at = 0; at < last.size(); at += kBlock) hash.add(last.data() + at);
        std::string digits;
        for (const std::uint32_t word : hash.state_)
            for (int shift = 28; shift >= 0; shift -= 4) digits += "0123456789abcdef"[word >> shift & 15];
        return digits;
    }

  private:
    static constexpr std::size_t kBlock = 64;
    // The first 32 bits of the fractional parts of the cube roots of the first 64 primes, and of the square roots of eight.
    static constexpr std::array<std::uint32_t, 64> kRound = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
        0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
        0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
        0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
        0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
        0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    static std::uint32_t turned(std::uint32_t word, int bits) { return word >> bits | word << (32 - bits); }
    void add(const char* block) {
        std::array<std::uint32_t, 64> words{};
        for (std::size_t i = 0; i < 16; ++i)
            for (std::size_t byte = 0; byte < 4; ++byte) words[i] = words[i] << 8 | static_cast<unsigned char>(block[4 * i + byte]);
        for (std::size_t i = 16; i < 64; ++i) {
            const std::uint32_t two = words[i - 15], fourteen = words[i - 2];
            words[i] = words[i - 16] + words[i - 7] + (turned(two, 7) ^ turned(two, 18) ^ two >> 3) +
                       (turned(fourteen, 17) ^ turned(fourteen, 19) ^ fourteen >> 10);
        }
        auto [a, b, c, d, e, f, g, h] = state_;
        for (std::size_t i = 0; i < 64; ++i) {
            const std::uint32_t one = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + kRound[i] + words[i];
            const std::uint32_t other = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
            h = g, g = f, f = e, e = d + one, d = c, c = b, b = a, a = one + other;
        }
        const std::array<std::uint32_t, 8> after = {a, b, c, d, e, f, g, h};
        for (std::size_t i = 0; i < 8; ++i) state_[i] += after[i];
    }
    std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
};

struct ManifestShard {
    std::string path, index_sha256;
};

// What the list "shards" of a manifest says, in order; the shards must be tars. Belay checks manifests when it makes and verifies data;
// here only this is read.
class ManifestShards {
  public:
    ManifestShards(std::string_view text, const std::string& file) : text_(text), file_(file) {}
    std::vector<ManifestShard> find() {
        std::vector<ManifestShard> shards;
        std::vector<std::string> keys;  // of the objects and lists around
        std::string last;
        bool is_key = true;
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '"') {
                const std::string word = string();
                if (is_key) last = word;
                else if (last == "format" && keys.size() == 1 && word != "tar")
                    throw Error(file_ + ": says that the data are not packed as tar shards, but as " + word);
                else if (last == "path" && keys.size() == 3 && keys[1] == "shards" && !shards.empty()) shards.back().path = word;
                else if (last == "index_sha256" && keys.size() == 3 && keys[1] == "shards" && !shards.empty()) shards.back().index_sha256 = word;
                continue;
            }
            if (c == '{' || c == '[') keys.push_back(last);
            if (c == '{' && keys.size() == 3 && keys[1] == "shards") shards.emplace_back();
            if (c == '}' || c == ']') {
                if (keys.empty()) break;
                keys.pop_back();
            }
            if (c == ':') is_key = false;
            if (c == ',' || c == '{') is_key = true;
            ++at_;
        }
        if (shards.empty()) throw Error(file_ + ": lists no shards");
        return shards;
    }

  private:
    std::string string() {
        std::string word;
        for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
            if (text_[at_] == '\\' && ++at_ == text_.size()) break;
            word += text_[at_];  // of the escapes, names of shards hold \" and \\ only
        }
        ++at_;
        return word;
    }
    std::string_view text_;
    const std::string& file_;
    std::size_t at_ = 0;
};

}  // namespace detail

// A tar and its index.
class Shard {
  public:
    // `index_sha256` is what the manifest says of the index: that of another shard, with a tar as large, is refused by it alone.
    explicit Shard(const std::string& tar_path, const std::string& index_sha256 = {})
        : path_(tar_path), tar_(tar_path), index_(index_path(tar_path)) {
        try {
            open_index();
            if (!index_sha256.empty() && detail::Sha256::of(index_.bytes()) != index_sha256)
                throw Error("it is not the one that the manifest names: repair it");
        } catch (const Error& error) {
            throw Error(index_path(tar_path) + ": " + error.what(), error.code());
        }
    }

    // Records in the order of their names.
    std::size_t size() const { return count_; }
    Record operator[](std::size_t number) const {
        const std::size_t at = kHeaderBytes + number * kEntryBytes;
        const std::string_view index = index_.bytes();
        Record record;
        record.name = name(number);
        record.offset = detail::number_at<std::uint64_t>(index, at);
        record.content = tar_.bytes().substr(record.offset, detail::number_at<std::uint64_t>(index, at + 8));
        record.checksum = detail::number_at<std::uint32_t>(index, at + 24);
        record.sample = detail::number_at<std::uint32_t>(index, at + 28);
        return record;
    }
    std::optional<Record> find(std::string_view wanted) const {
        std::size_t begin = 0;
        std::size_t end = count_;
        while (begin < end) {
            const std::size_t middle = begin + (end - begin) / 2;
            if (name(middle) < wanted) begin = middle + 1;
            else end = middle;
        }
        if (begin == count_ || name(begin) != wanted) return std::nullopt;
        return (*this)[begin];
    }

    // Samples in the order of the tar; of each, the records in the order of their names.
    std::size_t samples() const { return first_of_sample_.size() - 1; }
    std::vector<Record> sample(std::size_t number) const {
        std::vector<Record> records;
        for (std::size_t i = first_of_sample_.at(number); i < first_of_sample_.at(number + 1); ++i) records.push_back((*this)[by_sample_[i]]);
        return records;
    }

    // Has the system begin to read the sample, and does not wait for it. What it cannot do is left for sample() to find out.
    void prefetch(std::size_t number) const {
        static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
        std::uint64_t begin = tar_.bytes().size(), end = 0;  // the records of a sample stand side by side
        for (std::size_t i = first_of_sample_.at(number); i < first_of_sample_.at(number + 1); ++i) {
            const std::size_t at = kHeaderBytes + by_sample_[i] * kEntryBytes;
            const auto offset = detail::number_at<std::uint64_t>(index_.bytes(), at);
            begin = std::min(begin, offset / page * page);
            end = std::max(end, offset + detail::number_at<std::uint64_t>(index_.bytes(), at + 8));
        }
        if (begin < end) ::madvise(const_cast<char*>(tar_.bytes().data()) + begin, end - begin, MADV_WILLNEED);
    }

    // The content of a record of this shard by pread(2) into `buffer`, which holds record.content.size() bytes.
    void read(const Record& record, void* buffer) const {
        std::size_t done = 0;
        std::call_once(opened_, [this] { file_ = std::make_unique<const detail::OpenFile>(path_); });
        const detail::OpenFile& file = *file_;
        while (done < record.content.size()) {
            const ssize_t size = ::pread(file.fd(), static_cast<char*>(buffer) + done, record.content.size() - done, static_cast<off_t>(record.offset + done));
            if (size < 0 && errno == EINTR) continue;
            if (size < 0) detail::fail(path_, errno);
            if (size == 0) throw Error(path_ + ": it is shorter than its index says");
            done += static_cast<std::size_t>(size);
        }
    }

  private:
    static constexpr std::size_t kHeaderBytes = 32, kEntryBytes = 32, kLengthBytes = 8, kTrailerBytes = 16;

    static std::string index_path(const std::string& tar_path) {
        const std::size_t dot = tar_path.rfind(".tar");
        return tar_path.substr(0, dot) + ".idx";
    }
    std::string_view name(std::size_t number) const {
        const std::size_t at = kHeaderBytes + number * kEntryBytes;
        return names_.substr(detail::number_at<std::uint32_t>(index_.bytes(), at + 16), detail::number_at<std::uint16_t>(index_.bytes(), at + 20));
    }
    // Everything that later calls rely on.
    void open_index() {
        const std::string_view bytes = index_.bytes();
        if (bytes.size() < kHeaderBytes + kLengthBytes + kTrailerBytes || bytes.substr(0, 8) != "BLYTIDX1") throw Error("it is not an index of a shard");
        if (detail::number_at<std::uint32_t>(bytes, 8) != 1) throw Error("it has another version");
        const std::size_t end = bytes.size() - kTrailerBytes;
        if (bytes.substr(end + 8) != "BLYTIDXE" || detail::number_at<std::uint32_t>(bytes, end) != crc32c(bytes.substr(0, end))) throw Error("it is damaged");
        if (detail::number_at<std::uint64_t>(bytes, 24) != tar_.bytes().size()) throw Error("it is of a tar of another size");
        const auto count = detail::number_at<std::uint64_t>(bytes, 16);
        if (count > (end - kHeaderBytes - kLengthBytes) / kEntryBytes) throw Error("it is damaged");
        count_ = static_cast<std::size_t>(count);
        const std::size_t names = kHeaderBytes + count_ * kEntryBytes + kLengthBytes;
        names_ = bytes.substr(names, end - names);
        std::uint32_t samples = 0;
        for (std::size_t i = 0; i < count_; ++i) {
            const std::size_t at = kHeaderBytes + i * kEntryBytes;
            const auto offset = detail::number_at<std::uint64_t>(bytes, at), size = detail::number_at<std::uint64_t>(bytes, at + 8);
            if (offset > tar_.bytes().size() || size > tar_.bytes().size() - offset) throw Error("a record lies outside of the tar");
            if (detail::number_at<std::uint32_t>(bytes, at + 16) + std::uint64_t{detail::number_at<std::uint16_t>(bytes, at + 20)} > names_.size())
                throw Error("a name lies outside of it");
            const auto sample = detail::number_at<std::uint32_t>(bytes, at + 28);
            if (sample >= count_) throw Error("it has samples without records");
            samples = std::max(samples, sample + 1);
        }
        group_by_sample(samples);
    }
    void group_by_sample(std::uint32_t samples) {
        first_of_sample_.assign(samples + std::size_t{1}, 0);
        auto sample_of = [&](std::size_t i) { return detail::number_at<std::uint32_t>(index_.bytes(), kHeaderBytes + i * kEntryBytes + 28); };
        for (std::size_t i = 0; i < count_; ++i) ++first_of_sample_[sample_of(i) + std::size_t{1}];
        std::partial_sum(first_of_sample_.begin(), first_of_sample_.end(), first_of_sample_.begin());
        std::vector<std::size_t> next(first_of_sample_.begin(), first_of_sample_.end() - 1);
        by_sample_.resize(count_);
        for (std::size_t i = 0; i < count_; ++i) by_sample_[next[sample_of(i)]++] = i;
    }

    std::string path_;
    detail::Mapped tar_, index_;
    mutable std::once_flag opened_;  // at the first read(): only programs that use it have a descriptor for each shard
    mutable std::unique_ptr<const detail::OpenFile> file_;
    std::size_t count_ = 0;
    std::string_view names_;
    std::vector<std::size_t> first_of_sample_;  // in by_sample_; one more than there are samples
    std::vector<std::size_t> by_sample_;        // numbers of records
};

// All shards of a packed data set.
class Dataset {
  public:
    static constexpr std::size_t kMostManifestBytes = std::size_t{64} << 20;

    explicit Dataset(const std::string& directory) {
        const std::string manifest = directory + "/manifest.json";
        const std::string text = detail::read_file(manifest, kMostManifestBytes);
        for (const auto& [path, index_sha256] : detail::ManifestShards(text, manifest).find()) {
            if (detail::leads_out(path)) throw Error(manifest + ": the shard " + path + " lies outside of the directory");
            shards_.push_back(std::make_unique<Shard>(directory + "/" + path, index_sha256));
            starts_.push_back(size_);
            size_ += shards_.back()->samples();
            if (!shown_) shown_ = std::make_unique<const detail::OpenFile>(directory + "/" + path);
        }
    }

    std::size_t size() const { return size_; }  // samples
    std::vector<Record> sample(std::size_t number) const {
        const std::size_t shard = shard_of(number);
        return shards_[shard]->sample(number - starts_[shard]);
    }
    // Has the system begin to read a sample that is wanted soon, and does not wait for it: in a shuffled epoch, one that comes some tens of
    // samples later. A file system then answers many reads at once.
    void prefetch(std::size_t number) const {
        const std::size_t shard = shard_of(number);
        shards_[shard]->prefetch(number - starts_[shard]);
    }
    // A file by its name in the source: a binary search in each shard.
    std::optional<Record> find(std::string_view name) const {
        for (const auto& shard : shards_)
            if (auto record = shard->find(name)) return record;
        return std::nullopt;
    }
    const std::vector<std::unique_ptr<Shard>>& shards() const { return shards_; }

  private:
    std::size_t shard_of(std::size_t number) const {
        if (number >= size_) throw Error("sample " + std::to_string(number) + " of " + std::to_string(size_));
        const auto after = std::upper_bound(starts_.begin(), starts_.end(), number);
        return static_cast<std::size_t>(after - starts_.begin()) - 1;
    }

    std::vector<std::unique_ptr<Shard>> shards_;
    std::unique_ptr<const detail::OpenFile> shown_;  // so that lsof and the recorder of a job see which data are read
    std::vector<std::size_t> starts_;  // the number of each shard's first sample
    std::size_t size_ = 0;
};

}  // namespace belay::shards
