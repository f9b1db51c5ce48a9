package grading

// DefaultThreshold is the passing threshold, in percent, of an agent for which
// neither the agent nor its department sets one.
const DefaultThreshold = 60

// ResolveThreshold returns the threshold that holds for an agent, from 0 to
// 100: the agent's own, else its department's, else DefaultThreshold.
//
// Nil means missing. A pointer to 0 is a value like any other and means that
// there is no gate. Values are those that configuration accepts, 0
// to 100; they are returned unchanged.
func ResolveThreshold(agent, dept *float64) float64 {
	switch {
	case agent != nil:
		return *agent
	case dept != nil:
		return *dept
	default:
		return DefaultThreshold
	}
}
