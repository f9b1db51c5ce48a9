package routing

// Candidate is a worker that can be chosen for a piece of work, such as a
// specialist of a department; its head is not one.
type Candidate struct {
	ID     string
	Skills []string // compared as words, in any case
	About  string   // strengths of the candidate as text: name, field, skills; "": not said

	// Inactive keeps the candidate from being chosen.
	Inactive bool

	// SuccessRate is the share of the candidate's work that succeeded, from 0 to
	// 100 percent. Nil means unknown and counts as 0.
	SuccessRate *float64
}

func (c Candidate) rate() float64 {
	if c.SuccessRate == nil {
		return 0
	}
	return *c.SuccessRate
}
