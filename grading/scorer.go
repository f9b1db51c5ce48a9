package grading

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Mark is one figure that a score is made of: what a grader gave for one dimension, or the
// score of one part of the work.
type Mark struct {
	Name     string  // name of the dimension or of the part
	Value    float64 // figure on the team's scale
	Weight   float64 // weight that the team knows of, such as a relevance; 0: none
	Passed   bool    // whether a part has passed its gate; false for dimensions
	Ungraded bool    // whether there is no Value
}

// Marks are in the team's order. Names are unique.
type Marks []Mark

// Scorer is a rule of a team: it makes one score of marks.
//
// It gets all marks, and returns a score on their scale: 0 to 100 unless the team says
// otherwise. An error, and a score outside of the scale, fails the part of the run that
// needed it. Score is a pure function: it is called once for each decision, and again when
// a run is resumed, with equal arguments. Its answer should not depend on the marks' order.
type Scorer interface {
	Score(marks Marks) (float64, error)
}

// Named is a [Scorer] that says which marks it makes its score of. Teams want these from their
// graders. A team says what it wants for a Scorer without Names.
type Named interface {
	Scorer
	Names() []string // names of the marks, in the order in which a grader is asked for them
}

// ScorerFunc is a function as a [Scorer].
type ScorerFunc func(marks Marks) (float64, error)

// Score returns f(marks).
func (f ScorerFunc) Score(marks Marks) (float64, error) { return f(marks) }

// Weighted is the [Scorer] by names: the mean of the marks in which each weighs what stands
// here for its name. Only the proportions of weights matter. Marks of other names do not
// count.
type Weighted map[string]float64

// The Scorers of outputs, and of researched articles, of teams that are given none. They
// must not be changed: copy them with [maps.Clone].
var (
	DefaultDimensions = Weighted{"quality": 40, "relevance": 30, "consistency": 30}
	DefaultFacets     = Weighted{"article": 0.30, "source": 0.25, "factual": 0.25, "writing": 0.20}
)

// Names returns the names of all weights, sorted.
func (w Weighted) Names() []string { return slices.Sorted(maps.Keys(w)) }

// Score returns the weighted mean, rounded to six decimals. A name without a mark, a mark
// that is no number, and weights that Validate refuses are errors that name them.
func (w Weighted) Score(marks Marks) (float64, error) {
	faults := []error{w.Validate()}
	var sum, total float64
	seen := make(map[string]bool, len(w))
	for _, m := range marks {
		weight, counts := w[m.Name]
		if !counts || m.Ungraded {
			continue
		}
		if !isNumber(m.Value) {
			faults = append(faults, fmt.Errorf("%s is %v, want a number", m.Name, m.Value))
		}
		seen[m.Name] = true
		sum += weight * m.Value
		total += weight
	}
	for _, name := range w.Names() {
		if !seen[name] {
			faults = append(faults, fmt.Errorf("there is no mark for %q", name))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return 0, fmt.Errorf("grading: %w", err)
	}
	return mean(sum, total)
}

// mean returns sum/total, rounded to six decimals, or an error if one of them has overflowed.
func mean(sum, total float64) (float64, error) {
	if !isNumber(sum) || !isNumber(total) {
		return 0, errors.New("grading: marks times weights add up to no number: they are too large")
	}
	return Round6(sum / total), nil
}

// maxWeight is the most that weights add up to. Beyond it marks times weights may overflow.
const maxWeight = 1e300

// Validate returns what is wrong with w, or nil: a weight that is negative or no number, and
// weights that add up to 0 or to more than 1e300.
func (w Weighted) Validate() error {
	var faults []error
	total := 0.0
	for _, name := range w.Names() {
		faults = append(faults, finite("the weight of "+name, w[name]))
		total += w[name]
	}
	switch {
	case errors.Join(faults...) != nil:
	case total == 0:
		faults = append(faults, errors.New("all weights are 0"))
	case total > maxWeight:
		faults = append(faults, fmt.Errorf("the weights of %s add up to %v, want at most %v", strings.Join(w.Names(), ", "), total, maxWeight))
	}
	return errors.Join(faults...)
}

// UnmarshalJSON sets w to the weights of data. Names that are not in data have none: what w
// had before is gone. The error has all faults of weights, each with the weight's name.
func (w *Weighted) UnmarshalJSON(data []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return err //nolint:wrapcheck // as encoding/json says it
	}
	weights := make(Weighted, len(members))
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var weight float64
		err := json.Unmarshal(members[name], &weight)
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			wrong.Field = name
		}
		weights[name], faults = weight, append(faults, err)
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	*w = weights
	return nil
}

// Mean is the [Scorer] by the marks' own weights. If these add up to 0 it is the plain mean.
// A negative weight is 0. Marks that are Ungraded do not count. Without any other mark the
// score is 0.
type Mean struct{}

// Score returns the mean, rounded to six decimals. A mark or weight that is no number is an
// error that names it, and so are figures that overflow.
func (Mean) Score(marks Marks) (float64, error) {
	var values, weights []float64
	for _, m := range marks {
		if m.Ungraded {
			continue
		}
		if !isNumber(m.Value) {
			return 0, fmt.Errorf("grading: %s is %v, want a number", m.Name, m.Value)
		}
		if !isNumber(m.Weight) {
			return 0, fmt.Errorf("grading: the weight of %s is %v, want a number", m.Name, m.Weight)
		}
		values, weights = append(values, m.Value), append(weights, m.Weight)
	}
	return weightedMean(values, weights)
}

// Approval is the [Scorer] of many workers' results, on a scale of 0 to 100. It is made of
// the share of results that passed, and of the mean of those that have a score.
type Approval struct {
	Passed float64 `json:"passed"` // weight of the share of results that passed, 0 or more
	Mean   float64 `json:"mean"`   // weight of the mean score, 0 or more
}

// DefaultApproval is the Scorer of departments of teams that are given none.
var DefaultApproval = Approval{Passed: 60, Mean: 40}

// Score returns the score, rounded to six decimals. The order of marks does not matter, and
// without marks it is 0. Ungraded results count in the share by Passed, and not in the mean.
func (a Approval) Score(marks Marks) (float64, error) {
	if err := a.Validate(); err != nil {
		return 0, fmt.Errorf("grading: %w", err)
	}
	if len(marks) == 0 {
		return 0, nil
	}
	var passed, scored, micros int64 // whole numbers, so that the order cannot matter
	for _, m := range marks {
		if m.Passed {
			passed++
		}
		if m.Ungraded {
			continue
		}
		if !isNumber(m.Value) {
			return 0, fmt.Errorf("grading: %s is %v, want a number", m.Name, m.Value)
		}
		scored++
		micros += int64(math.Round(m.Value * 1e6))
	}
	share := a.Passed * float64(passed) / float64(len(marks))
	mean := a.Mean * float64(micros) / (100 * 1e6 * float64(max(scored, 1)))
	return Round6(100 / (a.Passed + a.Mean) * (share + mean)), nil
}

// Validate returns what is wrong with a, or nil.
func (a Approval) Validate() error {
	return Weighted{"Passed": a.Passed, "Mean": a.Mean}.Validate()
}

// isNumber reports whether x is neither NaN nor infinite.
func isNumber(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// weightedMean returns the mean of values in which values[i] weighs weights[i],
// rounded to six decimals. The unit and range are those of the values.
//
// If the weights add up to 0, or are nil, it is the plain mean; without values it
// is 0. A value without a weight, or with a negative one, weighs nothing. What overflows is an
// error.
func weightedMean(values, weights []float64) (float64, error) {
	if len(values) == 0 {
		return 0, nil
	}
	var sum, total, plain float64
	for i, v := range values {
		plain += v
		if i < len(weights) && weights[i] > 0 {
			sum += v * weights[i]
			total += weights[i]
		}
	}
	if total == 0 {
		return mean(plain, float64(len(values)))
	}
	return mean(sum, total)
}
