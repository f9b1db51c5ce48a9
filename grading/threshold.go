package grading

// DefaultThreshold is the score, in percent, that passes where no threshold is configured.
const DefaultThreshold = 60

// Threshold is a rule of a team: it says which score a subject's work must reach.
//
// It gets the subject with its configured thresholds, and the subject's scores in earlier
// runs, oldest first, if the team knows any. It returns a score on the team's scale; 0 means
// that there is no gate. It is a pure function: it is called once for each decision, and
// again when a run is resumed, with equal arguments.
type Threshold interface {
	Threshold(of Subject, history []float64) float64
}

// ThresholdFunc is a function as a [Threshold].
type ThresholdFunc func(of Subject, history []float64) float64

// Threshold returns f(of, history).
func (f ThresholdFunc) Threshold(of Subject, history []float64) float64 { return f(of, history) }

// Fixed is the [Threshold] of the configuration: the subject's own, else its group's, else
// Otherwise.
type Fixed struct {
	Otherwise float64 `json:"otherwise"` // threshold where none is configured, 0 to 100; 0: no gate
}

// DefaultFixed is the Threshold of teams that are given none.
var DefaultFixed = Fixed{Otherwise: DefaultThreshold}

// Threshold returns of.Own, of.Shared or f.Otherwise, unchanged: the first that is there.
func (f Fixed) Threshold(of Subject, _ []float64) float64 {
	switch {
	case of.Own != nil:
		return *of.Own
	case of.Shared != nil:
		return *of.Shared
	default:
		return f.Otherwise
	}
}

// Validate returns what is wrong with f, or nil.
func (f Fixed) Validate() error { return percentage("Otherwise", f.Otherwise) }

// Adaptive is [Fixed] that follows the subject's history. It suits agents that work in many
// runs, on a scale of 0 to 100.
type Adaptive struct{ Fixed }

// These bound how thresholds follow a history; percentages, but for the number of samples.
const (
	adaptSamples = 10
	adaptMargin  = 10
	adaptStep    = 5
	adaptLowest  = 40
	adaptHighest = 90
)

// Threshold returns the threshold of a.Fixed, moved towards the mean of history minus 10 by
// at most 5, and then kept within 40 to 90. With fewer than 10 scores, or one that is no number,
// it is not moved, nor is a threshold of 0, which means that there is no gate. The result has six decimals.
func (a Adaptive) Threshold(of Subject, history []float64) float64 {
	current := a.Fixed.Threshold(of, history)
	if len(history) < adaptSamples || current == 0 {
		return current
	}
	average, err := weightedMean(history, nil)
	if err != nil { // a history with what is no score moves nothing
		return current
	}
	step := min(max(average-adaptMargin-current, -adaptStep), adaptStep)
	return Round6(min(max(current+step, adaptLowest), adaptHighest))
}
