// From a registry into the store.
#include "core/host_name.h"
#include "core/new_file.h"
#include "core/units.h"
#include "core/utf8.h"
#include "image/digest.h"
#include "image/import.h"
#include "image/local_image.h"
#include "image/squashfs_writer.h"
#include "image/store.h"
#include "image/store_files.h"
#include "image/store_lock.h"
#include "image/store_trust.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>

namespace belay::image {

namespace {

namespace fs = std::filesystem;
using core::bad_input;
using core::Result;
using core::system_error;

constexpr unsigned kMostWriters = 32;  // threads that compress; more wait for the disk

// An image or its sidecar, under a name that says of which key and whose it is, so that what a kill left
// behind is known as such.
Result<core::NewFile> begin_file(const StoreLayout& layout, const std::string& key, const fs::path& path) {
    BELAY_TRY(images, core::Directory::open(layout.images()));
    BELAY_TRY(file, core::NewFile::begin(images, path.filename().native(), 0600,
                                         fmt::format(".{}.{}.{}-", key, core::host_name(), getpid())));
    struct stat directory{};
    if (fstat(images.fd(), &directory) == 0) (void)fchmod(file.fd(), mode_in(directory));
    return file;
}

Result<> publish_file(const StoreLayout& layout, core::NewFile file) {
    const fs::path path = file.path();
    BELAY_CHECK(make_way(layout, path));
    auto published = std::move(file).replace();
    // Somebody took it for left behind: no loss if the image has come from another node meanwhile.
    if (!published && published.error().errno_value() == ENOENT && access(path.c_str(), F_OK) == 0) return {};
    return published;
}

constexpr int64_t kLeftBehind = 3600;  // seconds without a change

bool is_left_behind(const struct stat& status, core::Time now) {
    return core::to_nanoseconds(now) / 1'000'000'000 - status.st_mtim.tv_sec >= kLeftBehind;
}

// Names of images that were not written to their end.
void sweep_names(const StoreLayout& layout, core::Time now) {
    std::error_code error;
    for (fs::directory_iterator it(layout.refs(), error), end; !error && it != end; it.increment(error)) {
        struct stat status{};
        if (it->path().filename().string().contains(".tmp-") && lstat(it->path().c_str(), &status) == 0 &&
            is_left_behind(status, now))
            unlink(it->path().c_str());
    }
}

// What the killed left behind. A file belongs to the import of its key, and that holds the key's lock; but
// locks may hold on one node only (NFS with local_lock, Lustre with localflock), so what another node may be
// writing is left alone while it changes.
void sweep(const StoreLayout& layout, const std::string& held, core::Time now) {
    const std::string host = core::host_name();
    std::error_code error;
    for (fs::directory_iterator it(layout.images(), error), end; !error && it != end; it.increment(error)) {
        const std::string name = it->path().filename().string();
        const bool hidden = name.starts_with('.');
        if (!hidden && !name.contains(".tmp-")) continue;
        const std::string_view rest = std::string_view(name).substr(hidden ? 1 : 0);
        const std::string key(rest.substr(0, rest.find('.')));
        // Not ours, say a file that NFS keeps for somebody who has it open.
        if (!is_digest("sha256:" + key.substr(0, key.find('-')))) continue;
        const size_t host_at = key.size() + 1;
        const size_t host_end = rest.rfind('.');
        const bool ours = hidden && host_end > host_at && host_end != std::string_view::npos &&
                          rest.substr(host_at, host_end - host_at) == host;
        struct stat status{};
        if (lstat(it->path().c_str(), &status) != 0) continue;
        if (!ours && !is_left_behind(status, now)) continue;
        std::optional<StoreLock> lock;
        if (key != held) {
            auto taken = StoreLock::try_acquire(layout.lock(key));
            if (!taken || !*taken) continue;
            lock = std::move(*taken);
        }
        unlink(it->path().c_str());
    }
}

struct Resolved {
    std::string digest;  // of the manifest for our platform
    Manifest manifest;
};

class Importer {
  public:
    Importer(const Reference& reference, const StoreLayout& layout, const StoreOptions& options,
             const CredentialLookup& credentials, const ImportProgress& progress)
        : reference_(reference),
          name_(display_name(reference)),
          layout_(layout),
          options_(options),
          progress_(progress),
          client_(options.fetch.http, *options.clock),
          registry_(reference, {.insecure = options.insecure_registries, .credentials = credentials},
                    *options.clock) {}

    Result<Image> run() {
        tell(ImportPhase::kResolving);
        BELAY_TRY(resolved, resolve());
        key_ = image_key(resolved.digest, options_.platform);
        BELAY_TRY(part, make_store(layout_));
        std::optional<Image> known;
        BELAY_TRY(parts, parts_of(layout_));
        for (const StoreLayout& there : parts) {
            BELAY_TRY(image, load_image(there, key_));
            if (image && !known) known = std::move(image);
        }
        layout_ = std::move(part);
        if (!known) {
            BELAY_TRY(lock, StoreLock::acquire(layout_.lock(key_), *options_.clock,
                                               core::Deadline::after(options_.longest_wait, *options_.clock),
                                               [this] { tell(ImportPhase::kWaiting); }));
            sweep(layout_, key_, options_.clock->now());
            sweep_names(layout_, options_.clock->now());
            BELAY_TRY(meanwhile, load_image(layout_, key_));
            known = std::move(meanwhile);
            if (!known) {
                BELAY_CHECK(make(resolved));
                trim_layers(layout_, options_.kept_layer_bytes, options_.clock->now());
                BELAY_TRY(made, load_image(layout_, key_));
                if (!made)
                    return system_error("{}: the image was removed right after it was imported", name_);
                known = std::move(made);
            }
        }
        BELAY_CHECK(
            core::with_context(write_ref(layout_, reference_, options_.platform, resolved.digest), name_));
        return std::move(*known);
    }

  private:
    void tell(ImportPhase phase, uint64_t done = 0, uint64_t total = 0) const {
        if (progress_) progress_(phase, done, total);
    }

    Result<Document> document(const FetchedManifest& fetched) const {
        return core::with_context(parse_document(fetched.body, fetched.content_type), name_);
    }

    Result<Resolved> resolve() {
        BELAY_TRY(first, registry_.manifest(client_, reference_.selector()));
        BELAY_TRY(found, document(first));
        if (auto* manifest = std::get_if<Manifest>(&found))
            return Resolved{first.digest, std::move(*manifest)};
        BELAY_TRY(chosen,
                  core::with_context(choose_platform(std::get<Index>(found), options_.platform), name_));
        BELAY_TRY(second, registry_.manifest(client_, chosen.digest));
        BELAY_TRY(inner, document(second));
        auto* manifest = std::get_if<Manifest>(&inner);
        if (manifest == nullptr) return system_error("{}: its index leads to another index", name_);
        return Resolved{second.digest, std::move(*manifest)};
    }

    Result<> check_platform(const ImageConfig& config) const {
        const Platform& has = config.platform;
        bool fits = (has.os.empty() || has.os == options_.platform.os) &&
                    (has.architecture.empty() || has.architecture == options_.platform.architecture);
        if (fits) return {};
        return bad_input("{}: the image is for {}, this machine is {}", name_, to_text(has),
                         to_text(options_.platform))
            .hint("build or choose an image for this machine's platform");
    }

    // Layers and SquashFS file will both lie in the store, so less than the layers alone cannot do.
    Result<> check_space(const Manifest& manifest) const {
        struct statvfs status{};
        if (statvfs(layout_.root.c_str(), &status) != 0) return {};  // writing will tell
        uint64_t free = uint64_t{status.f_bavail} * status.f_frsize;
        uint64_t needed = 0;
        for (const Descriptor& layer : manifest.layers)
            if (access((layout_.blobs() / hex_of(layer.digest)).c_str(), F_OK) != 0) needed += layer.size;
        if (needed <= free) return {};
        return system_error("{}: its layers have {}, and {} has only {} free", name_,
                            core::format_decimal({needed}), layout_.root.string(),
                            core::format_decimal({free}))
            .because(core::Cause::kNoSpace)
            .hint(full_disk_hint(layout_));
    }

    Result<> make(const Resolved& resolved) {
        BELAY_TRY(config_text, registry_.small_blob(client_, resolved.manifest.config));
        BELAY_TRY(config, core::with_context(parse_image_config(config_text), name_));
        BELAY_CHECK(check_platform(config));
        BELAY_CHECK(check_space(resolved.manifest));
        if (config.diff_ids.size() != resolved.manifest.layers.size())
            return system_error("{}: the manifest has {} layers, the configuration {}", name_,
                                resolved.manifest.layers.size(), config.diff_ids.size())
                .hint("the image was built incorrectly: build and push it again");
        BELAY_TRY(layers, fetch_layers(registry_, name_, resolved.manifest.layers, layout_, options_.fetch,
                                       *options_.clock, [this](uint64_t done, uint64_t total) {
                                           tell(ImportPhase::kDownloading, done, total);
                                       }));
        auto made = publish(resolved, config, config_text, layers);
        if (made) return made;
        core::Error error = std::move(made.error()).context(name_);
        if (!error.hint_text().empty()) return std::unexpected(std::move(error));
        if (error.cause() == core::Cause::kNoSpace)
            return std::unexpected(std::move(error).hint(full_disk_hint(layout_)));
        // Of what this machine or user lacks, the number of the system says all.
        if (error.errno_value() != 0 && error.errno_value() != EIO) return std::unexpected(std::move(error));
        return std::unexpected(std::move(error).hint(
            fmt::format("check the disk that holds {}; if it is healthy, build and push the image again",
                        layout_.root.string())));
    }

    Result<> publish(const Resolved& resolved, const ImageConfig& config, std::string_view config_text,
                     const std::vector<Layer>& layers) {
        BELAY_TRY(written, write(resolved, config, layers));
        // The sidecar first: there is an image once there is its SquashFS file.
        BELAY_TRY(sidecar, begin_file(layout_, key_, layout_.sidecar(key_)));
        BELAY_CHECK(core::write_all(sidecar.fd(),
                                    sidecar_text(resolved.digest, config_text, options_.clock->now()),
                                    layout_.sidecar(key_).string()));
        BELAY_CHECK(publish_file(layout_, std::move(sidecar)));
        return publish_file(layout_, std::move(written));
    }

    Result<core::NewFile> write(const Resolved& resolved, const ImageConfig& config,
                                const std::vector<Layer>& layers) {
        std::vector<LayerInput> inputs;
        for (size_t i = 0; i < layers.size(); ++i) {
            const Descriptor& blob = resolved.manifest.layers[i];
            std::string name = "layer " + short_digest(blob.digest);
            int fd = layers[i]->get();
            inputs.push_back(
                {.name = name,
                 .open = [fd, name]() -> Result<ByteSource> { return read_from_descriptor(fd, name); },
                 .diff_id = config.diff_ids[i],
                 .compressed_bytes = blob.size});
        }
        BELAY_TRY(out, begin_file(layout_, key_, layout_.image(key_)));
        unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, kMostWriters);
        auto open_writer = [&]() -> Result<SquashfsWriter> {
            if (ftruncate(out.fd(), 0) != 0)
                return core::errno_error(errno,
                                         fmt::format("cannot begin {} anew", layout_.image(key_).string()));
            return SquashfsWriter::create(out.fd(), layout_.image(key_).string(), threads);
        };
        BELAY_CHECK(
            write_image(inputs, options_.limits, open_writer, created_seconds(config),
                        [this](uint64_t done, uint64_t total) { tell(ImportPhase::kWriting, done, total); }));
        return out;
    }

    static uint32_t created_seconds(const ImageConfig& config) {
        if (!config.created) return 0;
        auto time = core::parse_time(*config.created);
        if (!time) return 0;
        return static_cast<uint32_t>(
            std::clamp<int64_t>(core::to_nanoseconds(*time) / 1'000'000'000, 0, UINT32_MAX));
    }

    const Reference& reference_;
    std::string name_;
    StoreLayout layout_;  // from make_store on, the part that is written to
    const StoreOptions& options_;
    const ImportProgress& progress_;
    core::fetch::HttpClient client_;
    Registry registry_;
    std::string key_;
};

}  // namespace

Result<Image> Store::import(const Reference& reference, const CredentialLookup& credentials,
                            const ImportProgress& progress) const {
    if (reference.is_file()) return local_image(reference.file);
    if (!reference.digest.empty()) {
        BELAY_TRY(found, find(reference));
        if (found) return std::move(*found);
    }
    return Importer(reference, layout_, options_, credentials, progress).run();
}

}  // namespace belay::image
