// Network interfaces, disks and mounts of a node.
#include "node.h"
#include "random.h"

#include <algorithm>

namespace belay::second_generator {

void Node::add_network(double t, double span) {
    const Work& work = job_.work;
    const double ranks = job_.ranks();
    const double neighbour =
        number_ == 0 && job_.around.neighbour_when.has(t) ? job_.around.neighbour_network * span : 0;
    // A ring passes the border of a node once, the rest stays on it.
    double between = 0, local = 0;
    if (work.over_sockets && ranks > 1) {
        const double each = load_.exchanged / job_.shape.tasks * 2 * (ranks - 1) / ranks;
        between = job_.shape.nodes > 1 ? each : 0;
        local = job_.has_gpus() ? 0 : load_.exchanged * 2 * (ranks - 1) / ranks - between;
    }
    double stored = 0;
    if (work.storage == Storage::kNfs) stored = load_.read + load_.files * 600;
    const double chatter = 4000 * span * (1 + hashed(place(11)));
    total_["rx"] += between + stored + chatter + neighbour;
    total_["tx"] += between * 1.001 + chatter * 0.8 + load_.files * 400 + neighbour * 0.3 +
                    (work.storage == Storage::kNfs ? load_.written : 0);
    total_["lo"] += std::max(0.0, local) + 200 * span;
    if (number_ == 0) total_["errors"] += job_.link_errors * span * (0.5 + hashed(place(12)));
    bool carrier = true;
    for (double at : job_.link_drops) {
        if (number_ != 0) break;
        if (at > t - span && at <= t) total_["carrier"] += 1;
        if (at + 3 > t - span && at + 3 <= t) total_["carrier"] += 1;
        carrier = carrier && !(t >= at && t < at + 3);
    }
    if (!take_) return;
    struct Interface {
        const char* name;
        const char* received;
        const char* sent;
    };
    const bool has_eth = !job_.has_gpus();
    for (const Interface& one :
         {Interface{"lo", "lo", "lo"}, Interface{has_eth ? "eth0" : "hsn0", "rx", "tx"}}) {
        const bool is_lo = std::string_view(one.name) == "lo";
        network.begin(time(t), name_);
        network.set("device", one.name);
        network.set("receive_bytes_total", whole(total_[one.received]));
        network.set("receive_packets_total", whole(total_[one.received] / 1400));
        network.set("receive_errors_total", is_lo ? 0 : whole(total_["errors"]));
        network.set("receive_dropped_total", is_lo ? 0 : whole(total_["errors"] * 0.3) + 14);
        network.set("transmit_bytes_total", whole(total_[one.sent]));
        network.set("transmit_packets_total", whole(total_[one.sent] / 1400));
        network.set("transmit_errors_total", 0);
        network.set("transmit_dropped_total", 0);
        network.set("carrier", is_lo || carrier);
        network.set("carrier_changes_total", is_lo ? 0 : whole(total_["carrier"]));
        if (!is_lo && carrier)
            network.set("link_bits_per_second",
                        static_cast<int64_t>(has_eth ? 25'000'000'000 : 200'000'000'000));
        network.set("counted_elsewhere", false);
    }
}

void Node::add_filesystem(double t, double span) {
    add_disk(t, span);
    if (take_) add_mounts(t);
}

void Node::add_disk(double t, double span) {
    const bool is_local = job_.work.storage == Storage::kLocal;
    double waited = 0;
    for (const Process& one : processes_) waited = std::max(waited, one.waiting);
    const double neighbour =
        number_ == 0 && job_.around.neighbour_when.has(t) ? job_.around.neighbour_disk * span : 0;
    double read = (is_local ? load_.read : 0) + neighbour * 0.5;
    const double written =
        40000 * span * hashed(place(13)) + (is_local ? load_.written : 0) + neighbour * 0.5;
    if (job_.pressure_when.has(t) && number_ == 0) read += job_.major_faults * span * 16384;
    const double requests = std::max(read / 131072, is_local ? load_.files : 0.0);
    total_["read"] += read;
    total_["written"] += written;
    total_["reads"] += requests;
    total_["writes"] += written / 60000;
    total_["read_s"] += requests * 0.0002 + (is_local ? waited * span : 0);
    total_["write_s"] += written / 60000 * 0.0005;
    const double busy =
        std::min(0.99 * span, requests * 0.00005 + written / 3e9 + (is_local ? waited * span : 0));
    total_["busy"] += busy;
    if (!take_) return;
    filesystem.begin(time(t), name_);
    filesystem.set("kind", "disk");
    filesystem.set("name", "nvme0n1");
    filesystem.set("read_bytes_total", whole(total_["read"] / 512) * 512);
    filesystem.set("written_bytes_total", whole(total_["written"] / 512) * 512);
    filesystem.set("reads_total", whole(total_["reads"]));
    filesystem.set("writes_total", whole(total_["writes"]));
    filesystem.set("read_seconds_total", std::floor(total_["read_s"] * 1000) / 1000);
    filesystem.set("write_seconds_total", std::floor(total_["write_s"] * 1000) / 1000);
    filesystem.set("busy_seconds_total", std::floor(total_["busy"] * 1000) / 1000);
    filesystem.set("requests_in_flight", hashed(place(14)) < busy / span ? 1 + whole(busy / span * 6) : 0);
}

void Node::add_mounts(double t) {
    const bool hangs = job_.mount_hangs && job_.mount_hangs->has(t);
    const bool full = job_.mount_full && job_.mount_full->has(t);
    const double scratch_bytes = 9.1e15;
    const bool is_lustre = job_.work.storage == Storage::kLustre;
    struct Mount {
        const char* point;
        const char* type;
        const char* source;
        double size;
        double use;
        double inodes;
    };
    const double home_use = job_.mount_use;
    const double size = is_lustre ? scratch_bytes : 2e13;
    const Mount mounts[] = {
        {"/", "ext4", "/dev/nvme0n1p2", 4.7e11, 0.31, 2.9e7},
        {"/dev/shm", "tmpfs", "tmpfs", job_.shape.memory / 2, 0.0002, job_.shape.memory / 8192},
        {"/scratch", is_lustre ? "lustre" : "nfs4", is_lustre ? "10.0.0.1@o2ib:/scratch" : "filer:/scratch",
         size, full ? 1 : home_use, 4e9},
    };
    for (const Mount& mount : mounts) {
        const bool is_scratch = std::string_view(mount.point) == "/scratch";
        filesystem.begin(time(t), name_);
        filesystem.set("kind", "mount");
        filesystem.set("name", mount.point);
        filesystem.set("type", mount.type);
        filesystem.set("source", mount.source);
        filesystem.set("responsive", !(is_scratch && hangs));
        filesystem.set("read_only", false);
        if (is_scratch && hangs) continue;
        // What it fills while its end comes near.
        double use = mount.use;
        if (is_scratch && job_.mount_full && !full)
            use = home_use + (1 - home_use) *
                                 std::pow(std::min(1.0, t / std::max(1.0, job_.mount_full->from)), 3.0) *
                                 0.98;
        const double free = mount.size * (1 - use) * (use < 1 ? 1 + 1e-6 * noise(15) : 1);
        filesystem.set("size_bytes", whole(mount.size / 4096) * 4096);
        filesystem.set("free_bytes", whole(std::max(0.0, free) / 4096) * 4096);
        filesystem.set("available_bytes", whole(std::max(0.0, free * 0.98) / 4096) * 4096);
        filesystem.set("inodes_total", whole(mount.inodes));
        filesystem.set("inodes_free", whole(mount.inodes * 0.7));
    }
}

}  // namespace belay::second_generator
