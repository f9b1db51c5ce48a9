package delivery

import (
	"slices"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator/team"
)

// Level says how strongly the supervisor intervenes.
type Level string

// The levels, from the lightest on.
const (
	LevelNone     Level = "NONE"     // no intervention
	LevelRemind   Level = "REMIND"   // a remark in the next request
	LevelCorrect  Level = "CORRECT"  // a clear redirection
	LevelRefocus  Level = "REFOCUS"  // the next request has only the goal, the step and the correction
	LevelCritical Level = "CRITICAL" // a final warning, beside what REFOCUS does
	LevelAbort    Level = "ABORT"    // the run ends
)

var levels = []Level{LevelNone, LevelRemind, LevelCorrect, LevelRefocus, LevelCritical, LevelAbort}

// above reports whether l is a stronger intervention than other.
func (l Level) above(other Level) bool {
	return slices.Index(levels, l) > slices.Index(levels, other)
}

// higher returns the stronger one.
func higher(a, b Level) Level {
	if b.above(a) {
		return b
	}
	return a
}

// Escalating is what Rules.Ladder knows of a verdict.
type Escalating struct {
	Gate   string  // gate that the verdict is of; "monitor": a look between verdicts, which passes
	Target string  // ID of the plan or step; "goal": the whole
	Score  float64 // score, 0 to 100; 0 if Local
	Passed bool    // true: the work passed its gate
	Local  bool    // true: the work was rejected by a rule, without a model
	Issues int     // number of rejections in a row over all members, this one included
	Before Level   // level of the verdict before; "": this is the first
}

// Ladder is the Gate of verdicts by their score and by the number of rejections in a row. A
// field that is 0 or orchestrator.None disables its rule.
type Ladder struct {
	Remind  float64 `json:"remind" min:"-1" max:"100"`  // score, 0 to 100, below which the level is REMIND
	Correct float64 `json:"correct" min:"-1" max:"100"` // score below which it is CORRECT
	Refocus float64 `json:"refocus" min:"-1" max:"100"` // score below which it is REFOCUS

	CorrectAt  int `json:"correctAt" min:"-1"`  // number of rejections from which on it is CORRECT
	RefocusAt  int `json:"refocusAt" min:"-1"`  // number from which on it is REFOCUS
	CriticalAt int `json:"criticalAt" min:"-1"` // number from which on it is CRITICAL
	AbortAt    int `json:"abortAt" min:"-1"`    // number from which on it is ABORT
}

// Decide returns the level of a verdict. What passes is judged by its score, so it never
// aborts; a rejection without a model is REMIND at least.
func (l Ladder) Decide(e Escalating) Level {
	switch {
	case e.Passed:
		return l.byScore(e.Score)
	case e.Local:
		return higher(LevelRemind, l.byCount(e.Issues))
	}
	return higher(l.byScore(e.Score), l.byCount(e.Issues))
}

// Validate returns what is wrong with l, or nil.
func (l Ladder) Validate() error {
	var f team.Faults
	f.Check(l)
	names, scores := []string{"Remind", "Correct", "Refocus"}, []float64{l.Remind, l.Correct, l.Refocus}
	for i, below := range scores {
		f.If(below > off && below < 0, "%s is %v, want 0 to 100", names[i], below)
	}
	for i := range len(scores) - 1 {
		f.If(scores[i] > 0 && scores[i+1] > scores[i], "%s is %v, want at most %s, %v", names[i+1], scores[i+1], names[i], scores[i])
	}
	names, counts := []string{"CorrectAt", "RefocusAt", "CriticalAt", "AbortAt"}, []int{l.CorrectAt, l.RefocusAt, l.CriticalAt, l.AbortAt}
	for i := range len(counts) - 1 {
		f.If(counts[i+1] > 0 && counts[i+1] < counts[i], "%s is %d, want at least %s, %d", names[i+1], counts[i+1], names[i], counts[i])
	}
	return f.Err()
}

// byScore returns the level of a score, 0 to 100. Scores are rounded to six decimals; a
// bound belongs to the lighter level.
func (l Ladder) byScore(score float64) Level {
	switch score = grading.Round6(score); {
	case score < l.Refocus:
		return LevelRefocus
	case score < l.Correct:
		return LevelCorrect
	case score < l.Remind:
		return LevelRemind
	}
	return LevelNone
}

// byCount returns the level of n rejections in a row.
func (l Ladder) byCount(n int) Level {
	switch reached := func(from int) bool { return from > 0 && n >= from }; {
	case reached(l.AbortAt):
		return LevelAbort
	case reached(l.CriticalAt):
		return LevelCritical
	case reached(l.RefocusAt):
		return LevelRefocus
	case reached(l.CorrectAt):
		return LevelCorrect
	}
	return LevelNone
}

// Escalation counts rejections in a row over all agents of a run. A rejection is a verdict,
// or a check without a model, that does not pass. Ungraded work changes nothing.
type Escalation struct {
	Issues int   `json:"issues"` // number of rejections in a row
	Level  Level `json:"level"`  // level of the last verdict; "" before the first
}
