#include "image/layer_fetch.h"

#include "core/host_name.h"
#include "core/parallel.h"
#include "core/program.h"
#include "image/digest.h"
#include "image/layer_stream.h"
#include "image/partial_blob.h"
#include "image/store_lock.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <memory>
#include <mutex>
#include <sys/stat.h>
#include <unistd.h>

namespace belay::image {

namespace {

namespace fs = std::filesystem;
using core::Result;
using core::system_error;

constexpr std::string_view kDamagedHint =
    "the registry's copy is damaged, or something between here and there changes it: push the image again, "
    "or ask "
    "who runs the registry";

Result<std::string> digest_of(int fd, std::string name) {
    core::Sha256 hash;
    std::string buffer(size_t{1} << 18, '\0');
    ByteSource source = read_from_descriptor(fd, std::move(name));
    while (true) {
        BELAY_TRY(n, source(buffer.data(), buffer.size()));
        if (n == 0) break;
        hash.update(std::string_view(buffer).substr(0, n));
    }
    return digest_text(hash.finish());
}

class Fetcher {
  public:
    Fetcher(Registry& registry, const std::string& image_name, const StoreLayout& layout,
            const LayerFetchOptions& options, core::Clock& clock, const FetchProgress& progress)
        : registry_(registry),
          image_name_(image_name),
          layout_(layout),
          options_(options),
          clock_(clock),
          progress_(progress) {}

    Result<std::map<std::string, Layer>> fetch(const std::vector<Descriptor>& wanted) {
        for (const Descriptor& blob : wanted) total_ += blob.size;
        std::map<std::string, Layer> layers;
        std::atomic<size_t> next = 0;
        auto fetch_some = [&]() -> Result<> {
            core::fetch::HttpOptions http = options_.http;
            http.stopped = &stopped_;
            core::fetch::HttpClient client(http, clock_);
            for (size_t i = next++; i < wanted.size() && !stopped_; i = next++) {
                BELAY_TRY(layer, fetch_one(client, wanted[i]));
                std::lock_guard lock(mutex_);
                layers[wanted[i].digest] = std::move(layer);
            }
            return {};
        };
        const size_t count = std::min<size_t>(std::max(options_.threads, 1U), wanted.size());
        BELAY_CHECK(core::in_parallel(count, count, [&](size_t) {
            auto done = core::without_exceptions(fetch_some);
            if (!done) stopped_ = true;
            return done;
        }));
        return layers;
    }

  private:
    void count(int64_t change) {
        std::lock_guard lock(progress_mutex_);
        done_ += static_cast<uint64_t>(change);
        if (progress_) progress_(done_, total_);
    }

    // Nothing if the layer is not here, or is not what it should be: then it is removed. Errors: kSystem, of
    // reading it, which says nothing against what others share.
    Result<std::optional<Layer>> kept(const Descriptor& blob) {
        const fs::path file = layout_.blobs() / hex_of(blob.digest);
        auto fd = core::open_file(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        if (!fd) return std::nullopt;  // whatever it is, a layer that is fetched takes its place
        struct stat status{};
        if (fstat(fd->get(), &status) != 0)
            return core::errno_error(errno, fmt::format("cannot look at {}", file.string()));
        bool is_whole = S_ISREG(status.st_mode);
        if (is_whole) {
            BELAY_TRY(digest, digest_of(fd->get(), file.string()));
            is_whole = digest == blob.digest;
        }
        if (!is_whole) {
            unlink(file.c_str());
            return std::nullopt;
        }
        futimens(fd->get(), nullptr);  // it was used now
        return std::optional<Layer>(std::make_shared<core::Descriptor>(std::move(*fd)));
    }

    Result<Layer> fetch_one(core::fetch::HttpClient& client, const Descriptor& blob) {
        BELAY_TRY(before, kept(blob));
        if (before) {
            count(static_cast<int64_t>(blob.size));
            return std::move(*before);
        }
        std::string name = fmt::format("{}-{}", hex_of(blob.digest), getuid());
        const std::string place = fmt::format("{}: layer {}", image_name_, short_digest(blob.digest));
        BELAY_TRY(lock,
                  core::with_context(StoreLock::acquire(layout_.lock(name), clock_,
                                                        core::Deadline::after(options_.longest_wait, clock_),
                                                        {}, LockMethod::kFlock, {}, &stopped_),
                                     place));
        BELAY_TRY(meanwhile, kept(blob));
        if (meanwhile) {  // another process was faster
            count(static_cast<int64_t>(blob.size));
            return std::move(*meanwhile);
        }
        auto counter = [this](int64_t change) { count(change); };
        BELAY_TRY(partial,
                  core::with_context(
                      PartialBlob::open(layout_.partial() / fmt::format("{}-{}", name, core::host_name()),
                                        blob.size, counter, stopped_),
                      place));
        while (true) {
            bool resumed = partial.position() > 0;
            BELAY_CHECK(download(client, blob, partial, place));
            BELAY_TRY(digest,
                      core::with_context(digest_of(partial.descriptor(), short_digest(blob.digest)), place));
            if (digest == blob.digest)
                return std::make_shared<core::Descriptor>(
                    std::move(partial).publish(layout_.blobs() / hex_of(blob.digest)));
            if (!resumed) {
                partial.remove();
                return system_error("{}: its bytes do not have its hash, but {}", place, digest)
                    .hint(kDamagedHint);
            }
            BELAY_CHECK(core::with_context(partial.restart(),
                                           place));  // what an earlier attempt left may have been wrong
        }
    }

    Result<> download(core::fetch::HttpClient& client, const Descriptor& blob, PartialBlob& partial,
                      const std::string& place) {
        if (partial.position() < blob.size) {
            auto done = registry_.layer(client, blob, partial);
            if (!done && done.error().cause() == core::Cause::kNoSpace) {
                partial.remove();
                return std::unexpected(std::move(done.error()).hint(full_disk_hint(layout_)));
            }
            BELAY_CHECK(done);
        }
        if (partial.position() == blob.size) return {};
        partial.remove();
        return system_error("{}: the registry has only {} of its {} bytes", place, partial.position(),
                            blob.size)
            .hint(kDamagedHint);
    }

    Registry& registry_;
    const std::string& image_name_;
    const StoreLayout& layout_;
    const LayerFetchOptions& options_;
    core::Clock& clock_;
    const FetchProgress& progress_;
    std::atomic<bool> stopped_ = false;
    std::mutex mutex_;
    std::mutex progress_mutex_;
    uint64_t done_ = 0;
    uint64_t total_ = 0;
};

}  // namespace

std::string full_disk_hint(const StoreLayout& layout) {
    return fmt::format("make room in {}, or set EDF_IMAGESTORE to a directory that has more",
                       layout.root.string());
}

Result<std::vector<Layer>> fetch_layers(Registry& registry, const std::string& image_name,
                                        const std::vector<Descriptor>& blobs, const StoreLayout& layout,
                                        const LayerFetchOptions& options, core::Clock& clock,
                                        const FetchProgress& progress) {
    std::vector<Descriptor> wanted;  // each once, though an image may have it twice
    for (const Descriptor& blob : blobs)
        if (std::ranges::find(wanted, blob.digest, &Descriptor::digest) == wanted.end())
            wanted.push_back(blob);
    Fetcher fetcher(registry, image_name, layout, options, clock, progress);
    BELAY_TRY(fetched, fetcher.fetch(wanted));
    std::vector<Layer> out;
    for (const Descriptor& blob : blobs) out.push_back(fetched.at(blob.digest));
    return out;
}

void trim_layers(const StoreLayout& layout, uint64_t limit, core::Time now) {
    struct Kept {
        fs::path path;
        uint64_t bytes;
        int64_t used;
    };
    constexpr int64_t kAbandoned = 7 * 86400;  // seconds
    constexpr int64_t kInUse = 3600;
    const int64_t seconds = core::to_nanoseconds(now) / 1'000'000'000;
    auto files_in = [](const fs::path& directory) {
        std::vector<Kept> out;
        std::error_code error;
        for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
            struct stat status{};
            if (lstat(it->path().c_str(), &status) == 0 && S_ISREG(status.st_mode))
                out.push_back({it->path(), static_cast<uint64_t>(status.st_size), status.st_mtim.tv_sec});
        }
        return out;
    };
    for (const Kept& file : files_in(layout.partial()))
        if (seconds - file.used > kAbandoned) unlink(file.path.c_str());
    std::vector<Kept> layers = files_in(layout.blobs());
    uint64_t total = 0;
    for (const Kept& layer : layers) total += layer.bytes;
    std::ranges::sort(layers, {}, &Kept::used);
    for (const Kept& layer : layers) {
        if (total <= limit || seconds - layer.used < kInUse) return;
        if (unlink(layer.path.c_str()) == 0) total -= layer.bytes;
    }
}

}  // namespace belay::image
