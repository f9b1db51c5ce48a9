package portfolio

import (
	"fmt"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Config says how projects are worked on and judged. New copies it. In JSON, which has no
// Work, durations are "5m" or seconds, money is USD, and unknown fields are faults.
type Config[I, O any] struct {
	Name   string                  `json:"name,omitzero" default:"portfolio"` // name of the flow; "": "portfolio"
	Work   orchestrator.Flow[I, O] `json:"-"`                                 // one round of work at a project, such as a director; required
	Rules  Rules[I, O]             `json:"rules,omitzero"`                    // rules of the team
	Limits team.Limits             `json:"limits,omitzero"`                   // money and time of all projects together; 0: those of the run
	Bounds Bounds                  `json:"bounds,omitzero"`                   // sizes
}

// Rules are what a portfolio computes. Each may be the host's own; they are called once a
// decision, and again on replay, with copies of what the team has. One that fails has the
// code ErrRule.
type Rules[I, O any] struct {
	// Score returns how promising a project is after a round, from 0 to 1, by what came of
	// it. Nil means that it cannot be told. It is not asked about rounds that failed.
	// Outcomes of teams have scores on scales of their own. Required.
	Score func(p Project, out O) *float64 `json:"-"`

	// Brief returns the input of a round. in is the input of the entry, and p the project at
	// the stage that it has now. last is the outcome of its round before; nil: there is none.
	// Nil gives every round in. A project for which it fails makes no further round.
	Brief func(p Project, in I, last *O) I `json:"-"`

	// Allocator decides before the first round and after each one which projects go on.
	// Nil is DefaultShares.
	Allocator Allocator `json:"allocator"`
}

// Bounds are the sizes of a run.
type Bounds struct {
	Rounds int `json:"rounds,omitzero" default:"5" min:"1"` // rounds of one project; 0: 5
	Slots  int `json:"slots,omitzero" min:"-1"`             // projects that are worked on at once; 0: all
}

// DefaultShares are the Shares of a Config without an Allocator.
var DefaultShares = Shares{Promote: 0.7, Kill: 0.2}

func defaultRules[I, O any]() Rules[I, O] { return Rules[I, O]{Allocator: DefaultShares} }

// check adds what tags do not say to f.
func check[I, O any](c Config[I, O], f *team.Faults) {
	f.If(c.Work.Do == nil, "Work is missing: want the flow that works on a project")
	f.If(c.Rules.Score == nil, "Rules.Score is missing: want a function that grades a round from 0 to 1")
}

// complete sets the stages of the orders of an Allocator, and returns what is wrong with them.
func complete(orders []Order, projects []Project, budget providers.NanoUSD) error {
	var f team.Faults
	left, sum := map[string]Stage{}, providers.NanoUSD(0)
	for _, p := range projects {
		left[p.ID] = p.Stage
	}
	for i := range orders {
		o := &orders[i]
		stage, known := left[o.Project]
		f.If(!known, "orders[%d]: project is %q, want one order for each that is not killed", i, o.Project)
		delete(left, o.Project)
		to, moves := o.next(stage)
		f.If(known && !moves, "orders[%d]: action is %q, which a project at the stage %s cannot take", i, o.Action, stage)
		f.If(known && moves && o.Stage != "" && o.Stage != to, "orders[%d]: stage is %q, want %q, to which %s leads, or none", i, o.Stage, to, o.Action)
		f.If(o.Budget < 0 || o.Budget > budget-sum, "orders[%d]: the budgets have to be 0 or more, and together at most %d nano-USD", i, budget)
		sum += max(0, o.Budget)
		o.Stage = to
	}
	f.If(len(left) > 0, "orders: %d projects have none", len(left))
	return f.Err()
}

// checkProjects returns every fault of projects, and of what there is for them.
func checkProjects(projects []Project, budget providers.NanoUSD) error {
	var f team.Faults
	f.If(budget < 0, "budget is %d, want 0 or more", budget)
	seen := map[string]bool{}
	for i, p := range projects {
		f.If(p.ID == "" || seen[p.ID], "projects[%d]: id %q is empty or taken", i, p.ID)
		f.Name(fmt.Sprintf("projects[%d]: id", i), p.ID)
		seen[p.ID] = true
		_, known := stages.Next(p.Stage, Kill)
		f.If(!known && p.Stage != Killed, "projects[%d] %q: stage is %q, want one of %q", i, p.ID, p.Stage, stages.States())
		f.WithinIfSet(fmt.Sprintf("projects[%d] %q: score", i, p.ID), p.Score, 0, 1)
	}
	return f.Err()
}
