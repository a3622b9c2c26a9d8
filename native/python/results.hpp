// Arrays that Python gets and owns.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "python/bindings.hpp"

namespace nbfnet {

template <class T>
using NumPy = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;

// The first `size` numbers of an array, which the result keeps.
template <class T, class Array>
NumPy<T> kept(Array &&array, int64_t size) {
    auto *owned = new std::remove_reference_t<Array>(std::move(array));
    nanobind::capsule owner(owned, [](void *p) noexcept { delete static_cast<std::remove_reference_t<Array> *>(p); });
    return {owned->data(), {static_cast<size_t>(size)}, owner};
}

template <class T>
NumPy<T> kept(std::vector<T> &&array) {
    const int64_t size = static_cast<int64_t>(array.size());
    return kept<T>(std::move(array), size);
}

}  // namespace nbfnet
