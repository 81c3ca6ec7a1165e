#include "bench/models/deepcam/climate.h"

#include "bench/models/deepcam/profile.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <thread>

#include <gmock/gmock.h>

namespace belay::bench::deepcam {
namespace {

const Shape kImage = {.channels = 4, .height = 64, .width = 96};

struct Climate {
    std::vector<float> values;
    std::vector<uint8_t> mask;
    bool operator==(const Climate&) const = default;
};

Climate make(ClimateGenerator& generator, const Shape& image, Split split, uint32_t index) {
    const auto cells = static_cast<size_t>(image.cells());
    Climate climate{std::vector<float>(cells * static_cast<size_t>(image.channels)),
                    std::vector<uint8_t>(cells)};
    generator.make(split, index, climate.values, climate.mask);
    return climate;
}

double mean_where(const Climate& climate, size_t channel, uint8_t wanted) {
    double sum = 0, count = 0;
    for (size_t cell = 0; cell < climate.mask.size(); ++cell)
        if (climate.mask[cell] == wanted) {
            sum += climate.values[channel * climate.mask.size() + cell];
            ++count;
        }
    return count > 0 ? sum / count : 0;
}

TEST(bench_climate, is_the_same_in_any_order_and_thread) {
    ClimateGenerator forwards(kImage, 7);
    std::vector<Climate> first, second(3);
    for (uint32_t index : {0U, 1U, 2U}) first.push_back(make(forwards, kImage, Split::kTrain, index));
    std::jthread([&] {
        ClimateGenerator backwards(kImage, 7);
        for (uint32_t index : {2U, 1U, 0U}) second[index] = make(backwards, kImage, Split::kTrain, index);
    }).join();
    EXPECT_TRUE(first == second);
    EXPECT_FALSE(first[0] == first[1]);
    EXPECT_FALSE(first[0] == make(forwards, kImage, Split::kEval, 0));
    ClimateGenerator other(kImage, 8);
    EXPECT_FALSE(first[0] == make(other, kImage, Split::kTrain, 0));
}

TEST(bench_climate, events_have_the_stated_sizes) {
    ClimateGenerator generator(kImage, 1);
    double rivers = 0, cyclones = 0;
    constexpr int kClimates = 400;
    for (uint32_t index = 0; index < kClimates; ++index) {
        const Events events = generator.events(Split::kTrain, index);
        rivers += static_cast<double>(events.rivers.size());
        cyclones += static_cast<double>(events.cyclones.size());
        for (const River& river : events.rivers) {
            ASSERT_GE(river.path.size(), 31U);
            ASSERT_LE(river.path.size(), 61U);
            ASSERT_GE(river.width, 1.5);
            ASSERT_LE(river.width, 3);
            for (size_t i = 1; i < river.path.size(); ++i)
                ASSERT_NEAR(
                    std::hypot(river.path[i].x - river.path[i - 1].x, river.path[i].y - river.path[i - 1].y),
                    1, 1e-9);
        }
        for (const Cyclone& cyclone : events.cyclones) {
            ASSERT_GE(cyclone.radius, 2.5);
            ASSERT_LE(cyclone.radius, 5);
            ASSERT_GE(cyclone.strength, 2);
            ASSERT_LE(cyclone.strength, 3.5);
        }
    }
    EXPECT_NEAR(rivers / kClimates, 1.5, 0.1);
    EXPECT_NEAR(cyclones / kClimates, 2, 0.15);
}

// Beside the same climate without events, which is what the weather of a channel that nothing marks would be.
TEST(bench_climate, mask_marks_the_cells_of_the_events) {
    ClimateGenerator generator(kImage, 3);
    for (uint32_t index = 0; index < 20; ++index) {
        const Climate climate = make(generator, kImage, Split::kTrain, index);
        const Events events = generator.events(Split::kTrain, index);
        for (int y = 0; y < kImage.height; ++y)
            for (int x = 0; x < kImage.width; ++x) {
                uint8_t expected = kBackground;
                for (const River& river : events.rivers)
                    for (const Point& point : river.path)
                        if (std::hypot(x - point.x, y - point.y) < 1.2 * river.width) expected = kRiver;
                for (const Cyclone& cyclone : events.cyclones)
                    if (std::hypot(x - cyclone.centre.x, y - cyclone.centre.y) < 1.5 * cyclone.radius)
                        expected = kCyclone;
                ASSERT_EQ(climate.mask[static_cast<size_t>(y * kImage.width + x)], expected) << x << " " << y;
            }
    }
}

TEST(bench_climate, pressure_is_low_in_cyclones_and_moisture_high_in_rivers) {
    ClimateGenerator generator(kImage, 5);
    double pressure = 0, moisture = 0, outside = 0;
    constexpr int kClimates = 64;
    for (uint32_t index = 0; index < kClimates; ++index) {
        const Climate climate = make(generator, kImage, Split::kTrain, index);
        pressure += mean_where(climate, kPressure, kCyclone) / kClimates;
        moisture += mean_where(climate, kMoisture, kRiver) / kClimates;
        outside += std::fabs(mean_where(climate, kMoisture, kBackground)) / kClimates;
    }
    // A times the mean of exp(-s^2 / 2) over the marked cells: 2.75 * 0.60 in a disc of 1.5 r, 2.75 * 0.80 in a band.
    EXPECT_NEAR(pressure, -1.65, 0.4);
    EXPECT_NEAR(moisture, 2.2, 0.4);
    EXPECT_LT(outside, 0.4);
}

// Where a cyclone turns, the wind blows along (-dy, dx).
TEST(bench_climate, wind_turns_around_cyclones) {
    ClimateGenerator generator(kImage, 6);
    double along = 0, outward = 0, count = 0;
    for (uint32_t index = 0; index < 64; ++index) {
        const Climate climate = make(generator, kImage, Split::kEval, index);
        for (const Cyclone& cyclone : generator.events(Split::kEval, index).cyclones)
            for (int turn = 0; turn < 8; ++turn) {
                const double angle = turn * std::numbers::pi / 4;
                const double x = std::round(cyclone.centre.x + cyclone.radius * std::cos(angle)),
                             y = std::round(cyclone.centre.y + cyclone.radius * std::sin(angle));
                if (x < 0 || y < 0 || x >= kImage.width || y >= kImage.height) continue;
                const size_t cell = static_cast<size_t>(y) * 96 + static_cast<size_t>(x);
                const float east = climate.values[kEastWind * climate.mask.size() + cell];
                const float north = climate.values[kNorthWind * climate.mask.size() + cell];
                along += -std::sin(angle) * east + std::cos(angle) * north;
                outward += std::cos(angle) * east + std::sin(angle) * north;
                ++count;
            }
    }
    EXPECT_NEAR(along / count, 2.75, 0.4);
    EXPECT_NEAR(outward / count, 0, 0.4);
}

// A wide image has hundreds of waves; the power of those of wave number 9 to that of 3 is 3^-3.
TEST(bench_climate, weather_has_the_stated_spectrum) {
    const Shape image = {.channels = 6, .height = 48, .width = 48};  // the last two channels are weather only
    ClimateGenerator generator(image, 11);
    double low = 0, high = 0, variance = 0;
    constexpr int kClimates = 40;
    for (uint32_t index = 0; index < kClimates; ++index) {
        const Climate climate = make(generator, image, Split::kTrain, index);
        const float* field = climate.values.data() + kMarkedChannels * climate.mask.size();
        auto power = [&](int wave) {
            std::complex<double> rows, columns;
            for (int y = 0; y < 48; ++y)
                for (int x = 0; x < 48; ++x) {
                    const double value = field[y * 48 + x];
                    rows += value * std::polar(1.0, 2 * std::numbers::pi * wave * x / 48);
                    columns += value * std::polar(1.0, 2 * std::numbers::pi * wave * y / 48);
                }
            return std::norm(rows) + std::norm(columns);
        };
        low += power(3);
        high += power(9);
        for (int cell = 0; cell < 48 * 48; ++cell) variance += field[cell] * field[cell];
    }
    EXPECT_NEAR(variance / kClimates / (48 * 48), 1, 1e-5);
    EXPECT_NEAR(std::log(high / low), -3 * std::log(3.0), 0.5);
}

TEST(bench_climate, classes_are_as_frequent_as_the_profile_says) {
    const Size mini = *size_named("mini");
    ClimateGenerator generator(mini.image, 1);
    std::array<double, kClasses> seen{};
    constexpr int kClimates = 512;
    for (uint32_t index = 0; index < kClimates; ++index)
        for (uint8_t mark : make(generator, mini.image, Split::kTrain, index).mask) ++seen[mark];
    const double cells = kClimates * 64.0 * 96.0;
    for (size_t i = 0; i < seen.size(); ++i)
        EXPECT_NEAR(seen[i] / cells, mini.class_frequencies[i], 0.1 * mini.class_frequencies[i]) << i;
}

TEST(bench_fft2, equals_the_sum_it_stands_for) {
    constexpr size_t kHeight = 6, kWidth = 12;
    RandomStream random(9, Split::kTrain, 0, 0);
    std::vector<std::complex<double>> image(kHeight * kWidth);
    for (auto& value : image) value = {random.next_uniform() - 0.5, random.next_uniform() - 0.5};
    auto fast = image;
    Fft2(kHeight, kWidth).inverse(fast);
    for (size_t y = 0; y < kHeight; ++y)
        for (size_t x = 0; x < kWidth; ++x) {
            std::complex<double> sum = 0;
            for (size_t j = 0; j < kHeight; ++j)
                for (size_t k = 0; k < kWidth; ++k)
                    sum += image[j * kWidth + k] * std::polar(1.0, 2 * std::numbers::pi *
                                                                       (static_cast<double>(j * y) / kHeight +
                                                                        static_cast<double>(k * x) / kWidth));
            ASSERT_NEAR(std::abs(fast[y * kWidth + x] - sum), 0, 1e-12) << y << " " << x;
        }
}

}  // namespace
}  // namespace belay::bench::deepcam
