// The loops of the meeting means: included once by each meeting_means_ISA.cpp. Uses no library code, so that nothing
// compiled for a newer processor is shared with the rest.
#pragma once

#include "meetings/meeting_means.hpp"
#include "simd/always_inline.hpp"

namespace nbfnet::NBFNET_ISA {

template <class Scalar>
NBFNET_INLINE void clear(Scalar *__restrict to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] = 0;
}

template <class Scalar>
NBFNET_INLINE void add(Scalar *__restrict to, const Scalar *__restrict from, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

template <class Scalar>
NBFNET_INLINE void add_scaled(Scalar *__restrict to, const Scalar *__restrict from, Scalar scale, int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] += scale * from[i];
}

template <class Scalar>
NBFNET_INLINE void add_product(Scalar *__restrict to, const Scalar *__restrict a, const Scalar *__restrict b,
                               int64_t count) {
    for (int64_t i = 0; i < count; ++i) to[i] += a[i] * b[i];
}

// g_a(v) of every role a, (role, dim).
template <class Scalar>
NBFNET_INLINE void gather(const MeetingCall<Scalar> &call, int64_t v, Scalar *gathered) {
    clear(gathered, roles * call.dim);
    for (int a = 0; a < roles; ++a) {
        const Incidences<Scalar> &role = call.role[a];
        for (int64_t i = role.begin[v]; i < role.begin[v + 1]; ++i)
            add_scaled(gathered + a * call.dim, call.relation + role.relation[i] * call.dim, role.of_node[v], call.dim);
    }
}

template <class Scalar>
NBFNET_INLINE bool is_isolated(const MeetingCall<Scalar> &call, int64_t v) {
    return call.role[0].begin[v] == call.role[0].begin[v + 1] && call.role[1].begin[v] == call.role[1].begin[v + 1];
}

template <class Scalar>
NBFNET_INLINE void forward(const MeetingCall<Scalar> &call) {
    const int64_t dim = call.dim, width = call.features * dim;
    Scalar *at_entity = call.scratch;
    for (int64_t v = 0; v < call.nodes; ++v) {
        if (is_isolated(call, v)) continue;
        gather(call, v, at_entity);
        if (call.hidden) {
            clear(at_entity + roles * dim, roles * dim);
            for (int a = 0; a < roles; ++a)
                add_product(at_entity + (roles + a) * dim, at_entity + a * dim, call.hidden + call.place[v] * dim, dim);
        }
        for (int b = 0; b < roles; ++b)
            for (int64_t i = call.role[b].begin[v]; i < call.role[b].begin[v + 1]; ++i)
                add(call.out + (call.role[b].relation[i] * roles + b) * width, at_entity, width);
    }
    for (int64_t s = 0; s < call.relations; ++s)
        for (int b = 0; b < roles; ++b) {
            Scalar *mean = call.out + (s * roles + b) * width;
            for (int64_t i = 0; i < width; ++i) mean[i] *= call.role[b].of_relation[s];
        }
}

template <class Scalar>
NBFNET_INLINE void backward(const MeetingCall<Scalar> &call) {
    const int64_t dim = call.dim, width = call.features * dim;
    Scalar *shared = call.scratch;  // the gradient of every mean, divided by its count
    Scalar *of_entity = shared + call.relations * roles * width, *gathered = of_entity + width;
    clear(shared, call.relations * roles * width);
    for (int64_t s = 0; s < call.relations; ++s)
        for (int b = 0; b < roles; ++b)
            add_scaled(shared + (s * roles + b) * width, call.grad_out + (s * roles + b) * width,
                       call.role[b].of_relation[s], width);
    for (int64_t v = 0; v < call.nodes; ++v) {
        Scalar *of_own = call.grad_hidden ? call.grad_hidden + call.place[v] * dim : nullptr;
        if (of_own) clear(of_own, dim);
        if (is_isolated(call, v)) continue;
        clear(of_entity, width);
        for (int b = 0; b < roles; ++b)
            for (int64_t i = call.role[b].begin[v]; i < call.role[b].begin[v + 1]; ++i)
                add(of_entity, shared + (call.role[b].relation[i] * roles + b) * width, width);
        if (call.hidden) {
            gather(call, v, gathered);
            for (int a = 0; a < roles; ++a) {
                const Scalar *of_product = of_entity + (roles + a) * dim;
                add_product(of_own, gathered + a * dim, of_product, dim);
                add_product(of_entity + a * dim, of_product, call.hidden + call.place[v] * dim, dim);
            }
        }
        for (int a = 0; a < roles; ++a)
            for (int64_t i = call.role[a].begin[v]; i < call.role[a].begin[v + 1]; ++i)
                add_scaled(call.grad_relation + call.role[a].relation[i] * dim, of_entity + a * dim,
                           call.role[a].of_node[v], dim);
    }
}

void meeting_forward(const MeetingCall<float> &call) { forward(call); }
void meeting_backward(const MeetingCall<float> &call) { backward(call); }

}  // namespace nbfnet::NBFNET_ISA
