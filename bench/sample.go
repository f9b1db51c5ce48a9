package main

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator"
)

// pair is two variants of the same work, measured alternately.
type pair struct {
	ours, limit time.Duration // medians, for one unit of the work
	ratio       float64       // the median of the paired ratios
}

// sample is one measurement: what some units of work took.
type sample func() (time.Duration, error)

// compare takes n samples of each variant, alternately and in changing order, after one
// of each that does not count.
func compare(n, units int, ours, limit sample) (pair, error) {
	var a, b []time.Duration
	var ratios []float64
	for i := range n + 1 {
		first, second := ours, limit
		if i%2 == 1 {
			first, second = limit, ours
		}
		x, err := take(first)
		if err != nil {
			return pair{}, err
		}
		y, err := take(second)
		if err != nil {
			return pair{}, err
		}
		if i%2 == 1 {
			x, y = y, x
		}
		if i == 0 {
			continue // warms up
		}
		a, b, ratios = append(a, x), append(b, y), append(ratios, float64(x)/float64(y))
	}
	return pair{median(a) / time.Duration(units), median(b) / time.Duration(units), median(ratios)}, nil
}

// alone takes n samples of work that has no limit to be compared with.
func alone(n, units int, ours sample) (pair, error) {
	var took []time.Duration
	for range n {
		d, err := take(ours)
		if err != nil {
			return pair{}, err
		}
		took = append(took, d)
	}
	return pair{ours: median(took) / time.Duration(units)}, nil
}

func take(s sample) (time.Duration, error) {
	runtime.GC()
	return s()
}

func median[T ~int64 | ~float64](xs []T) T {
	xs = slices.Sorted(slices.Values(xs))
	return xs[len(xs)/2]
}

// timed is how long f takes.
func timed(f func() error) sample {
	return func() (time.Duration, error) {
		began := time.Now()
		err := f()
		return time.Since(began), err
	}
}

// runs is n runs of a flow, one after the other.
func runs[In, Out any](e *orchestrator.Engine, f orchestrator.Flow[In, Out], in In, n int) sample {
	return timed(func() error {
		for range n {
			if _, err := f.Run(context.Background(), e, in); err != nil {
				return err
			}
		}
		return nil
	})
}
