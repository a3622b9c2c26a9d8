// Means of the messages between relations, through the entities where they meet:
//
//     g_a(v)        = mean of x_r over the relations r that have v in the role a, head or tail
//     m_{b,a}(s)    = mean of g_a(v) over the entities v that s has in the role b
//     m_{b,2+a}(s)  = mean of g_a(v) * h_v over the same
//
// for every relation s of every query. An entity is visited once: what it gathers goes straight to its relations.
#pragma once

#include <cstdint>

namespace nbfnet {

inline constexpr int roles = 2;

// The distinct (entity, relation) pairs of one role.
template <class Scalar>
struct Incidences {
    const int64_t *begin;       // (node + 1)
    const int32_t *relation;    // (pair)
    const Scalar *of_node;      // (node) 1 / how many relations a node has
    const Scalar *of_relation;  // (relation) 1 / how many nodes a relation has
};

template <class Scalar>
struct MeetingCall {
    int64_t nodes, relations, dim;
    int64_t features;  // of each role b: roles, or twice as many where there is h
    Incidences<Scalar> role[roles];
    const int64_t *place;    // (node) the row of each entity in h
    const Scalar *relation;  // (relation, dim) x of one query
    const Scalar *hidden;    // (row, dim) h of the query, or null
    Scalar *scratch;  // forward: (feature, dim); backward: (relation, role, feature, dim), then twice (feature, dim)
    Scalar *out;      // (relation, role, feature, dim), zero at first
    // The backward pass only:
    const Scalar *grad_out;  // as out
    Scalar *grad_relation;   // (relation, dim), zero at first
    Scalar *grad_hidden;     // (row, dim), or null
};

namespace baseline {
void meeting_forward(const MeetingCall<float> &call);
void meeting_backward(const MeetingCall<float> &call);
void meeting_forward(const MeetingCall<double> &call);
void meeting_backward(const MeetingCall<double> &call);
}  // namespace baseline
#if defined(__x86_64__)
namespace avx2 {
void meeting_forward(const MeetingCall<float> &call);
void meeting_backward(const MeetingCall<float> &call);
}  // namespace avx2
namespace avx512 {
void meeting_forward(const MeetingCall<float> &call);
void meeting_backward(const MeetingCall<float> &call);
}  // namespace avx512
#endif

}  // namespace nbfnet
