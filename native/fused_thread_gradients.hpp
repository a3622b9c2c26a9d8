// Gradients of a fused iteration that several threads add to: each adds up its own, and all are summed in the end.
#pragma once

#include "buffer.hpp"
#include "fused_iteration.hpp"

namespace nbfnet::NBFNET_ISA {

// Where one thread adds up gradients that other threads add to as well. The first thread has the real arrays.
template <class Scalar>
class ThreadGradients {
  public:
    ThreadGradients(const FusedCall<Scalar> &call, int thread)
        : c(call), dim(call.layer.dim), level(call.plan->levels[call.iteration - 1]), first(thread == 0),
          zero(dim), offset(call.plan->groups()), family_begin(call.plan->families) {
        for (int64_t f = 0; f < c.plan->families; ++f) family_begin[f] = -1;
        if (c.iteration == 1) sources.resize((level.rows() + 1) * dim);
        if (first) return;
        int64_t rows = 0;
        for (int64_t group = 0; c.iteration > 1 && group < c.plan->groups(); ++group)
            if (c.shares->contested[group]) {
                offset[group] = rows - level.begin[group];
                rows += level.begin[group + 1] - level.begin[group];
            }
        contested.resize(rows * dim);
        int64_t families = 0;
        for (const Share &share : c.shares->of_thread[thread]) {
            int64_t &begin = family_begin[c.plan->family[share.group]];
            if (begin < 0) begin = families++;
        }
        relations.resize(families * c.layer.relations * dim);
    }

    // The base of (row of the level before, dim) for a group's rows.
    Scalar *rows_of(int64_t group) {
        if (c.iteration == 1) return sources.data() + dim;
        if (first || !c.shares->contested[group] || contested.size() == 0) return c.grad_previous;
        return contested.data() + offset[group] * dim;
    }

    Scalar *relations_of(int64_t family) {
        const int64_t size = c.layer.relations * dim;
        return first ? c.gradient.relation + family * size : relations.data() + family_begin[family] * size;
    }

    Scalar *zero_boundary() { return zero.data(); }

    void add_up() {
        for (int64_t i = 0; i < dim; ++i) c.gradient.zero[i] += zero[i];
        if (c.iteration == 1) {
            for (int64_t i = 0; i < dim; ++i) c.gradient.zero[i] += sources[i];
            for (int64_t i = 0; i < level.rows() * dim; ++i) c.grad_previous[i] += sources[dim + i];
        }
        if (first) return;
        for (int64_t f = 0; f < c.plan->families; ++f)
            if (family_begin[f] >= 0) {
                const int64_t size = c.layer.relations * dim;
                const Scalar *from = relations.data() + family_begin[f] * size;
                for (int64_t i = 0; i < size; ++i) c.gradient.relation[f * size + i] += from[i];
            }
    }

    // Adds one part of the contested rows, so that all threads can help.
    void add_contested(int part, int parts) {
        if (first || contested.size() == 0) return;
        for (int64_t group = 0; group < c.plan->groups(); ++group)
            if (c.shares->contested[group]) {
                const int64_t begin = level.begin[group] * dim, size = level.begin[group + 1] * dim - begin;
                const Scalar *from = contested.data() + offset[group] * dim;
                for (int64_t i = begin + size * part / parts; i < begin + size * (part + 1) / parts; ++i)
                    c.grad_previous[i] += from[i];
            }
    }

  private:
    const FusedCall<Scalar> &c;
    int64_t dim;
    const Level &level;
    bool first;
    Buffer<Scalar> zero, sources, contested, relations;
    Buffer<int64_t> offset, family_begin;
};

}  // namespace nbfnet::NBFNET_ISA
