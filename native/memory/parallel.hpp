// Work on the threads of the OpenMP runtime that PyTorch uses too. What the work throws is thrown again to the caller.
#pragma once

#include <cstdint>
#include <exception>
#ifdef _OPENMP
#include <omp.h>
#endif

namespace nbfnet {

// As many threads as OMP_NUM_THREADS says, or else as many as there are processor cores for this process.
inline int default_threads() {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

// work(0) .. work(threads - 1), each on a thread of its own; the calling thread has the first.
template <class Work>
void parallel(int threads, const Work &work) {
    if (threads == 1) return work(0);
    std::exception_ptr failure;
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int thread = 0; thread < threads; ++thread) {
        try {
            work(thread);
        } catch (...) {
#pragma omp critical
            failure = std::current_exception();
        }
    }
    if (failure) std::rethrow_exception(failure);
}

// work(0) .. work(count - 1), each on whichever thread is free.
template <class Work>
void parallel_each(int threads, int64_t count, const Work &work) {
    if (threads == 1) {
        for (int64_t i = 0; i < count; ++i) work(i);
        return;
    }
    std::exception_ptr failure;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (int64_t i = 0; i < count; ++i) {
        try {
            work(i);
        } catch (...) {
#pragma omp critical
            failure = std::current_exception();
        }
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace nbfnet
