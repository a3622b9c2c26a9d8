// The inner loops of the generalized Bellman-Ford iteration: included once by each path_loops_ISA.cpp. Uses no library
// code, so that nothing compiled for a newer processor is shared with the rest.
#pragma once

#include "paths/path_edges.hpp"
#include "paths/path_semirings.hpp"

namespace nbfnet::NBFNET_ISA {

// The values of one row: one double, or one or two cache lines.
template <class Part_, int parts_>
struct PathRow {
    using Part = Part_;
    static constexpr int parts = parts_;
    static constexpr int width = parts * static_cast<int>(sizeof(Part) / sizeof(double));
    Part part[parts];
};

// Threads that improve one panel in place read what others write: a relaxed load or store of one double.
template <bool shared>
inline double read(const double &place) {
    if constexpr (shared) {
        double value;
        __atomic_load(&place, &value, __ATOMIC_RELAXED);
        return value;
    } else {
        return place;
    }
}

template <class S, class V, bool weighted>
struct Loops {
    // Only a panel of one lane is ever shared between threads.
    static constexpr bool shared = V::width == 1 && S::idempotent;

    using Part = typename V::Part;
    using Same = typename Mask<Part>::type;

    static bool equal(const V &one, const V &other) {
        Same same = one.part[0] == other.part[0];
        for (int p = 1; p < V::parts; ++p) same &= one.part[p] == other.part[p];
        return all(same);
    }

    // Whether every lane changed by at most a share of its new value; NaN never did.
    static bool close(const V &next, const V &now, double tolerance) {
        Same same{};
        for (int p = 0; p < V::parts; ++p) {
            const Part change = next.part[p] - now.part[p];
            const Part limit = (next.part[p] < 0 ? -next.part[p] : next.part[p]) * tolerance;
            const Same here = (change <= limit) & (-change <= limit);
            same = p == 0 ? here : same & here;
        }
        return all(same);
    }

    static double factor(const PathEdges &edges, int64_t row) {
        return edges.factor ? edges.factor[row] : edges.uniform;
    }

    static double message(const PathEdges &edges, const V *now, int64_t slot) {
        double value = read<shared>(now[edges.source[slot]].part[0]);
        if constexpr (weighted) S::multiply(value, edges.weight[slot]);
        return value;
    }

    // The sum of now * w over the in-edges of a row.
    static V gather(const PathEdges &edges, int64_t row, const V *now) {
        int64_t slot = edges.begin[row];
        const int64_t end = edges.begin[row + 1];
        V sum;
        for (int p = 0; p < V::parts; ++p) spread(S::zero, sum.part[p]);
        if constexpr (V::width == 1) {
            if (end - slot >= 8) {  // independent sums, for a sum has to wait for its last addition
                double second = S::zero, third = S::zero, fourth = S::zero;
                for (; slot + 4 <= end; slot += 4) {
                    S::add(sum.part[0], message(edges, now, slot));
                    S::add(second, message(edges, now, slot + 1));
                    S::add(third, message(edges, now, slot + 2));
                    S::add(fourth, message(edges, now, slot + 3));
                }
                S::add(sum.part[0], second);
                S::add(third, fourth);
                S::add(sum.part[0], third);
            }
            for (; slot < end; ++slot) S::add(sum.part[0], message(edges, now, slot));
            S::multiply(sum.part[0], factor(edges, row));
        } else {
            for (; slot < end; ++slot) {
                const V &value = now[edges.source[slot]];
                for (int p = 0; p < V::parts; ++p) {
                    Part part = value.part[p];
                    if constexpr (weighted) S::multiply(part, edges.weight[slot]);
                    S::add(sum.part[p], part);
                }
            }
            for (int p = 0; p < V::parts; ++p) S::multiply(sum.part[p], factor(edges, row));
        }
        return sum;
    }

    static int64_t pull(const PathEdges &edges, const Boundary &boundary, int64_t first, int64_t last,
                        const double *now_, double *next_, uint8_t *changed, double tolerance) {
        const V *now = reinterpret_cast<const V *>(now_);
        V *next = reinterpret_cast<V *>(next_);
        if constexpr (S::idempotent) {
            // The old value holds the boundary, and every shorter path: it joins instead of the boundary.
            int64_t total = 0;
            for (int64_t row = first; row < last; ++row) {
                V sum = gather(edges, row, now);
                for (int p = 0; p < V::parts; ++p) S::add(sum.part[p], now[row].part[p]);
                const bool differs = !equal(sum, now[row]);
                if constexpr (shared) {
                    __atomic_store(&next[row].part[0], &sum.part[0], __ATOMIC_RELAXED);
                } else {
                    next[row] = sum;
                }
                changed[row] = differs;
                total += differs;
            }
            return total;
        } else {
            int32_t i = 0;
            while (boundary.row[i] < first) ++i;
            int64_t total = 0;
            for (int64_t row = first; row < last; ++row) {
                const int64_t stop = boundary.row[i] < last ? boundary.row[i] : last;
                for (; row < stop; ++row) {
                    const V sum = gather(edges, row, now);
                    total += !close(sum, now[row], tolerance);
                    next[row] = sum;
                }
                if (row == last) break;
                V sum = gather(edges, row, now);
                for (; boundary.row[i] == row; ++i) reinterpret_cast<double *>(&sum)[boundary.lane[i]] += S::one;
                total += !close(sum, now[row], tolerance);
                next[row] = sum;
            }
            return total;
        }
    }

    static int64_t push(const PathEdges &edges, const int32_t *rows, int64_t count, const double *values_,
                        double *sums_, uint8_t *marked, int32_t *reached) {
        const V *values = reinterpret_cast<const V *>(values_);
        V *sums = reinterpret_cast<V *>(sums_);
        int64_t total = 0;
        for (int64_t i = 0; i < count; ++i) {
            const V value = values[i];
            for (int64_t edge = edges.out_begin[rows[i]]; edge < edges.out_begin[rows[i] + 1]; ++edge) {
                const int32_t row = edges.target[edge];
                V sum = value;
                for (int p = 0; p < V::parts; ++p) {
                    if constexpr (weighted) S::multiply(sum.part[p], edges.out_weight[edge]);
                    S::multiply(sum.part[p], factor(edges, row));
                    S::add(sum.part[p], sums[row].part[p]);
                }
                bool differs = true;
                if constexpr (S::idempotent) differs = !equal(sum, sums[row]);
                sums[row] = sum;
                if (differs && !marked[row]) {
                    marked[row] = 1;
                    reached[total++] = row;
                }
            }
        }
        return total;
    }

    static PathLoops table() { return {V::width, S::zero, S::one, S::idempotent, &pull, &push}; }
};

template <class S, bool weighted>
PathLoops of_width(int32_t width) {
    if (width == 1) return Loops<S, PathRow<double, 1>, weighted>::table();
    if (width == 8) return Loops<S, PathRow<Doubles, 64 / register_bytes>, weighted>::table();
    return Loops<S, PathRow<Doubles, 128 / register_bytes>, weighted>::table();
}

template <class S>
PathLoops of_semiring(int32_t width, bool weighted) {
    return weighted ? of_width<S, true>(width) : of_width<S, false>(width);
}

PathLoops path_loops(PathSemiring semiring, int32_t width, bool weighted) {
    switch (semiring) {
        case PathSemiring::plus_times:
            return of_semiring<PlusTimes>(width, weighted);
        case PathSemiring::min_plus:
            return of_semiring<MinPlus>(width, weighted);
        case PathSemiring::max_min:
            return of_semiring<MaxMin>(width, weighted);
        default:
            return of_semiring<MaxTimes>(width, weighted);
    }
}

}  // namespace nbfnet::NBFNET_ISA
