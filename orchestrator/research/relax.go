package research

import (
	"fmt"
	"time"

	"github.com/convene-go/convene/providers"
)

// excess says which bounds a plan exceeds that has to.
type excess struct {
	time, cost bool
	orCost     providers.NanoUSD // the least cost of a plan that takes no longer than allowed; 0: not known
}

// relax raises the bounds as little as a plan needs, and picks its workers: the critical
// ones, and those that it cannot do without.
func (s *selection) relax() (over excess) {
	given := s.within
	dearest, longest := providers.NanoUSD(1), time.Duration(1)
	for _, it := range s.order {
		for _, o := range it.options {
			dearest, longest = dearest+o.EstCost, longest+o.EstTime
		}
	}
	cost := func(within time.Duration) providers.NanoUSD {
		return lowest(dearest, func(n providers.NanoUSD) bool { return s.possible(n, within) })
	}
	took := func(with providers.NanoUSD) time.Duration {
		return lowest(longest, func(n time.Duration) bool { return s.possible(with, n) })
	}
	within := given
	switch over.time, over.cost = s.possible(given.Cost, 0), s.possible(0, given.Time); {
	case over.time:
		within.Time = took(given.Cost)
		if over.cost {
			over.cost, over.orCost = false, cost(given.Time)
		}
	case over.cost:
		within.Cost = cost(given.Time)
	default:
		over.time, over.cost = true, true
		within.Time = took(0)
		within.Cost = cost(within.Time)
	}
	s.keep = true
	s.possible(within.Cost, within.Time)
	return over
}

// possible tells whether a plan fits these bounds, with nothing picked before.
func (s *selection) possible(cost providers.NanoUSD, took time.Duration) bool {
	s.within.Cost, s.within.Time = cost, took
	for _, it := range s.order {
		it.set(it.open)
	}
	return s.valid()
}

// lowest returns the lowest number from 1 on that fits; most does.
func lowest[N ~int64](most N, fits func(n N) bool) N {
	for low := N(0); low+1 < most; {
		if n := low + (most-low)/2; fits(n) {
			most = n
		} else {
			low = n
		}
	}
	return most
}

// words says what a plan that exceeds its bounds takes at least, rounded up.
func (over excess) words(q Plan, within Room) (unmet []string) {
	const cent, tenth = providers.USD / 100, time.Minute / 10
	costs := func(n providers.NanoUSD) string {
		return fmt.Sprintf("it costs at least %s USD, the limit is %s", amount((n+cent-1)/cent*cent), amount(max(within.Cost, 0)))
	}
	if over.cost {
		unmet = append(unmet, costs(q.EstCost))
	}
	if over.time {
		unmet = append(unmet, fmt.Sprintf("it takes at least %s minutes, the limit is %s", minutes((q.EstTime+tenth-1)/tenth*tenth), minutes(max(within.Time, 0))))
	}
	if over.orCost > 0 {
		unmet = append(unmet, "or "+costs(over.orCost)+", in that time")
	}
	return unmet
}
