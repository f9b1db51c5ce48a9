package sqlite

import (
	"fmt"
	"math"
	"time"
)

// noTime stands for the zero time, which has no nanoseconds since 1970.
const noTime = math.MinInt64

var (
	minTime = time.Date(1678, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	maxTime = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

// toNanos returns t in nanoseconds since 1970.
func toNanos(t time.Time) (int64, error) {
	if t.IsZero() {
		return noTime, nil
	}
	if s := t.Unix(); s < minTime || s >= maxTime {
		return 0, fmt.Errorf("the time %v is not in the years 1678 to 2261", t)
	}
	return t.UnixNano(), nil
}

func fromNanos(n int64) time.Time {
	if n == noTime {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
