package discussion

import (
	"errors"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
)

// Rules are the rules of a team that the host may replace. Nil is the rule of
// [DefaultRules]. In JSON a rule is the fields of its default. A rule that fails, or answers
// out of its range, ends the run with [ErrRule].
type Rules struct {
	// Turns says who speaks next in a round. Default: InOrder.
	Turns Turns `json:"turns,omitempty"`

	// Grader grades the ideas after the rounds. If it fails it is asked once more, and so it
	// is for those ideas that it gave no usable grade; then these are ungraded. Evaluations of
	// ideas that it was not asked for do not count. Default: ByModerator.
	Grader orchestrator.Grader[Work, []Evaluation] `json:"-"`

	// Scorer makes a score, 0 to 10, of the marks of an idea that has no score of its own.
	// Marks have the names of the Scorer's criteria. They are the names of a
	// grading.Weighted, the Names of another grading.Named, or those of the default.
	// Default: five criteria with equal weights.
	Scorer grading.Scorer `json:"scorer,omitempty"`

	// Gate decides whether the score of an idea is good enough: grading.Accept. Standing has the
	// score and the Policy's Threshold, 0 to 10. A Bands.Margin may be 0 to 100 nevertheless:
	// it only tells revise from discard, which are alike here. Default: grading.Bands.
	Gate grading.Gate[grading.Standing, grading.Decision] `json:"gate,omitempty"`

	// Ranker orders the ideas, the best first. Default: grading.ByScore.
	Ranker grading.Ranker `json:"ranker,omitempty"`

	// Retrier decides about another round (Working.Role "round"), and about asking ideation
	// again for missing ideas ("ideas"). Max is Rounds.Max and Policy.Attempts; Try.Score is
	// the number of ideas by then. Of an answer about a round, Retry and After count, and an
	// Agent is a fault. Default: orchestrator.Attempts.
	Retrier orchestrator.Retrier `json:"retrier,omitempty"`

	// Permit lets moves happen: start, replied, round_done, to_validation, to_selection,
	// to_report. What it refuses ends the run, with all that was said. Nil: all may happen.
	Permit orchestrator.Permit `json:"-"`

	// Report is a pure function that makes Outcome.Report from the finished outcome, whatever
	// its status, in place of the ui_creator's HTML. If it fails, that is a warning with the
	// code discussion/rule, and the status stays. [Page] is one. Nil: that HTML.
	Report func(o Outcome) (html string, err error) `json:"-"`
}

// DefaultRules are the rules of teams that are given none.
func DefaultRules() Rules {
	even := grading.Weighted{}
	for _, name := range criteria {
		even[name] = 1
	}
	return Rules{Turns: InOrder{}, Grader: ByModerator{}, Scorer: even, Gate: grading.Bands{}, Ranker: grading.ByScore{}, Retrier: orchestrator.Attempts{}}
}

// Work is what a Grader of a team grades: ideas of a discussion.
type Work struct {
	Discussion Discussion // all that was said; a copy
	Ideas      []Idea     // ideas to grade: all, or those without a usable grade, which the Grader is asked for once more

	moderate func(c *orchestrator.Context, ideas []Idea) ([]Evaluation, error) // nil: the team has no moderator
}

// ByModerator is the Grader that asks the moderator of the team about Work.Ideas. A Grader of the host may
// call it, and change what it returns.
type ByModerator struct{}

// Grade returns the moderator's evaluations.
func (ByModerator) Grade(c *orchestrator.Context, w Work) ([]Evaluation, error) {
	if w.moderate == nil {
		return nil, errors.New("the team has no moderator")
	}
	return w.moderate(c, w.Ideas)
}
