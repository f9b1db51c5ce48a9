package grading

// These bound the adaptation of thresholds; percentages, but for the number of
// samples.
const (
	adaptSamples = 10
	adaptMargin  = 10
	adaptStep    = 5
	adaptLowest  = 40
	adaptHighest = 90
)

// Adapt returns the next passing threshold of an agent whose threshold is
// current and whose scores so far are history, in any order.
//
// The threshold moves towards the mean of history minus 10, by at most 5, and is
// then kept within 40 to 90. With fewer than 10 scores, current is returned
// unchanged; so is a current of 0, which means that the agent has no gate. Scores
// and thresholds lie in 0..100; the result is rounded to six decimals.
func Adapt(current float64, history []float64) float64 {
	if len(history) < adaptSamples || current == 0 {
		return current
	}
	goal := WeightedMean(history, nil) - adaptMargin
	step := min(max(goal-current, -adaptStep), adaptStep)
	return Round6(min(max(current+step, adaptLowest), adaptHighest))
}
