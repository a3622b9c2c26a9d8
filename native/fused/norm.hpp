// What a fused iteration does to a row once it is projected: LayerNorm, ReLU and the shortcut; and the backward pass.
#pragma once

#include "fused/iteration.hpp"
#include "simd/small_matrix.hpp"

namespace nbfnet::NBFNET_ISA {

inline constexpr double norm_epsilon = 1e-5;

template <class Scalar>
class Norm {
  public:
    explicit Norm(const Layer<Scalar> &layer) : l_(layer) {}

    // out = shortcut h + ReLU(LayerNorm(y))
    void forward(const Scalar *y, const Scalar *h, Scalar *out) const {
        const Moments m = moments(y);
        each_lanes([&]<class V>(int64_t o) __attribute__((always_inline)) {
            const V z = activate<V>(y, m, o).value;
            store<V>(out + o, l_.shortcut ? z + load<V>(h + o) : z);
        });
    }

    // Turns the gradient g of out into that of y; grad_h gets the shortcut's, `sums` those of bias and norm added.
    template <class Sums>
    void backward(const Scalar *y, Scalar *g, Scalar *grad_h, Sums &sums) const {
        const Moments m = moments(y);
        each_lanes([&]<class V>(int64_t o) __attribute__((always_inline)) {
            const Activated<V> a = activate<V>(y, m, o);
            const V incoming = load<V>(g + o);
            V through = a.value > 0 ? incoming : V{};
            store<V>(grad_h + o, l_.shortcut ? incoming : V{});
            if (l_.layer_norm) {
                add<V>(sums.norm_weight.data() + o, through * a.normal);
                add<V>(sums.norm_bias.data() + o, through);
                through = through * load<V>(l_.norm_weight + o);
            }
            store<V>(g + o, through);
        });
        if (l_.layer_norm) {
            const Scalar mean = sum_over_dims([&]<class V>(int64_t o) { return load<V>(g + o); }) / l_.dim;
            const Scalar product = sum_over_dims(
                [&]<class V>(int64_t o) { return load<V>(g + o) * ((load<V>(y + o) - m.mean) * m.inverse); });
            const Scalar slope = product / l_.dim;
            each_lanes([&]<class V>(int64_t o) __attribute__((always_inline)) {
                const V normal = (load<V>(y + o) - m.mean) * m.inverse;
                store<V>(g + o, (load<V>(g + o) - mean - normal * slope) * m.inverse);
            });
        }
        each_lanes([&]<class V>(int64_t o)
                       __attribute__((always_inline)) { add<V>(sums.bias.data() + o, load<V>(g + o)); });
    }

  private:
    struct Moments {
        Scalar mean, inverse;
    };

    // Calls work<V>(dim) with whole registers, then with single numbers.
    template <class Work>
    NBFNET_INLINE void each_lanes(const Work &work) const {
        constexpr int lanes = register_lanes<Scalar>;
        int64_t o = 0;
        for (; o + lanes <= l_.dim; o += lanes) work.template operator()<Lanes<Scalar, lanes>>(o);
        for (; o < l_.dim; ++o) work.template operator()<Scalar>(o);
    }

    // The sum over all dims of term<V>(dim).
    template <class Term>
    NBFNET_INLINE Scalar sum_over_dims(const Term &term) const {
        Lanes<Scalar, register_lanes<Scalar>> wide{};
        Scalar narrow = 0;
        each_lanes([&]<class V>(int64_t o) __attribute__((always_inline)) {
            if constexpr (lane_count<V> > 1) wide += term.template operator()<V>(o);
            else narrow += term.template operator()<V>(o);
        });
        return narrow + sum_of_lanes(wide);
    }

    Moments moments(const Scalar *y) const {
        if (!l_.layer_norm) return {0, 1};
        const Scalar sum = sum_over_dims([&]<class V>(int64_t o) { return load<V>(y + o); });
        const Scalar mean = sum / l_.dim;
        const Scalar squares = sum_over_dims([&]<class V>(int64_t o) {
            const V away = load<V>(y + o) - mean;
            return away * away;
        });
        return {mean, 1 / root(squares / l_.dim + Scalar(norm_epsilon))};
    }

    template <class V>
    struct Activated {
        V normal, value;  // (y - mean) / deviation, and ReLU of its affine image
    };

    template <class V>
    NBFNET_INLINE Activated<V> activate(const Scalar *y, const Moments &m, int64_t o) const {
        V normal = load<V>(y + o), z = normal;
        if (l_.layer_norm) {
            normal = (normal - m.mean) * m.inverse;
            z = normal * load<V>(l_.norm_weight + o) + load<V>(l_.norm_bias + o);
        }
        return {normal, z < 0 ? V{} : z};  // what is not a number stays so
    }

    template <class V>
    static NBFNET_INLINE void add(Scalar *to, V value) {
        store<V>(to, load<V>(to) + value);
    }

    const Layer<Scalar> &l_;
};

}  // namespace nbfnet::NBFNET_ISA
