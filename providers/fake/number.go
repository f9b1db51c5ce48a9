package fake

import (
	"math"

	"github.com/google/jsonschema-go/jsonschema"
)

// number returns 1+n, or a number near to it that is within the bounds of s.
func number(s *jsonschema.Schema, n int, whole bool) float64 {
	b := boundsOf(s, whole)
	v := min(max(float64(1+n), b.low), b.high)
	if b.step > 0 {
		return b.multiple(v)
	}
	switch {
	case !b.excludes(v):
		return v
	case math.IsInf(b.high, 0):
		return v + 1
	case math.IsInf(b.low, 0):
		return v - 1
	}
	return (b.low + b.high) / 2
}

// bounds are those of a number.
type bounds struct {
	low, high         float64
	openLow, openHigh bool    // low and high themselves are not allowed
	step              float64 // it is a multiple of; 0: any
}

func boundsOf(s *jsonschema.Schema, whole bool) bounds {
	b := bounds{low: math.Inf(-1), high: math.Inf(1)}
	if s.Minimum != nil {
		b.low = *s.Minimum
	}
	if s.Maximum != nil {
		b.high = *s.Maximum
	}
	if x := s.ExclusiveMinimum; x != nil && *x >= b.low {
		b.low, b.openLow = *x, true
	}
	if x := s.ExclusiveMaximum; x != nil && *x <= b.high {
		b.high, b.openHigh = *x, true
	}
	switch {
	case s.MultipleOf != nil:
		b.step = *s.MultipleOf
	case whole:
		b.step = 1
	}
	return b
}

func (b bounds) excludes(v float64) bool {
	return v < b.low || v > b.high || b.openLow && v == b.low || b.openHigh && v == b.high
}

// multiple returns the multiple of b.step that is next to v.
func (b bounds) multiple(v float64) float64 {
	up := math.Ceil(v/b.step) * b.step
	if b.excludes(up) && up <= b.low {
		up += b.step
	}
	if !b.excludes(up) {
		return up + 0 // -0 becomes 0
	}
	down := math.Floor(v/b.step) * b.step
	if b.excludes(down) {
		down -= b.step
	}
	return down + 0
}
