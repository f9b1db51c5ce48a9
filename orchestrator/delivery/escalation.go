package delivery

import (
	"cmp"
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
	LevelCritical Level = "CRITICAL" // the same, with a final warning
	LevelAbort    Level = "ABORT"    // the run ends
)

var levels = []Level{LevelNone, LevelRemind, LevelCorrect, LevelRefocus, LevelCritical, LevelAbort}

// Above reports whether l is a stronger intervention than other.
func (l Level) Above(other Level) bool {
	return slices.Index(levels, l) > slices.Index(levels, other)
}

// Fresh reports whether the next request leaves out earlier output and older feedback.
func (l Level) Fresh() bool { return l.Above(LevelCorrect) }

// higher returns the stronger one.
func higher(a, b Level) Level {
	if b.Above(a) {
		return b
	}
	return a
}

// Ladder says which scores and how many consecutive issues lead to which level. A zero
// field is its default; orchestrator.None disables that rule.
type Ladder struct {
	Remind  float64 `json:"remind,omitempty"`  // a score, 0 to 100, below which the level is REMIND; 0: 70
	Correct float64 `json:"correct,omitempty"` // below which it is CORRECT; 0: 50
	Refocus float64 `json:"refocus,omitempty"` // below which it is REFOCUS; 0: 30

	CorrectAt  int `json:"correctAt,omitempty"`  // consecutive issues from which on it is CORRECT; 0: 2
	RefocusAt  int `json:"refocusAt,omitempty"`  // REFOCUS; 0: 3
	CriticalAt int `json:"criticalAt,omitempty"` // CRITICAL; 0: 4
	AbortAt    int `json:"abortAt,omitempty"`    // ABORT; 0: 5
}

func (l Ladder) withDefaults() Ladder {
	l.Remind, l.Correct, l.Refocus = cmp.Or(l.Remind, 70), cmp.Or(l.Correct, 50), cmp.Or(l.Refocus, 30)
	l.CorrectAt, l.RefocusAt = cmp.Or(l.CorrectAt, 2), cmp.Or(l.RefocusAt, 3)
	l.CriticalAt, l.AbortAt = cmp.Or(l.CriticalAt, 4), cmp.Or(l.AbortAt, 5)
	return l
}

// validate adds what is wrong with a ladder that has its defaults.
func (l Ladder) validate(f *team.Faults) {
	scores := []struct {
		field string
		below float64
	}{{"Policy.Ladder.Remind", l.Remind}, {"Policy.Ladder.Correct", l.Correct}, {"Policy.Ladder.Refocus", l.Refocus}}
	for i, s := range scores {
		if s.below != off {
			f.Within(s.field, s.below, 0, 100)
		}
		if i > 0 && s.below > scores[i-1].below && scores[i-1].below != off {
			f.Add("%s is %v, want at most %s, %v", s.field, s.below, scores[i-1].field, scores[i-1].below)
		}
	}
	counts := []struct {
		field string
		from  int
	}{{"Policy.Ladder.CorrectAt", l.CorrectAt}, {"Policy.Ladder.RefocusAt", l.RefocusAt}, {"Policy.Ladder.CriticalAt", l.CriticalAt}, {"Policy.Ladder.AbortAt", l.AbortAt}}
	for i, c := range counts {
		if c.from != off && c.from < 1 {
			f.Add("%s is %d, want 1 or more", c.field, c.from)
		}
		if i > 0 && c.from != off && c.from < counts[i-1].from {
			f.Add("%s is %d, want at least %s, %d", c.field, c.from, counts[i-1].field, counts[i-1].from)
		}
	}
}

// byScore returns the level of a score, 0 to 100. Scores are rounded to six
// decimals; a bound belongs to the lighter level.
func (l Ladder) byScore(score float64) Level {
	switch score = grading.Round6(score); {
	case l.Refocus != off && score < l.Refocus:
		return LevelRefocus
	case l.Correct != off && score < l.Correct:
		return LevelCorrect
	case l.Remind != off && score < l.Remind:
		return LevelRemind
	}
	return LevelNone
}

// byCount returns the level of n consecutive issues.
func (l Ladder) byCount(n int) Level {
	switch reached := func(from int) bool { return from != off && n >= from }; {
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

// Escalation counts consecutive issues over all agents of a run. An issue is a verdict,
// or a check without a model, that does not pass. Ungraded work is no issue and changes
// nothing.
type Escalation struct {
	Issues int   `json:"issues"`
	Level  Level `json:"level"` // of the last verdict; "" before the first
}

// passed counts a verdict that passes its gate; a low score may still lead to a level.
func (e *Escalation) passed(l Ladder, score float64) {
	e.Issues, e.Level = 0, l.byScore(score)
}

// rejected counts a verdict that does not pass.
func (e *Escalation) rejected(l Ladder, score float64) {
	e.Issues++
	e.Level = higher(l.byScore(score), l.byCount(e.Issues))
}

// local counts a rejection without a model.
func (e *Escalation) local(l Ladder) {
	e.Issues++
	e.Level = higher(LevelRemind, l.byCount(e.Issues))
}
