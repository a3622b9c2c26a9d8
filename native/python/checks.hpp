// What every entry asks of its arguments, once per call, before any work: the loops behind it never look.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <vector>

#include "python/bindings.hpp"

namespace nbfnet {

inline constexpr int64_t most_ids = std::numeric_limits<int32_t>::max();  // nodes, rows and relations are int32
inline constexpr int64_t most_threads = 4096;

inline void expect(bool fits, const std::string &what) {
    if (!fits) throw nanobind::value_error(what.c_str());
}

template <class Array>
int64_t length(const Array &array, size_t axis = 0) {
    return static_cast<int64_t>(array.shape(axis));
}

inline void expect_length(const char *name, int64_t found, int64_t expected) {
    if (found != expected)
        expect(false,
               std::string(name) + " has " + std::to_string(found) + " entries, expected " + std::to_string(expected));
}

template <class Array>
void expect_shape(const char *name, const Array &array, std::initializer_list<int64_t> expected) {
    const auto list = [](const auto &sizes) {
        std::string text;
        for (const int64_t size : sizes) text += (text.empty() ? "" : ", ") + std::to_string(size);
        return "(" + text + ")";
    };
    std::vector<int64_t> found;
    for (size_t axis = 0; axis < array.ndim(); ++axis) found.push_back(length(array, axis));
    if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end()))
        expect(false, std::string(name) + " is " + list(found) + ", expected " + list(expected));
}

inline void expect_threads(int64_t threads) {
    expect(threads >= 1 && threads <= most_threads,
           "threads is " + std::to_string(threads) + ", expected 1 to " + std::to_string(most_threads));
}

inline void expect_id(const char *name, int64_t id, int64_t limit) {
    if (id < 0 || id >= limit)
        expect(false,
               std::string(name) + " holds " + std::to_string(id) + ", expected 0 to " + std::to_string(limit - 1));
}

// Whether every id is 0 .. limit - 1. No branch is needed: an id below 0 has its sign bit set,
// and so has (last - id) for an id beyond the last.
inline bool ids_fit(const int32_t *id, int64_t count, int64_t limit) {
    if (count == 0) return true;
    if (limit <= 0) return false;
    const uint32_t last = static_cast<uint32_t>((limit > most_ids ? most_ids + 1 : limit) - 1);
    uint32_t signs = 0;
    for (int64_t i = 0; i < count; ++i) {
        const uint32_t one = static_cast<uint32_t>(id[i]);
        signs |= one | (last - one);
    }
    return signs >> 31 == 0;
}

inline void expect_ids(const char *name, const In<int32_t> &ids, int64_t limit) {
    if (ids_fit(ids.data(), length(ids), limit)) return;
    for (int64_t i = 0; i < length(ids); ++i) expect_id(name, ids.data()[i], limit);
}

// Whether the runs begin[i] .. begin[i + 1] cover 0 .. total, one after the other.
inline bool runs_fit(const int64_t *begin, int64_t runs, int64_t total) {
    if (begin[0] != 0 || begin[runs] != total) return false;
    bool ordered = true;
    for (int64_t run = 0; run < runs; ++run) ordered &= begin[run] <= begin[run + 1];
    return ordered;
}

inline void expect_runs(const char *name, const In<int64_t> &begin, int64_t runs, int64_t total) {
    expect_length(name, length(begin), runs + 1);
    if (!runs_fit(begin.data(), runs, total))
        expect(false, std::string(name) + " must rise from 0 to " + std::to_string(total));
}

// As many nodes as an indptr has rows.
inline int64_t expect_rows(const char *name, const In<int64_t> &indptr) {
    const int64_t rows = length(indptr) - 1;
    expect(rows >= 0 && rows <= most_ids, std::string(name) + " has " + std::to_string(rows + 1) +
                                              " entries, expected 1 to " + std::to_string(most_ids + 1));
    return rows;
}

}  // namespace nbfnet
