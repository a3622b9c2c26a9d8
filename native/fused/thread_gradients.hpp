// Gradients of a fused iteration that several threads add to: each adds up its own, and all are summed in the end.
#pragma once

#include "fused/iteration.hpp"
#include "memory/aligned_array.hpp"

namespace nbfnet::NBFNET_ISA {

// Where one thread adds up gradients that other threads add to as well. The first thread has the real arrays.
template <class Scalar>
class ThreadGradients {
  public:
    ThreadGradients(const FusedCall<Scalar> &call, int thread)
        : c_(call),
          dim_(call.layer.dim),
          level_(call.plan->levels[call.iteration - 1]),
          is_first_(thread == 0),
          zero_(dim_),
          offset_(call.plan->groups()),
          family_begin_(call.plan->families) {
        for (int64_t f = 0; f < c_.plan->families; ++f) family_begin_[f] = -1;
        if (c_.iteration == 1) sources_.resize((level_.rows() + 1) * dim_);
        if (is_first_) return;
        int64_t rows = 0;
        for (int64_t group = 0; c_.iteration > 1 && group < c_.plan->groups(); ++group)
            if (c_.shares->contested[group]) {
                offset_[group] = rows - level_.begin[group];
                rows += level_.begin[group + 1] - level_.begin[group];
            }
        contested_.resize(rows * dim_);
        int64_t families = 0;
        for (const Share &share : c_.shares->of_thread[thread]) {
            int64_t &begin = family_begin_[c_.plan->family[share.group]];
            if (begin < 0) begin = families++;
        }
        relations_.resize(families * c_.layer.relations * dim_);
        if (c_.layer.edge_weight) edge_weight_.resize(c_.graph.edges);
    }

    // The base of (row of the level before, dim) for a group's rows.
    Scalar *rows_of(int64_t group) {
        if (c_.iteration == 1) return sources_.data() + dim_;
        if (is_first_ || !c_.shares->contested[group] || contested_.size() == 0) return c_.grad_previous;
        return contested_.data() + offset_[group] * dim_;
    }
    Scalar *relations_of(int64_t family) {
        const int64_t size = c_.layer.relations * dim_;
        return is_first_ ? c_.gradient.relation + family * size : relations_.data() + family_begin_[family] * size;
    }
    Scalar *zero_boundary() { return zero_.data(); }
    Scalar *edge_weight() { return is_first_ ? c_.gradient.edge_weight : edge_weight_.data(); }

    void add_up() {
        add(c_.gradient.zero, zero_.data(), dim_);
        if (c_.iteration == 1) {
            add(c_.gradient.zero, sources_.data(), dim_);
            add(c_.grad_previous, sources_.data() + dim_, level_.rows() * dim_);
        }
        if (is_first_) return;
        const int64_t size = c_.layer.relations * dim_;
        for (int64_t f = 0; f < c_.plan->families; ++f)
            if (family_begin_[f] >= 0)
                add(c_.gradient.relation + f * size, relations_.data() + family_begin_[f] * size, size);
        add(c_.gradient.edge_weight, edge_weight_.data(), edge_weight_.size());
    }

    // Adds one part of the contested rows, so that all threads can help.
    void add_contested(int part, int parts) {
        if (is_first_ || contested_.size() == 0) return;
        for (int64_t group = 0; group < c_.plan->groups(); ++group)
            if (c_.shares->contested[group]) {
                const int64_t begin = level_.begin[group] * dim_, size = level_.begin[group + 1] * dim_ - begin;
                const int64_t from = begin + size * part / parts, to = begin + size * (part + 1) / parts;
                add(c_.grad_previous + from, contested_.data() + offset_[group] * dim_ + from, to - from);
            }
    }

  private:
    static void add(Scalar *__restrict to, const Scalar *__restrict from, int64_t count) {
        for (int64_t i = 0; i < count; ++i) to[i] += from[i];
    }

    const FusedCall<Scalar> &c_;
    int64_t dim_;
    const Level &level_;
    bool is_first_;
    AlignedArray<Scalar> zero_, sources_, contested_, relations_, edge_weight_;
    AlignedArray<int64_t> offset_, family_begin_;
};

}  // namespace nbfnet::NBFNET_ISA
