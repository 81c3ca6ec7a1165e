#include "random.h"
#include "reports.h"

#include <algorithm>

#include <fmt/format.h>

namespace belay::second_generator {

namespace {

double loss_at(const Job& job, double step, double t) {
    const Loss& loss = job.loss;
    double at = step;
    if (t > loss.learns_until && t > 0) at = step * loss.learns_until / t;
    double value = loss.start;
    if (!loss.never_learns)
        value = loss.floor + (loss.start - loss.floor) * std::pow(1 + at / 20, -loss.exponent);
    if (t >= loss.grows_from) value *= std::exp(loss.growth * (t - loss.grows_from));
    if (std::abs(t - loss.spike_at) < 4) value *= 1.8;
    return value * (1 + loss.noise * hashed_normal(job.seed + 77, static_cast<uint64_t>(step)));
}

class Printer {
  public:
    Printer(Columns& rows, const Job& job, const Timeline& timeline, const Node& node, int rank)
        : rows_(rows), job_(job), timeline_(timeline), node_(node), rank_(rank) {
        total_ = whole(static_cast<double>(timeline.steps.size()) * job.total_steps_factor);
        if (timeline.how != End::kCompleted && job.total_steps_factor == 1)
            total_ = whole(static_cast<double>(total_) * 1.7) + 50;
    }

    void print_all() {
        size_t evaluated = 0;
        for (size_t i = 0; i < timeline_.steps.size(); ++i) {
            const Step& step = timeline_.steps[i];
            while (evaluated < timeline_.evaluations.size() &&
                   timeline_.evaluations[evaluated].end <= step.end)
                print_evaluation(timeline_.evaluations[evaluated++], i);
            if ((i + 1) % static_cast<size_t>(job_.report.every) == 0) print_step(i, step);
        }
    }

  private:
    void begin(double t, const char* source, const char* kind) {
        rows_.begin(node_.time(t + 0.004 * hashed(job_.seed + 3, whole(t * 1000))), node_.name());
        if (job_.shape.in_slurm) rows_.set("task", rank_);
        rows_.set("source", source);
        rows_.set("kind", kind);
    }

    void print_evaluation(const Step& evaluation, size_t steps) {
        if (job_.report.format != Format::kMllog) return;
        begin(evaluation.end, "mllog", "evaluation");
        rows_.set("key", "eval_accuracy");
        rows_.set("step", static_cast<int64_t>(steps));
        rows_.set("metric",
                  1 - 0.8 * loss_at(job_, static_cast<double>(steps), evaluation.end) / job_.loss.start);
    }

    // Over the steps since the last line, as most programs print it.
    double mean_seconds(size_t last) const {
        const size_t count = std::min(last + 1, static_cast<size_t>(job_.report.every));
        double sum = 0;
        for (size_t i = 0; i < count; ++i) sum += timeline_.steps[last - i].seconds;
        return sum / static_cast<double>(count);
    }

    void set_loss(double t, double step) {
        if (t >= job_.loss.nan_from) {
            rows_.set("text", R"({"loss":"NaN"})");
            return;
        }
        rows_.set("loss", std::round(loss_at(job_, step, t) * 1e4) / 1e4);
    }

    double gradient_norm(double t, double step) const {
        double norm = 0.4 + 2 * std::pow(1 + step / 10, -0.4);
        if (t >= job_.loss.grows_from) norm *= std::exp(1.4 * job_.loss.growth * (t - job_.loss.grows_from));
        return std::round(norm * (1 + 0.1 * hashed_normal(job_.seed + 9, whole(step))) * 1e3) / 1e3;
    }

    void print_step(size_t i, const Step& step) {
        const double number = static_cast<double>(i + 1);
        const double seconds = mean_seconds(i);
        const int64_t each = job_.report.steps_each_epoch;
        const double epoch = std::floor(static_cast<double>(i) / static_cast<double>(each));
        const double rate =
            std::max(1e-5, 3e-4 * (1 - 0.9 * number / std::max(1.0, static_cast<double>(total_))));
        const double batch = 32.0 * job_.ranks();
        const bool is_number = step.end < job_.loss.nan_from;
        const Format format = job_.report.format;
        begin(step.end, format == Format::kMllog ? "mllog" : "pattern", "train");
        switch (format) {
            case Format::kMegatron:
                rows_.set("step", static_cast<int64_t>(i + 1));
                rows_.set("total_steps", total_);
                set_loss(step.end, number);
                rows_.set("learning_rate", rate);
                if (is_number) rows_.set("gradient_norm", gradient_norm(step.end, number));
                rows_.set("step_seconds", std::round(seconds * 1e4) / 1e4);
                break;
            case Format::kTorchtitan:
                rows_.set("step", static_cast<int64_t>(i + 1));
                set_loss(step.end, number);
                if (is_number) rows_.set("gradient_norm", gradient_norm(step.end, number));
                rows_.set("tokens_per_second", std::round(batch * 2048 / seconds / job_.ranks()));
                break;
            case Format::kHuggingFace:
                rows_.set("epoch", std::round(number / static_cast<double>(each) * 100) / 100);
                set_loss(step.end, number);
                rows_.set("learning_rate", rate);
                if (is_number) rows_.set("gradient_norm", gradient_norm(step.end, number));
                break;
            case Format::kNanogpt:
                rows_.set("step", static_cast<int64_t>(i + 1));
                set_loss(step.end, number);
                rows_.set("step_seconds", std::round(seconds * 1e5) / 1e5);
                break;
            case Format::kImagenet:
                // Its steps are counted anew in each epoch.
                rows_.set("epoch", epoch);
                rows_.set("step", static_cast<int64_t>(i) % each);
                set_loss(step.end, number);
                break;
            case Format::kMllog:
                rows_.set("key", "tracked_stats");
                rows_.set("epoch", epoch + 1);
                rows_.set("step", static_cast<int64_t>(i + 1));
                set_loss(step.end, number);
                rows_.set("samples_per_second", std::round(batch / seconds * 10) / 10);
                break;
            case Format::kSteps:
                rows_.set("step", static_cast<int64_t>(i + 1));
                rows_.set("total_steps", total_);
                set_loss(step.end, number);
                break;
        }
    }

    Columns& rows_;
    const Job& job_;
    const Timeline& timeline_;
    const Node& node_;
    int rank_;
    int64_t total_ = 0;
};

}  // namespace

void add_progress(Columns& rows, const Job& job, const Timeline& timeline, const Node& node, int rank) {
    if (!job.report.exists || (rank > 0 && !job.report.all_ranks)) return;
    Printer(rows, job, timeline, node, rank).print_all();
}

}  // namespace belay::second_generator
