package portfolio

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/fsm"
	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Stage is how far a project is: IDEA, RESEARCHING, VALIDATING, BUILDING, LAUNCHING,
// OPERATING, or Killed.
type Stage string

// Killed is the stage of a project that was stopped. It is final.
const Killed Stage = "KILLED"

const idea Stage = "IDEA"

// line has the stages in the order in which a project is promoted.
var line = []Stage{idea, "RESEARCHING", "VALIDATING", "BUILDING", "LAUNCHING", "OPERATING"}

// Action is what happens to a project.
type Action string

// The actions.
const (
	Promote Action = "promote" // leads to the next stage
	Keep    Action = "keep"    // changes no stage
	Kill    Action = "kill"    // leads to Killed
)

// stages is the table of stages: one step up at a time, and KILLED from any.
var stages = func() *fsm.Table[Stage, Action, string] {
	d := fsm.Definition[Stage, Action, string]{Initial: idea, States: append(slices.Clone(line), Killed), Terminal: []Stage{Killed}}
	for i, to := range line[1:] {
		d.Rules = append(d.Rules, fsm.Rule[Stage, Action, string]{On: Promote, From: line[i : i+1], To: to})
	}
	d.Rules = append(d.Rules, fsm.Rule[Stage, Action, string]{On: Kill, To: Killed})
	return fsm.MustNew(d)
}()

// Project is one project of a portfolio.
type Project struct {
	ID    string `json:"id"`    // name, which no other project has
	Stage Stage  `json:"stage"` // stage; in an Entry "" is IDEA

	// Score is how promising it is, from 0 to 1. Nil means that it is not graded: then
	// it is kept, without money.
	Score *float64 `json:"score,omitempty"`

	LastProgress time.Time `json:"lastProgress"` // time of the last score; in an Entry the zero time is the start of the run
}

// Means is what there is for the projects of a portfolio.
type Means struct {
	Budget providers.NanoUSD // money to be shared out; 0: there is none, or no limit
	Slots  int               // projects that may run at once; 0: all
	Now    time.Time         // time of the decision
}

// Allocator decides what becomes of projects. It is a function of its arguments. It returns
// one order for each project that is not KILLED. An error, a project twice, a stage to which
// no action leads, and budgets of more than there is are faults of the rule.
type Allocator interface {
	Allocate(projects []Project, has Means) ([]Order, error)
}

// AllocatorFunc is a function that is an Allocator.
type AllocatorFunc func(projects []Project, has Means) ([]Order, error)

// Allocate calls f.
func (f AllocatorFunc) Allocate(projects []Project, has Means) ([]Order, error) {
	return f(projects, has)
}

// Order is what becomes of a project.
type Order struct {
	Project string            `json:"project"`       // ID of the project
	Action  Action            `json:"action"`        // never ""
	Stage   Stage             `json:"stage"`         // stage to which Action leads; an Allocator may leave it out
	Budget  providers.NanoUSD `json:"budget"`        // money for its next round
	Runs    bool              `json:"runs"`          // it has one of the slots
	Why     string            `json:"why,omitempty"` // reason for Kill, in words
}

// Shares is the usual [Allocator]. Promising projects are promoted, weak and stale ones
// killed, and the money is shared in proportion to the scores.
//
// Of projects that are left the highest scores get the slots, of equals the smallest IDs.
// One without money gets no slot. A Budget of 0 gives only slots, to the scores above 0.
// Scores are rounded to six decimals.
type Shares struct {
	Promote    float64       `json:"promote"`             // least score that is promoted, 0 to 1; orchestrator.None: none is
	Kill       float64       `json:"kill"`                // scores below are killed, 0 to 1; orchestrator.None: none is
	StaleAfter time.Duration `json:"staleAfter,omitzero"` // time without progress after which a project is killed; 0, orchestrator.None: none is
}

// Validate returns all faults of s.
func (s Shares) Validate() error {
	var f team.Faults
	if s.Promote != orchestrator.None {
		f.Within("Promote", s.Promote, 0, 1)
		f.If(s.Promote < s.Kill, "Promote is %v, want Kill (%v) or more: a project is either promoted or killed", s.Promote, s.Kill)
	}
	if s.Kill != orchestrator.None {
		f.Within("Kill", s.Kill, 0, 1)
	}
	f.If(s.StaleAfter < orchestrator.None, "StaleAfter is %v, want -1ns or more", s.StaleAfter)
	return f.Err()
}

// Allocate implements [Allocator]. It returns the orders in the order of the projects.
func (s Shares) Allocate(projects []Project, has Means) ([]Order, error) {
	if err := errors.Join(s.Validate(), checkProjects(projects, has.Budget)); err != nil {
		return nil, err
	}
	orders, shares, sum := []Order{}, []uint64{}, uint64(0) // shares in millionths
	for _, project := range projects {
		if project.Stage == Killed {
			continue
		}
		order, share := s.decide(project, has.Now), uint64(0)
		if order.Action != Kill && project.Score != nil {
			share = uint64(grading.Round(1e6 * *project.Score))
		}
		orders, shares, sum = append(orders, order), append(shares, share), sum+share
	}
	var run []int
	for i, share := range shares {
		if share == 0 {
			continue
		}
		high, low := bits.Mul64(uint64(has.Budget), share)
		money, _ := bits.Div64(high, low, sum)
		if orders[i].Budget = providers.NanoUSD(money); money > 0 || has.Budget == 0 {
			run = append(run, i)
		}
	}
	slices.SortFunc(run, func(a, b int) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(orders[a].Project, orders[b].Project))
	})
	for n, i := range run {
		orders[i].Runs = has.Slots <= 0 || n < has.Slots
	}
	return orders, nil
}

// next returns the stage to which an order leads; false: no action leads on from there.
func (o Order) next(from Stage) (Stage, bool) {
	if o.Action == Keep {
		return from, true
	}
	return stages.Next(from, o.Action)
}

// decide returns what becomes of a project, without money.
func (s Shares) decide(project Project, now time.Time) Order {
	order, score := Order{Project: project.ID, Action: Keep}, project.Score
	switch {
	case s.StaleAfter > 0 && now.Sub(project.LastProgress) > s.StaleAfter:
		order.Action, order.Why = Kill, "no progress for more than "+inWords(s.StaleAfter)
	case score != nil && grading.Round6(*score) < grading.Round6(s.Kill):
		order.Action, order.Why = Kill, fmt.Sprintf("its score of %.2f is below %.2f", *score, s.Kill)
	case s.Promote >= 0 && score != nil && grading.Round6(*score) >= grading.Round6(s.Promote):
		order.Action = Promote
	}
	var higher bool
	if order.Stage, higher = order.next(project.Stage); !higher {
		order.Action, order.Stage = Keep, project.Stage
	}
	return order
}

// inWords is a time as people say it: whole days as days.
func inWords(d time.Duration) string {
	const day = 24 * time.Hour
	switch days := d / day; {
	case d%day != 0 || days == 0:
		return strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
	case days == 1:
		return "1 day"
	default:
		return fmt.Sprintf("%d days", days)
	}
}
