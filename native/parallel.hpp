// parallel(n, work): work(0) .. work(n - 1), each on a thread of the OpenMP runtime that PyTorch uses too.
#pragma once

#include <exception>

namespace nbfnet {

template <class Work>
void parallel(int threads, const Work &work) {
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

}  // namespace nbfnet
