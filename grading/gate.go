// Package grading says whether work is good enough: thresholds, decisions, scores and ranks.
//
// Each rule of a team is an interface of one method, with a function as an adapter and a
// default: [Gate], [Threshold], [Scorer], [Ranker]. All are pure: the same arguments give the
// same result, nothing is read and nothing is changed. So they may be called from any
// goroutine and from flow code.
//
// Scores and thresholds are percentages from 0 to 100 where a team does not say otherwise.
// Figures are rounded to six decimals before they are compared with a bound, so that
// 75.99999999999999 meets a threshold of 76.
package grading

import (
	"fmt"
	"math"
)

// Subject is whose work is judged. Own and Shared are thresholds of the configuration, on
// the team's scale; a pointer to 0 means that there is no gate.
type Subject struct {
	ID     string   // name of who or what is judged, such as an agent
	Group  string   // name of what it belongs to, such as a department; "": none
	Own    *float64 // threshold of its own; nil: none
	Shared *float64 // threshold of its group; nil: none
}

// Standing is what a [Gate] knows of work that has a score. Scores and thresholds are on the
// team's scale, which is 0 to 100 unless the team says otherwise.
type Standing struct {
	Of        Subject   // whose work it is
	Score     float64   // score of this try
	Threshold float64   // score that passes; 0: no gate
	Before    []float64 // scores of earlier tries that have one, oldest first
	Try       int       // number of this try, from 1
	Most      int       // number of tries that the configuration allows; 0: not said
}

// Gate is a rule of a team: it decides what becomes of work. S is what it goes by, in most
// teams a [Standing]. D are the team's decisions; any other is a fault.
//
// Work without a score never reaches a Gate. Decide is a pure function: it is called once
// for each decision, and again when a run is resumed, with equal arguments.
type Gate[S, D any] interface{ Decide(s S) D }

// GateFunc is a function as a [Gate]. [GateWith] infers its types.
type GateFunc[S, D any] func(s S) D

// Decide returns f(s).
func (f GateFunc[S, D]) Decide(s S) D { return f(s) }

// GateWith returns decide as a [Gate].
func GateWith[S, D any](decide func(s S) D) Gate[S, D] { return GateFunc[S, D](decide) }

// At returns gate for work that has no threshold: it decides by this one, in the place of
// Standing.Threshold.
func At[D any](threshold float64, gate Gate[Standing, D]) Gate[Standing, D] { //nolint:iface // a Gate, as its argument: its type does not matter
	return at[D]{gate, threshold}
}

type at[D any] struct {
	gate      Gate[Standing, D]
	threshold float64
}

func (a at[D]) Decide(s Standing) D {
	s.Threshold = a.threshold
	return a.gate.Decide(s)
}

// Validate returns what is wrong with the threshold, or nil.
func (a at[D]) Validate() error { return finite("the threshold", a.threshold) }

// Unwrap returns the gate that decides.
func (a at[D]) Unwrap() Gate[Standing, D] { return a.gate }

// Bands is the [Gate] of attempts with two bounds. A score that meets the threshold is
// accepted. One that is at most Margin below it is revised, and any other discarded.
type Bands struct {
	Margin float64 `json:"margin"` // width of the band of work that is revised, 0 to 100
}

// DefaultBands is the Gate of attempts of teams that are given none.
var DefaultBands = Bands{Margin: reviseSpan}

// Decide returns Accept, Revise or Discard. Figures are rounded to six decimals first, and
// bounds are inclusive. A score that is not a number is discarded unless the threshold is 0.
func (b Bands) Decide(s Standing) Decision {
	switch {
	case Passes(s.Score, s.Threshold):
		return Accept
	case Round6(s.Score) >= Round6(s.Threshold-b.Margin):
		return Revise
	default:
		return Discard
	}
}

// Validate returns what is wrong with b, or nil.
func (b Bands) Validate() error { return percentage("Margin", b.Margin) }

// AtLeast is the [Gate] of attempts that accepts a score of at least this one, whatever the
// Standing's threshold is, and has others revised. 0 accepts every score. It has the unit
// of the scores.
type AtLeast float64

// Decide returns Accept or Revise. Figures are rounded to six decimals first.
func (a AtLeast) Decide(s Standing) Decision {
	if Passes(s.Score, float64(a)) {
		return Accept
	}
	return Revise
}

// Validate returns what is wrong with a, or nil.
func (a AtLeast) Validate() error { return finite("the score", float64(a)) }

// Hysteresis is [Bands] that, once they have refused work, want Extra more than the
// threshold, at most 100. So work that was poor is not accepted for reaching the bound by
// chance.
type Hysteresis struct {
	Bands
	Extra float64 `json:"extra"` // points that are wanted above the threshold after a refusal, 0 to 100
}

// Decide returns what h.Bands decide, with a higher threshold if s has earlier scores.
func (h Hysteresis) Decide(s Standing) Decision {
	if len(s.Before) > 0 && s.Threshold > 0 {
		s.Threshold = min(s.Threshold+h.Extra, 100)
	}
	return h.Bands.Decide(s)
}

// Validate returns what is wrong with h, or nil.
func (h Hysteresis) Validate() error {
	if err := h.Bands.Validate(); err != nil {
		return err
	}
	return percentage("Extra", h.Extra)
}

// Reserve is the [Gate] of reviews. A score that meets the threshold passes, and one that
// is Margin above it, or 100, is approved.
type Reserve struct {
	Margin float64 `json:"margin"` // points that are wanted above the threshold for approval, 0 to 100
}

// DefaultReserve is the Gate of reviews of teams that are given none.
var DefaultReserve = Reserve{Margin: reviewMargin}

// Decide returns Rejected below the threshold, then RevisionNeeded, and Approved. Without a
// threshold all is approved. Figures are rounded to six decimals, and bounds are inclusive.
func (r Reserve) Decide(s Standing) ReviewStatus {
	t := Round6(s.Threshold)
	switch {
	case !Passes(s.Score, s.Threshold):
		return Rejected
	case t == 0, Round6(s.Score) >= min(Round6(t+r.Margin), 100):
		return Approved
	default:
		return RevisionNeeded
	}
}

// Validate returns what is wrong with r, or nil.
func (r Reserve) Validate() error { return percentage("Margin", r.Margin) }

// Rounds is the [Gate] of work that is made in rounds. It goes by the number of the try and
// by Standing.Most, the last one.
type Rounds struct{}

// Decide returns Complete if the score meets the threshold, ForceComplete if it does not and
// no round is left, else Continue. Figures are rounded to six decimals first. A score that
// is not a number is never good enough.
func (Rounds) Decide(s Standing) Verdict {
	switch {
	case Round6(s.Score) >= Round6(s.Threshold):
		return Complete
	case s.Try < s.Most:
		return Continue
	default:
		return ForceComplete
	}
}

// finite returns an error that names a figure if x is negative or no number.
func finite(name string, x float64) error {
	if !(x >= 0) || math.IsInf(x, 0) { // NaN is refused, too
		return fmt.Errorf("%s is %v, want 0 or more", name, x)
	}
	return nil
}

// percentage returns an error that names the field if x is not a number from 0 to 100.
func percentage(field string, x float64) error {
	if !(x >= 0 && x <= 100) { // NaN is refused, too
		return fmt.Errorf("%s is %v, want 0 to 100", field, x)
	}
	return nil
}
