package routing

import (
	"math"
	"slices"
	"time"
)

// Backoff is the wait before an attempt, counted from 1: none before the first, base
// before the second, and factor times as much before each further one, at most most (0:
// no bound) (R69).
func Backoff(attempt int, base time.Duration, factor float64, most time.Duration) time.Duration {
	if attempt <= 1 || base <= 0 {
		return 0
	}
	bound := float64(math.MaxInt64 / 2)
	if most > 0 {
		bound = float64(most)
	}
	wait := float64(base) * math.Pow(max(factor, 1), float64(attempt-2))
	return time.Duration(min(wait, bound))
}

// OnFailed is what to do about a worker that failed.
type OnFailed string

// What to do (R68-R71).
const (
	Retry    OnFailed = "retry"    // it has attempts left
	Fallback OnFailed = "fallback" // another worker takes its place
	Skip     OnFailed = "skip"     // go on without it
	Abort    OnFailed = "abort"    // the work cannot go on without it
)

// OnFailure says what follows the failure of an attempt, counted from 1, of at most
// most. Whether the worker is critical does not change how often it is tried (RC30).
func OnFailure(attempt, most int, retryable, hasFallback, critical bool) OnFailed {
	switch {
	case retryable && attempt < most:
		return Retry
	case hasFallback:
		return Fallback
	case critical:
		return Abort
	default:
		return Skip
	}
}

// Independent tells whether workers can run side by side: none needs what another one
// of them produces (R46). The slices have an entry for each worker. What a worker
// produces for itself is no obstacle.
func Independent(needs, produces [][]string) bool {
	for i, need := range needs {
		for j, made := range produces {
			if i != j && slices.ContainsFunc(need, func(n string) bool { return slices.Contains(made, n) }) {
				return false
			}
		}
	}
	return true
}
