package routing

import (
	"math"
	"time"
)

// Backoff is the wait before an attempt, counted from 1: none before the first, base
// before the second, and factor times as much before each further one, at most most (0:
// no bound).
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
