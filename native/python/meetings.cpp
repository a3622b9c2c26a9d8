// Meeting means as Python calls them.
#include "meetings/meeting_means.hpp"

#include <nanobind/stl/optional.h>
#include <optional>
#include <vector>

#include "memory/parallel.hpp"
#include "python/checks.hpp"
#include "simd/instruction_set.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {
namespace {

void run_forward(const MeetingCall<double> &call) { baseline::meeting_forward(call); }
void run_backward(const MeetingCall<double> &call) { baseline::meeting_backward(call); }
void run_forward(const MeetingCall<float> &call) {
#if defined(__x86_64__)
    if (instruction_set() == InstructionSet::avx512) return avx512::meeting_forward(call);
    if (instruction_set() == InstructionSet::avx2) return avx2::meeting_forward(call);
#endif
    baseline::meeting_forward(call);
}
void run_backward(const MeetingCall<float> &call) {
#if defined(__x86_64__)
    if (instruction_set() == InstructionSet::avx512) return avx512::meeting_backward(call);
    if (instruction_set() == InstructionSet::avx2) return avx2::meeting_backward(call);
#endif
    baseline::meeting_backward(call);
}

// The incidences of heads and of tails, checked once and copied.
class MeetingArrays {
  public:
    MeetingArrays(int64_t relations, In<int64_t> head_begin, In<int32_t> head_relation, In<int64_t> tail_begin,
                  In<int32_t> tail_relation)
        : nodes_(expect_rows("head_begin", head_begin)), relations_(relations) {
        expect(relations >= 0 && relations <= most_ids, "there are " + std::to_string(relations) + " relations");
        take(0, "head_begin", head_begin, "head_relation", head_relation);
        take(1, "tail_begin", tail_begin, "tail_relation", tail_relation);
    }

    template <class Scalar>
    void forward(In<Scalar, 3> relation, std::optional<In<Scalar, 3>> hidden, In<int64_t> place, Out<Scalar, 4> out,
                 int threads) const {
        const MeetingCall<Scalar> first = call(relation, hidden, place, threads);
        const int64_t queries = length(relation), size = relations_ * roles * first.features * first.dim;
        expect_shape("out", out, {queries, relations_, roles * first.features, first.dim});
        Scalar *const to = out.data();
        nb::gil_scoped_release release;
        parallel_each(threads, queries, [&](int64_t q) {
            MeetingCall<Scalar> one = of_query(first, q);
            std::vector<Scalar> scratch(first.features * first.dim);
            one.scratch = scratch.data();
            one.out = to + q * size;
            std::fill(one.out, one.out + size, Scalar{0});
            run_forward(one);
        });
    }

    template <class Scalar>
    void backward(In<Scalar, 3> relation, std::optional<In<Scalar, 3>> hidden, In<int64_t> place,
                  In<Scalar, 4> grad_out, Out<Scalar, 3> grad_relation, std::optional<Out<Scalar, 3>> grad_hidden,
                  int threads) const {
        const MeetingCall<Scalar> first = call(relation, hidden, place, threads);
        const int64_t queries = length(relation), dim = first.dim, size = relations_ * roles * first.features * dim;
        expect_shape("grad_out", grad_out, {queries, relations_, roles * first.features, dim});
        expect_shape("grad_relation", grad_relation, {queries, relations_, dim});
        expect(hidden.has_value() == grad_hidden.has_value(), "hidden and its gradient are both there, or neither");
        if (grad_hidden) expect_shape("grad_hidden", *grad_hidden, {queries, nodes_, dim});
        const Scalar *const from = grad_out.data();
        Scalar *const to_relation = grad_relation.data(), *const to_hidden =
                                                              grad_hidden ? grad_hidden->data() : nullptr;
        nb::gil_scoped_release release;
        parallel_each(threads, queries, [&](int64_t q) {
            MeetingCall<Scalar> one = of_query(first, q);
            std::vector<Scalar> scratch(size + 2 * first.features * dim);
            one.scratch = scratch.data();
            one.grad_out = from + q * size;
            one.grad_relation = to_relation + q * relations_ * dim;
            one.grad_hidden = to_hidden ? to_hidden + q * nodes_ * dim : nullptr;
            std::fill(one.grad_relation, one.grad_relation + relations_ * dim, Scalar{0});
            run_backward(one);
        });
    }

  private:
    struct Reciprocals {
        explicit Reciprocals(const std::vector<int64_t> &counts = {}) {
            for (const int64_t count : counts) exact.push_back(1.0 / static_cast<double>(std::max<int64_t>(count, 1)));
            rounded.assign(exact.begin(), exact.end());
        }
        void give(const float *&to) const { to = rounded.data(); }
        void give(const double *&to) const { to = exact.data(); }

        std::vector<double> exact;
        std::vector<float> rounded;
    };

    struct Role {
        std::vector<int64_t> begin;
        std::vector<int32_t> relation;
        Reciprocals of_node, of_relation;
    };

    void take(int place, const char *begin_name, const In<int64_t> &begin, const char *relation_name,
              const In<int32_t> &relation) {
        expect_runs(begin_name, begin, nodes_, length(relation));
        expect_ids(relation_name, relation, relations_);
        Role &role = roles_[place];
        role.begin.assign(begin.data(), begin.data() + length(begin));
        role.relation.assign(relation.data(), relation.data() + length(relation));
        std::vector<int64_t> of_node(nodes_), of_relation(relations_, 0);
        for (int64_t v = 0; v < nodes_; ++v) of_node[v] = role.begin[v + 1] - role.begin[v];
        for (const int32_t r : role.relation) ++of_relation[r];
        role.of_node = Reciprocals(of_node), role.of_relation = Reciprocals(of_relation);
    }

    template <class Scalar>
    MeetingCall<Scalar> call(const In<Scalar, 3> &relation, const std::optional<In<Scalar, 3>> &hidden,
                             const In<int64_t> &place, int threads) const {
        expect_threads(threads);
        const int64_t dim = length(relation, 2);
        expect_shape("relation", relation, {length(relation), relations_, dim});
        if (hidden) expect_shape("hidden", *hidden, {length(relation), nodes_, dim});
        expect_length("place", length(place), nodes_);
        std::vector<char> taken(nodes_, 0);  // a row of two entities would get the gradient of one
        for (int64_t v = 0; v < nodes_; ++v) {
            expect_id("place", place.data()[v], nodes_);
            expect(!taken[place.data()[v]]++, "place holds " + std::to_string(place.data()[v]) + " twice");
        }
        MeetingCall<Scalar> result{};
        result.nodes = nodes_, result.relations = relations_, result.dim = dim;
        result.features = hidden ? 2 * roles : roles;
        for (int a = 0; a < roles; ++a) {
            const Role &role = roles_[a];
            result.role[a] = {role.begin.data(), role.relation.data(), nullptr, nullptr};
            role.of_node.give(result.role[a].of_node);
            role.of_relation.give(result.role[a].of_relation);
        }
        result.place = place.data();
        result.relation = relation.data();
        result.hidden = hidden ? hidden->data() : nullptr;
        return result;
    }

    template <class Scalar>
    MeetingCall<Scalar> of_query(const MeetingCall<Scalar> &first, int64_t q) const {
        MeetingCall<Scalar> one = first;
        one.relation += q * relations_ * first.dim;
        if (one.hidden) one.hidden += q * nodes_ * first.dim;
        return one;
    }

    int64_t nodes_, relations_;
    Role roles_[roles];
};

template <class Scalar>
void bind_for(nb::class_<MeetingArrays> &arrays) {
    arrays
        .def("forward", &MeetingArrays::forward<Scalar>, "relation"_a.noconvert(), "hidden"_a.noconvert().none(),
             "place"_a.noconvert(), "out"_a.noconvert(), "threads"_a)
        .def("backward", &MeetingArrays::backward<Scalar>, "relation"_a.noconvert(), "hidden"_a.noconvert().none(),
             "place"_a.noconvert(), "grad_out"_a.noconvert(), "grad_relation"_a.noconvert(),
             "grad_hidden"_a.noconvert().none(), "threads"_a);
}

}  // namespace
}  // namespace nbfnet

void bind_meetings(nb::module_ &m) {
    using namespace nbfnet;
    nb::class_<MeetingArrays> arrays(m, "MeetingArrays");
    arrays.def(nb::init<int64_t, In<int64_t>, In<int32_t>, In<int64_t>, In<int32_t>>(), "relations"_a,
               "head_begin"_a.noconvert(), "head_relation"_a.noconvert(), "tail_begin"_a.noconvert(),
               "tail_relation"_a.noconvert());
    bind_for<float>(arrays);
    bind_for<double>(arrays);
}
