#include "observe/hardware/power.h"

#include "observe/hardware/hwmon.h"
#include "observe/hardware/pm_counters.h"
#include "observe/hardware/powercap.h"
#include "schema/tables/power.h"

namespace belay::observe::hardware {

namespace {

class PowerCollector : public collect::Collector {
  public:
    explicit PowerCollector(const HardwareOptions& options)
        : slow_every_(options.slow_every),
          look_every_(options.look_every),
          told_(options.on_event, schema::kPower),
          powercap_(options.sys, told_),
          hwmon_(options.sys),
          pm_counters_(options.sys, told_) {}

    const schema::Table& table() const override { return schema::kPower; }
    bool is_expected() const override {
        return powercap_.is_there() || hwmon_.is_there() || pm_counters_.is_there();
    }

    core::Result<> collect(const collect::Sample& sample, stream::Batch& rows) override {
        const bool look = ticks_ % look_every_ == 0;
        if (look) {
            powercap_.look();
            hwmon_.look();
            pm_counters_.look();
        }
        powercap_.collect(sample, rows);
        hwmon_.collect(sample, look || ticks_ % slow_every_ == 0, rows);
        pm_counters_.collect(sample, rows);
        ++ticks_;
        return {};
    }

  private:
    int slow_every_;
    int look_every_;
    int64_t ticks_ = 0;
    ToldOnce told_;
    Powercap powercap_;
    Hwmon hwmon_;
    PmCounters pm_counters_;
};

}  // namespace

std::unique_ptr<collect::Collector> make_power_collector(const HardwareOptions& options) {
    return std::make_unique<PowerCollector>(options);
}

}  // namespace belay::observe::hardware
