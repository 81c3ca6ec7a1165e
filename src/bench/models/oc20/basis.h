// The functions of distances and angles that DimeNet++ looks at. Source: Gasteiger, Groß, Günnemann,
// "Directional message passing for molecular graphs", 2020, section 5; norms as in torch_geometric.
#pragma once

#include <span>
#include <vector>

namespace belay::bench::oc20 {

// Spherical Bessel functions of the first kind j_0 to j_(n-1) at x > 0.
void spherical_bessel(double x, std::span<double> values);

// The first `count` positive zeros of j_0 to j_(orders-1): [order][number].
std::vector<std::vector<double>> bessel_zeros(int orders, int count);

struct Value {
    double value = 0, slope = 0;
};

// u(x) = 1/x + a x^(p-1) + b x^p + c x^(p+1), p = exponent + 1, which falls to 0 at x = 1 with its first and second
// derivatives; a = -(p+1)(p+2)/2, b = p(p+2), c = -p(p+1)/2 (equation 8, divided by x).
struct Envelope {
    explicit Envelope(int exponent);
    Value at(double x) const;
    double p, a, b, c;
};

// The product of a radial and an angular part, [order][number]:
//   u(d/cutoff) sqrt(2) / |j_(l+1)(z_ln)| j_l(z_ln d/cutoff)  and  sqrt((2l+1)/4pi) P_l(cos angle),
// where z_ln is the n-th zero of j_l and P_l a Legendre polynomial.
class SphericalBasis {
  public:
    SphericalBasis(double cutoff, int orders, int numbers);

    int orders() const { return orders_; }
    int numbers() const { return numbers_; }
    // Of 0 < distance <= cutoff; values and slopes by distance have orders x numbers.
    void radial(double distance, std::span<double> values, std::span<double> slopes) const;
    // Values and slopes by the cosine have as many as there are orders.
    void angular(double cosine, std::span<double> values, std::span<double> slopes) const;

  private:
    double cutoff_;
    int orders_, numbers_;
    Envelope envelope_;
    std::vector<std::vector<double>> zeros_, norms_;
};

}  // namespace belay::bench::oc20
