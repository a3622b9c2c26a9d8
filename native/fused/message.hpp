// MESSAGE: what an edge makes of its source's representation x and its own representation w, and the backward pass.
//
// A message works on `parts` lanes at once that belong together: RotatE's real and imaginary halves, dim / 2 apart.
// `zero_stays_zero` says that x = 0 makes the message zero, and its gradient of w too.
#pragma once

#include "simd/lanes.hpp"

namespace nbfnet::NBFNET_ISA {

// m = x + w
struct TransE {
    static constexpr int parts = 1;
    static constexpr bool zero_stays_zero = false;

    template <class V>
    static NBFNET_INLINE void message(const V (&x)[1], const V (&w)[1], V (&m)[1]) {
        m[0] = x[0] + w[0];
    }

    // Adds to dx and dw what a gradient dm of the message means for x and w.
    template <class V>
    static NBFNET_INLINE void add_gradient(const V (&)[1], const V (&)[1], const V (&dm)[1], V (&dx)[1], V (&dw)[1]) {
        dx[0] += dm[0];
        dw[0] += dm[0];
    }
};

// m = x * w
struct DistMult {
    static constexpr int parts = 1;
    static constexpr bool zero_stays_zero = true;

    template <class V>
    static NBFNET_INLINE void message(const V (&x)[1], const V (&w)[1], V (&m)[1]) {
        m[0] = x[0] * w[0];
    }

    template <class V>
    static NBFNET_INLINE void add_gradient(const V (&x)[1], const V (&w)[1], const V (&dm)[1], V (&dx)[1], V (&dw)[1]) {
        dx[0] = fused(dm[0], w[0], dx[0]);
        dw[0] = fused(dm[0], x[0], dw[0]);
    }
};

// m = x * w as complex numbers, (real, imaginary)
struct RotatE {
    static constexpr int parts = 2;
    static constexpr bool zero_stays_zero = true;

    template <class V>
    static NBFNET_INLINE void message(const V (&x)[2], const V (&w)[2], V (&m)[2]) {
        m[0] = x[0] * w[0] - x[1] * w[1];
        m[1] = x[0] * w[1] + x[1] * w[0];
    }

    template <class V>
    static NBFNET_INLINE void add_gradient(const V (&x)[2], const V (&w)[2], const V (&dm)[2], V (&dx)[2], V (&dw)[2]) {
        dx[0] = fused(dm[0], w[0], fused(dm[1], w[1], dx[0]));
        dx[1] = fused(dm[1], w[0], fused(-dm[0], w[1], dx[1]));
        dw[0] = fused(dm[0], x[0], fused(dm[1], x[1], dw[0]));
        dw[1] = fused(dm[1], x[0], fused(-dm[0], x[1], dw[1]));
    }
};

}  // namespace nbfnet::NBFNET_ISA
