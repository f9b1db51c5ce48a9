package director

import (
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// errNoMoney says that what is left is not enough for another attempt.
var errNoMoney = team.Fail(orchestrator.ErrBudget, "no money is left for another attempt")

// shares are the parts of the run's money that workers under way have been given.
type shares struct {
	whole providers.NanoUSD // money of the run when the first share was given
	given map[string]*share // shares by the key of the branch
	tight map[string]bool   // tasks whose last share was too small
}

type share struct {
	money providers.NanoUSD
	spent providers.NanoUSD // cost of calls that have ended
	all   bool              // it is all that was left
}

// rest returns what is left of all shares.
func (s *shares) rest() (sum providers.NanoUSD) {
	for _, one := range s.given {
		sum += max(0, one.money-one.spent)
	}
	return sum
}

// reserve returns the money that is kept for reviews.
func (r *run) reserve() providers.NanoUSD {
	return providers.NanoUSD(float64(r.shares.whole) * r.Bounds.Reserve / 100)
}

// share returns the money of an attempt at a task that begins now: what is left
// without the reserve for reviews and what attempts under way still have, divided by the
// free places. A task whose last share was too small waits until it is alone, and then gets
// all there is: before that no share would be larger. nil: there is no limit on money; false:
// there is not enough now.
func (r *run) share(c *orchestrator.Context, task string) (*share, bool) {
	s, left := &r.shares, c.Left().Cost
	if left == 0 {
		return nil, true
	}
	if s.given == nil {
		s.given, s.tight, s.whole = map[string]*share{}, map[string]bool{}, max(0, left)+c.Spent().Cost
	}
	alone, free := len(s.given) == 0, max(1, r.Bounds.Parallel-len(s.given))
	if s.tight[task] {
		free = 1
	}
	part := (s.whole - c.Spent().Cost - r.reserve() - s.rest()) / providers.NanoUSD(free)
	if part <= 0 && alone {
		r.overspent(c, errNoMoney)
	}
	if part <= 0 || s.tight[task] && !alone {
		return nil, false
	}
	return &share{money: part, all: alone && free == 1}, true
}

// overspent notes why no attempt begins any more.
func (r *run) overspent(c *orchestrator.Context, err error) {
	if r.over == nil {
		r.over = err
		r.Emit(c, EventBudgetExceeded, &Event{Event: team.Event{Text: err.Error()}})
	}
}

// underShare runs the branch of an attempt under its share, which was given before. If the
// share ends it, but not the run's money, the task gets all there is at its next attempt.
func (r *run) underShare(c *orchestrator.Context, key, task string, do func(c *orchestrator.Context) error) error {
	s := &r.shares
	one := s.given[key]
	if one == nil {
		return do(c)
	}
	err := do(c.WithBudget(orchestrator.Budget{Cost: one.money, AllowUnpriced: c.Left().AllowUnpriced}))
	delete(s.given, key)
	left := c.Left()
	if one.all || !orchestrator.IsOver(err) || left.Calls < 0 || left.Tokens < 0 || left.Wall < 0 {
		return err
	}
	s.tight[task] = true
	return nil
}

// note keeps what the branch of that key, whose context c is, has spent: other branches
// cannot ask its context.
func (s *shares) note(c *orchestrator.Context, key string) {
	if one := s.given[key]; one != nil {
		one.spent = c.Spent().Cost
	}
}
