package portfolio

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"time"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/providers"
)

// Stage is how far a project is.
type Stage string

// The stages of projects, in their order. KILLED is final.
const (
	Idea        Stage = "IDEA"
	Researching Stage = "RESEARCHING"
	Validating  Stage = "VALIDATING"
	Building    Stage = "BUILDING"
	Launching   Stage = "LAUNCHING"
	Operating   Stage = "OPERATING"
	Killed      Stage = "KILLED"
)

// Action is what happens to a project.
type Action string

// The actions. Keep changes no stage.
const (
	Promote Action = "promote" // to the next stage
	Keep    Action = "keep"
	Kill    Action = "kill"
)

// Stages is the table of stages: one step up at a time, and KILLED from any.
var Stages = fsm.MustNew(fsm.Definition[Stage, Action, string]{
	Initial:  Idea,
	States:   []Stage{Idea, Researching, Validating, Building, Launching, Operating, Killed},
	Terminal: []Stage{Killed},
	Rules: []fsm.Rule[Stage, Action, string]{
		{On: Promote, From: []Stage{Idea}, To: Researching},
		{On: Promote, From: []Stage{Researching}, To: Validating},
		{On: Promote, From: []Stage{Validating}, To: Building},
		{On: Promote, From: []Stage{Building}, To: Launching},
		{On: Promote, From: []Stage{Launching}, To: Operating},
		{On: Kill, To: Killed},
	},
})

// Project is one project of a portfolio.
type Project struct {
	ID    string `json:"id"`
	Stage Stage  `json:"stage"` // in an Entry "" is IDEA

	// Score is how promising it is, from 0 to 1. Nil means that it is not graded: then
	// it is kept, without money.
	Score *float64 `json:"score,omitempty"`

	LastProgress time.Time `json:"lastProgress"` // in an Entry the zero time is the start of the run
}

// Policy says what becomes of projects. orchestrator.None is "never" and "no limit".
type Policy struct {
	Promote float64 `json:"promote,omitzero"` // a score of this or more is promoted; in a Config 0 is 0.7
	Kill    float64 `json:"kill,omitzero"`    // a score below this is killed; in a Config 0 is 0.2

	// StaleAfter is how long a project may be without progress before it is killed. 0: no
	// limit.
	StaleAfter time.Duration `json:"staleAfter,omitzero"`

	// Slots is how many projects may run at once. 0: all.
	Slots int `json:"slots,omitzero"`
}

// Order is what becomes of a project.
type Order struct {
	Project string            `json:"project"`
	Action  Action            `json:"action"`
	Stage   Stage             `json:"stage"`  // afterwards
	Budget  providers.NanoUSD `json:"budget"` // its share of the budget, rounded down
	Runs    bool              `json:"runs"`   // it has one of the slots
}

// Allocate returns an order for each project that is not killed already, in their order.
//
// Stale projects are killed, and those with a score below Policy.Kill; those with a score
// of Policy.Promote or more are promoted, but for OPERATING ones. The budget is shared in
// proportion to the scores of those that are left; if these are all 0, none gets any.
// The slots go to the highest scores, of equals to the smallest IDs; a project without
// money has none. A budget of 0 gives slots alone, to the scores above 0.
//
// Scores are rounded to six decimals. The error joins all faults: an ID that is empty or
// listed twice, an unknown stage, a score or bound that is not within 0 to 1, a budget
// below 0.
func Allocate(projects []Project, budget providers.NanoUSD, p Policy, now time.Time) ([]Order, error) {
	if err := check(projects, budget, p); err != nil {
		return nil, fmt.Errorf("portfolio: %w", err)
	}
	orders := make([]Order, 0, len(projects))
	var shares []uint64 // of orders, in millionths
	var sum uint64
	for _, project := range projects {
		if project.Stage == Killed {
			continue
		}
		order := decide(project, p, now)
		var share uint64
		if order.Action != Kill && project.Score != nil {
			share = uint64(grading.Round(1e6 * *project.Score))
		}
		orders, shares, sum = append(orders, order), append(shares, share), sum+share
	}
	for i, share := range shares {
		if share > 0 {
			high, low := bits.Mul64(uint64(budget), share)
			money, _ := bits.Div64(high, low, sum)
			orders[i].Budget = providers.NanoUSD(money)
		}
		if orders[i].Budget == 0 && budget > 0 {
			shares[i] = 0
		}
	}
	giveSlots(orders, shares, p.Slots)
	return orders, nil
}

// stale says whether a project without progress since then is killed.
func (p Policy) stale(since, now time.Time) bool {
	return p.StaleAfter > 0 && now.Sub(since) > p.StaleAfter
}

// decide returns what becomes of a project, without money.
func decide(project Project, p Policy, now time.Time) Order {
	order := Order{Project: project.ID, Action: Keep, Stage: project.Stage}
	score := project.Score
	switch {
	case p.stale(project.LastProgress, now), score != nil && grading.Round6(*score) < grading.Round6(p.Kill):
		order.Action = Kill
	case p.Promote >= 0 && score != nil && grading.Round6(*score) >= grading.Round6(p.Promote):
		order.Action = Promote
	}
	to, ok := Stages.Next(project.Stage, order.Action)
	if !ok {
		order.Action = Keep // there is nothing above it
	}
	order.Stage = to
	return order
}

// giveSlots lets those run that have the largest shares.
func giveSlots(orders []Order, shares []uint64, slots int) {
	var first []int
	for i := range orders {
		if shares[i] > 0 {
			first = append(first, i)
		}
	}
	slices.SortFunc(first, func(a, b int) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(orders[a].Project, orders[b].Project))
	})
	if slots > 0 {
		first = first[:min(slots, len(first))]
	}
	for _, i := range first {
		orders[i].Runs = true
	}
}

func check(projects []Project, budget providers.NanoUSD, p Policy) error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	within := func(field string, x float64) {
		if !(x >= 0 && x <= 1) { // also refuses NaN
			bad("%s is %v, want 0 to 1", field, x)
		}
	}
	bound := func(field string, x float64) {
		if x != orchestrator.None {
			within(field, x)
		}
	}
	bound("policy.promote", p.Promote)
	bound("policy.kill", p.Kill)
	if budget < 0 {
		bad("budget is %d, want 0 or more", budget)
	}
	seen := map[string]bool{}
	for i, project := range projects {
		if project.ID == "" || seen[project.ID] {
			bad("projects[%d]: id %q is empty or taken", i, project.ID)
		}
		seen[project.ID] = true
		if !slices.Contains(Stages.States(), project.Stage) {
			bad("projects[%d] %q: stage is %q, want one of %q", i, project.ID, project.Stage, Stages.States())
		}
		if project.Score != nil {
			within(fmt.Sprintf("projects[%d] %q: score", i, project.ID), *project.Score)
		}
	}
	return errors.Join(faults...)
}
