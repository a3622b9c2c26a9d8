// AGGREGATE: how the messages of a row, the boundary among them, become one or more statistics, and the backward pass.
//
// `Gather` sees each message once and never stores it. In the backward pass messages are seen twice: first gathered
// again, by `CountingGather`, which knows as well how many messages tie for each extremum; then `Spread` hands each its
// share of the gradient.
#pragma once

#include "simd/lanes.hpp"

namespace nbfnet::NBFNET_ISA {

// The variance under a standard deviation is at least this.
inline constexpr double least_variance = 1e-6;

// sum of m
struct Sum {
    static constexpr int statistics = 1, extrema = 0, scalers = 1;

    template <class V>
    struct Gather {
        V sum;
        NBFNET_INLINE void start(V boundary) { sum = boundary; }
        NBFNET_INLINE void add(V m) { sum += m; }
        NBFNET_INLINE void finish(ScalarOf<V>, V (&out)[1]) const { out[0] = sum; }
    };

    template <class V>
    using CountingGather = Gather<V>;

    template <class V>
    struct Spread {
        V grad;
        NBFNET_INLINE void start(ScalarOf<V>, const V (&g)[1]) { grad = g[0]; }
        NBFNET_INLINE V gradient(V) const { return grad; }
    };
};

// sum of m / number of messages
struct Mean {
    static constexpr int statistics = 1, extrema = 0, scalers = 1;

    template <class V>
    struct Gather {
        V sum;
        NBFNET_INLINE void start(V boundary) { sum = boundary; }
        NBFNET_INLINE void add(V m) { sum += m; }
        NBFNET_INLINE void finish(ScalarOf<V> messages, V (&out)[1]) const { out[0] = sum * (1 / messages); }
    };

    template <class V>
    using CountingGather = Gather<V>;

    template <class V>
    struct Spread {
        V grad;
        NBFNET_INLINE void start(ScalarOf<V> messages, const V (&g)[1]) { grad = g[0] * (1 / messages); }
        NBFNET_INLINE V gradient(V) const { return grad; }
    };
};

// The number of messages that tie for an extremum, after one more message that comes some times.
template <bool Largest, class V>
NBFNET_INLINE V count_ties(V ties, V extremum, V m, ScalarOf<V> times) {
    const V with_these = m == extremum ? ties + times : ties;
    return (Largest ? m > extremum : m < extremum) ? V{} + times : with_these;
}

// Tied messages share the gradient of an extremum equally; a message that is not a number ties with nothing.
template <class V>
struct TiedShare {
    V extremum, share;
    NBFNET_INLINE void start(V grad, V out, V ties) {
        extremum = out;
        share = grad / ties;
    }
    NBFNET_INLINE V add_gradient(V m, V grad) const { return m == extremum ? grad + share : grad; }
};

// max of m
struct Max {
    static constexpr int statistics = 1, extrema = 1, scalers = 1;

    template <class V>
    struct Gather {
        V extremum;
        NBFNET_INLINE void start(V boundary) { extremum = boundary; }
        NBFNET_INLINE void add(V m) {
            // A message that is not a number must win, and stay.
            extremum = (m > extremum) | (m != m) ? m : extremum;
        }
        NBFNET_INLINE void finish(ScalarOf<V>, V (&out)[1]) const { out[0] = extremum; }
    };

    template <class V>
    struct CountingGather : Gather<V> {
        V ties[1];
        NBFNET_INLINE void start(V boundary) {
            Gather<V>::start(boundary);
            ties[0] = V{} + 1;
        }
        NBFNET_INLINE void add(V m, ScalarOf<V> times = 1) {
            ties[0] = count_ties<true>(ties[0], this->extremum, m, times);
            Gather<V>::add(m);
        }
    };

    template <class V>
    struct Spread {
        TiedShare<V> share;
        NBFNET_INLINE void start(ScalarOf<V>, const V (&g)[1], const V (&out)[1], const V (&ties)[1]) {
            share.start(g[0], out[0], ties[0]);
        }
        NBFNET_INLINE V gradient(V m) const { return share.add_gradient(m, V{}); }
    };
};

// mean, max, min, std = sqrt(max(E[m^2] - E[m]^2, 1e-6))
struct Pna {
    static constexpr int statistics = 4, extrema = 2, scalers = 3;

    template <class V>
    struct Gather {
        V sum, squares, largest, smallest;
        NBFNET_INLINE void start(V boundary) {
            sum = largest = smallest = boundary;
            squares = boundary * boundary;
        }
        NBFNET_INLINE void add(V m) {
            sum += m;
            squares = fused(m, m, squares);
            largest = maximum(m, largest);
            smallest = minimum(m, smallest);
        }
        NBFNET_INLINE void finish(ScalarOf<V> messages, V (&out)[4]) const {
            const ScalarOf<V> inverse = 1 / messages;
            const V mean = sum * inverse, variance = squares * inverse - mean * mean;
            // The extrema overlook a message that is not a number; the mean does not.
            out[0] = mean;
            out[1] = mean != mean ? mean : largest;
            out[2] = mean != mean ? mean : smallest;
            out[3] = root(variance < V{} + ScalarOf<V>(least_variance) ? V{} + ScalarOf<V>(least_variance) : variance);
        }
    };

    template <class V>
    struct CountingGather : Gather<V> {
        V ties[2];
        NBFNET_INLINE void start(V boundary) {
            Gather<V>::start(boundary);
            ties[0] = ties[1] = V{} + 1;
        }
        NBFNET_INLINE void add(V m, ScalarOf<V> times = 1) {
            ties[0] = count_ties<true>(ties[0], this->largest, m, times);
            ties[1] = count_ties<false>(ties[1], this->smallest, m, times);
            Gather<V>::add(m);
        }
    };

    template <class V>
    struct Spread {
        TiedShare<V> largest, smallest;
        V constant, slope;  // the gradient is constant + slope * m + the shares of ties
        NBFNET_INLINE void start(ScalarOf<V> messages, const V (&g)[4], const V (&out)[4], const V (&ties)[2]) {
            largest.start(g[1], out[1], ties[0]);
            smallest.start(g[2], out[2], ties[1]);
            const ScalarOf<V> inverse = 1 / messages;
            // Below the least variance the deviation is constant, so it sends no gradient.
            const V mean = out[0], deviation = out[3];
            slope = deviation > V{} + root(ScalarOf<V>(least_variance)) ? g[3] / deviation * inverse : V{};
            constant = g[0] * inverse - slope * mean;
        }
        NBFNET_INLINE V gradient(V m) const {
            return smallest.add_gradient(m, largest.add_gradient(m, fused(slope, m, constant)));
        }
    };
};

}  // namespace nbfnet::NBFNET_ISA
