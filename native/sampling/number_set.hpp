// NumberSet: a set of numbers from 0 on, as large as what is in it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "sampling/drawing.hpp"

namespace nbfnet {

class NumberSet {
  public:
    void reset(int64_t expected) {
        count_ = 0;
        clear(std::bit_ceil(static_cast<size_t>(std::max<int64_t>(2 * expected, 1 << 6))));
    }

    // Whether a number was not there before.
    bool insert(int64_t number) {
        if (2 * count_ >= size_) grow();
        uint64_t &place = find(static_cast<uint64_t>(number) + 1);
        if (place) return false;
        place = static_cast<uint64_t>(number) + 1;
        ++count_;
        return true;
    }

    bool contains(int64_t number) const {
        return const_cast<NumberSet *>(this)->find(static_cast<uint64_t>(number) + 1) != 0;
    }

    int64_t count() const { return static_cast<int64_t>(count_); }

  private:
    uint64_t &find(uint64_t key) {
        size_t at = golden * key >> shift_;
        while (places_[at] && places_[at] != key) at = (at + 1) & (size_ - 1);
        return places_[at];
    }

    void clear(size_t size) {
        size_ = size;
        shift_ = 64 - std::countr_zero(size);
        if (places_.size() < size) places_ = std::vector<uint64_t>(size);
        std::fill_n(places_.begin(), size, 0);
    }

    void grow() {
        const std::vector<uint64_t> before(places_.begin(), places_.begin() + static_cast<int64_t>(size_));
        clear(2 * size_);
        for (const uint64_t key : before)
            if (key) find(key) = key;
    }

    std::vector<uint64_t> places_;  // one more than each number; 0 is a free place. The first `size_` of them are used.
    size_t size_ = 0, count_ = 0;
    int shift_ = 0;
};

}  // namespace nbfnet
