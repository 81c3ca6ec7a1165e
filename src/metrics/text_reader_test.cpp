#include "metrics/text_reader.h"

#include "core/utf8.h"
#include "metrics/number_text.h"
#include "metrics/text_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace belay::metrics {
namespace {

using ::testing::HasSubstr;

// Families of all types with any values and any bytes in labels and helps, whose names fit their types.
class AnyFamilies {
  public:
    explicit AnyFamilies(uint64_t seed) : random_(seed) {}

    std::vector<Family> families() {
        std::vector<Family> all(below(5));
        for (size_t i = 0; i < all.size(); ++i) {
            Family& family = all[i];
            family.type = kMetricTypes[below(std::size(kMetricTypes))].type;
            family.unit = family.type != MetricType::kInfo && below(2) == 0 ? "seconds" : "";
            family.name = fmt::format("belay_f{}{}{}", i, family.unit.empty() ? "" : "_seconds",
                                      row_of(family.type).suffix);
            if (below(2) == 0) family.help = bytes();
            for (size_t series = below(4); series > 0; --series) add_series(family, series);
        }
        return all;
    }

  private:
    size_t below(size_t limit) { return static_cast<size_t>(random_() % limit); }

    std::string bytes() {
        static constexpr std::string_view kOften[] = {"\\",      "\"",       "\n",   "n",  "}", ",",
                                                      "# EOF\n", "\xc3\xa9", "\xff", "le", " "};
        std::string out;
        for (size_t left = below(12); left > 0; --left)
            out += below(3) == 0 ? std::string(1, static_cast<char>(below(256)))
                                 : std::string(kOften[below(std::size(kOften))]);
        return out;
    }

    double number(MetricType type) {
        if (type == MetricType::kInfo) return 1;
        const auto value =
            below(3) == 0 ? static_cast<double>(below(1000)) / 8 : std::bit_cast<double>(random_());
        if (type != MetricType::kCounter) return value;
        return std::isnan(value) ? 0 : std::abs(value);
    }

    Histogram histogram() {
        Histogram out{.bounds = {}, .counts = {below(10)}, .sum = {}};
        double bound = below(2) == 0 ? -1.5 : 0.25;
        for (size_t left = below(4); left > 0; --left, bound += 0.5) {
            out.bounds.push_back(bound);
            out.counts.push_back(out.counts.back() + random_() % (uint64_t{1} << 60));
        }
        if (below(2) == 0 && (out.bounds.empty() || out.bounds.front() > 0))
            out.sum = number(MetricType::kCounter);
        return out;
    }

    // Label c makes the series of a family differ.
    void add_series(Family& family, size_t series) {
        Labels labels{{"a", bytes()}, {"B_2", bytes()}, {"c", std::to_string(series)}};
        std::ranges::shuffle(labels, random_);
        auto value = [&]() -> std::variant<double, Histogram> {
            if (family.type == MetricType::kHistogram) return histogram();
            return number(family.type);
        };
        if (below(3) == 0) return family.samples.push_back({labels, value(), {}});
        int64_t time = static_cast<int64_t>(random_() >> 2) * (below(2) == 0 ? 1 : -1);
        for (size_t left = 1 + below(3); left > 0;
             --left, time += 1 + static_cast<int64_t>(below(2'000'000'000)))
            family.samples.push_back({labels, value(), core::time_from_nanoseconds(time)});
    }

    std::mt19937_64 random_;
};

bool same_value(const std::variant<double, Histogram>& a, const std::variant<double, Histogram>& b) {
    const auto* left = std::get_if<double>(&a);
    const auto* right = std::get_if<double>(&b);
    if (left == nullptr || right == nullptr) return a == b;
    return (std::isnan(*left) && std::isnan(*right)) ||
           std::bit_cast<uint64_t>(*left) == std::bit_cast<uint64_t>(*right);
}

// What a reader can know of labels: their order stays.
Labels as_written(const Labels& labels) {
    Labels out;
    for (const Label& label : labels)
        if (!label.value.empty()) out.push_back({label.name, core::to_valid_utf8(label.value)});
    return out;
}

void expect_same(const std::vector<Family>& wrote, const std::vector<Family>& read, TextForm form) {
    ASSERT_EQ(wrote.size(), read.size());
    for (size_t i = 0; i < wrote.size(); ++i) {
        EXPECT_EQ(wrote[i].name, read[i].name);
        EXPECT_EQ(wrote[i].type, read[i].type);
        EXPECT_EQ(form == TextForm::kOpenMetrics ? wrote[i].unit : "", read[i].unit);
        EXPECT_EQ(core::to_valid_utf8(wrote[i].help), read[i].help);
        ASSERT_EQ(wrote[i].samples.size(), read[i].samples.size());
        for (size_t j = 0; j < wrote[i].samples.size(); ++j) {
            const Sample& one = wrote[i].samples[j];
            const Sample& other = read[i].samples[j];
            EXPECT_EQ(as_written(one.labels), other.labels);
            EXPECT_TRUE(same_value(one.value, other.value)) << wrote[i].name;
            if (form == TextForm::kOpenMetrics || !one.time) {
                EXPECT_EQ(one.time, other.time);
            } else
                EXPECT_EQ(time_of_milliseconds(milliseconds_of(*one.time)), other.time);
        }
    }
}

TEST(metrics, what_is_written_is_read_as_the_same_samples) {
    for (uint64_t seed = 0; seed < 400; ++seed) {
        std::vector<Family> families = AnyFamilies(seed).families();
        for (TextForm form : {TextForm::kOpenMetrics, TextForm::kPrometheus}) {
            if (form == TextForm::kPrometheus) keep_newest(families);
            auto text = encode_text(families, form);
            ASSERT_TRUE(text) << text.error().render() << "seed " << seed;
            auto read = read_text(*text, form);
            ASSERT_TRUE(read) << read.error().render() << "seed " << seed << "\n" << *text;
            expect_same(families, *read, form);
        }
        if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

TEST(metrics, a_text_that_was_cut_off_or_changed_is_refused) {
    const std::string whole = encode_text(AnyFamilies(3).families(), TextForm::kOpenMetrics).value();
    for (size_t size = 0; size < whole.size(); ++size)
        EXPECT_FALSE(read_text(whole.substr(0, size), TextForm::kOpenMetrics)) << size;
    EXPECT_FALSE(read_text(whole + "\n", TextForm::kOpenMetrics));
    EXPECT_FALSE(read_text(whole + whole, TextForm::kOpenMetrics));
}

struct WrongText {
    const char* text;
    const char* why;
};

TEST(metrics, the_reader_takes_nothing_else) {
    const WrongText cases[] = {
        {"", "# EOF is missing"},
        {"# EOF", "line 1: it does not end"},
        {"# EOF\n\n", "line 2: something comes after"},
        {"\n# EOF\n", "line 1: neither a sample"},
        {"belay_x 1\n# EOF\n", "line 1: a sample without the type"},
        {"# TYPE belay_x gauge \n# EOF\n", "line 1: \"gauge \" is not a type"},
        {"# TYPE belay_x summary\n# EOF\n", "line 1: \"summary\" is not a type"},
        {"# TYPE belay_x gauge\nbelay_x  1\n# EOF\n", "line 2: "},
        {"# TYPE belay_x gauge\nbelay_x 1.0\n# EOF\n", "line 2: \"1.0\" is not a number"},
        {"# TYPE belay_x gauge\nbelay_x 1 1.0\n# EOF\n", "line 2: \"1.0\" is not a time"},
        {"# TYPE belay_x gauge\nbelay_x 1 1 # {} 1\n# EOF\n", "line 2: \"1 # {} 1\" is not a time"},
        {"# TYPE belay_x gauge\nbelay_x{} 1\n# EOF\n", "line 2: a label that does not end"},
        {"# TYPE belay_x gauge\nbelay_x{a=\"1\",} 1\n# EOF\n", "line 2: a label that does not end"},
        {"# TYPE belay_x gauge\nbelay_x{a=\"1} 1\n# EOF\n", "line 2: a label that does not end"},
        {"# TYPE belay_x gauge\nbelay_x{a=\"1\"\n# EOF\n", "line 2: labels that do not end"},
        {"# TYPE belay_x gauge\nbelay_x{a=\"1\"}\n# EOF\n", "line 2: a sample without a value"},
        {"# TYPE belay_x gauge\nbelay_x{a=\"\\q\"} 1\n# EOF\n", "line 2: not as Belay writes it"},
        {"# TYPE belay_x gauge\nbelay_x{a=\"\xff\"} 1\n# EOF\n", "line 2: not as Belay writes it"},
        {"# TYPE belay_x gauge\nbelay_x{le=\"1.0\"} 1\n# EOF\n", "line 2: a sample of"},
        {"# TYPE belay_x gauge\nbelay_y 1\n# EOF\n", "line 2: a sample of \"belay_y\""},
        {"# TYPE belay_x gauge\nbelay_x{__name__=\"y\"} 1\n# EOF\n", "__ at the start"},
        {"# TYPE belay_x gauge\nbelay_x{a=\"1\",a=\"2\"} 1\n# EOF\n", "twice"},
        {"# TYPE belay_x gauge\n# TYPE belay_x gauge\n# EOF\n", "two families"},
        {"# TYPE belay_x gauge\n# HELP belay_y z\n# EOF\n", "line 2: it describes \"belay_y\""},
        {"# TYPE belay_x gauge\n# HELP belay_x z\n# UNIT belay_x x\n# EOF\n",
         "line 2: not as Belay writes it"},
        {"# TYPE belay_x_total counter\nbelay_x_total 1\n# EOF\n", "line 2: a sample of"},
        {"# TYPE belay_x counter\nbelay_x_total -1\n# EOF\n", "a counter cannot be -1"},
        {"# TYPE belay_x info\nbelay_x_info 2\n# EOF\n", "the value of an info is 1"},
        {"# TYPE belay_x histogram\nbelay_x_bucket{le=\"1.0\"} 1\n# EOF\n", "1 bounds need 2 counts"},
        {"# TYPE belay_x histogram\nbelay_x_bucket{le=\"+Inf\"} 1.5\n# EOF\n", "a bucket without"},
        {"# TYPE belay_x histogram\nbelay_x_count 1\n# EOF\n", "a part of a histogram without"},
        {"# TYPE belay_x histogram\nbelay_x_bucket{le=\"+Inf\"} 1\nbelay_x_sum 1\n# EOF\n", "line 3: not as"},
        {"# TYPE belay_x histogram\nbelay_x_bucket{le=\"+Inf\"} 1\nbelay_x_count 2\nbelay_x_sum 1\n# EOF\n",
         "line 3: not as"},
        {"# comment\n# EOF\n", "line 1: not a line"},
    };
    for (const WrongText& one : cases) {
        auto read = read_text(one.text, TextForm::kOpenMetrics);
        ASSERT_FALSE(read) << one.text;
        EXPECT_THAT(read.error().message(), HasSubstr(one.why)) << one.text;
        EXPECT_EQ(read.error().kind(), core::ErrorKind::kBadInput);
    }
    for (const char* text :
         {"# HELP belay_x y\n", "# HELP belay_x y\n# TYPE belay_y gauge\n", "# EOF\n",
          "# HELP belay_x y\nbelay_x 1\n", "# TYPE belay_x gauge\n# UNIT belay_x x\n",
          "# TYPE belay_x gauge\nbelay_x 1 1.5\n", "# TYPE belay_x gauge\nbelay_x 1 9223372036854775807\n"})
        EXPECT_FALSE(read_text(text, TextForm::kPrometheus)) << text;
}

}  // namespace
}  // namespace belay::metrics
