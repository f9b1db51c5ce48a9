package discussion

import (
	"errors"
	"slices"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
)

// Rules are the rules of a team that the host may replace. Nil is the rule of
// [DefaultRules]. In JSON a rule is the fields of its default. A rule that fails, or answers
// out of its range, ends the run with [ErrRule].
type Rules struct {
	// Turns says who speaks next in a round. Default: InOrder.
	Turns Turns `json:"turns,omitempty"`

	// Grader grades the ideas after the rounds. If it fails it is asked once more; then the
	// ideas are ungraded. Default: ByModerator.
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

// Turns is a rule of a team: it says who speaks next in a round.
//
// Next gets the round so far, and returns the role of a member who may speak in rounds, or
// "": then the round is over. A round has at most 100 turns. Next is a pure function: it is
// called before each turn, and again when a run is resumed, with equal arguments.
type Turns interface{ Next(r Round) Role }

// TurnsFunc is a function as [Turns].
type TurnsFunc func(r Round) Role

// Next returns f(r).
func (f TurnsFunc) Next(r Round) Role { return f(r) }

// Round is a round that is under way.
type Round struct {
	Number     int        // number of the round, from 1
	DeepDive   int        // Rounds.DeepDive
	Members    []Role     // roles of the team
	Spoken     []Role     // roles that had their turn in this round, in order; failed turns count
	Discussion Discussion // all that was said so far; a copy
}

// InOrder is the [Turns] of a fixed order: researcher, ideation, critic, implementer, in deep
// dives ideation and critic again, then the leader, who sums up. Critic, implementer and deep
// dives have a turn only if there are ideas by then.
type InOrder struct{}

// Next returns the first role in the order that did not have its turn.
func (InOrder) Next(r Round) Role {
	order := []Role{Researcher, Ideation, Critic, Implementer}
	if slices.Contains(r.Members, Ideation) && slices.Contains(r.Members, Critic) {
		for range r.DeepDive {
			order = append(order, Ideation, Critic)
		}
	}
	spoken := 0
	for i, role := range append(order, TeamLeader) {
		if spoken < len(r.Spoken) {
			if r.Spoken[spoken] == role {
				spoken++
			}
			continue
		}
		onIdeas := role == Critic || role == Implementer || role == Ideation && i > 1
		if slices.Contains(r.Members, role) && (!onIdeas || len(r.Discussion.Ideas) > 0) {
			return role
		}
	}
	return ""
}

// Work is what a Grader of a team grades: the ideas of a discussion.
type Work struct {
	Discussion Discussion // all that was said; a copy

	moderate func(c *orchestrator.Context) ([]Evaluation, error) // nil: the team has no moderator
}

// ByModerator is the Grader that asks the moderator of the team. A Grader of the host may
// call it, and change what it returns.
type ByModerator struct{}

// Grade returns the moderator's evaluations.
func (ByModerator) Grade(c *orchestrator.Context, w Work) ([]Evaluation, error) {
	if w.moderate == nil {
		return nil, errors.New("the team has no moderator")
	}
	return w.moderate(c)
}
