package director

import (
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/internal/team"
	"github.com/convene-go/convene/providers"
)

// errNoMoney says that the money does not reach for another attempt.
var errNoMoney = team.Fail(orchestrator.ErrBudget, "no money is left for another attempt")

// shares are the parts of the run's money that workers under way have been given.
type shares struct {
	whole providers.NanoUSD // the run's, when the first one was given
	given map[string]*share // by the key of the branch
}

type share struct {
	money providers.NanoUSD
	spent providers.NanoUSD // by calls that have ended
}

// rest is what is left of all of them.
func (s *shares) rest() (sum providers.NanoUSD) {
	for _, one := range s.given {
		sum += max(0, one.money-one.spent)
	}
	return sum
}

// share is the money that an attempt may take which begins now: what is left without the
// reserve for reviews and what attempts under way still have, divided by the free places.
// 0: there is no limit on money; false: there is nothing left.
func (r *run) share(c *orchestrator.Context) (providers.NanoUSD, bool) {
	s, left := &r.shares, c.Left().Cost
	if left == 0 {
		return 0, true
	}
	if s.given == nil {
		s.given, s.whole = map[string]*share{}, max(0, left)+c.Spent().Cost
	}
	reserve := providers.NanoUSD(float64(s.whole) * r.Limits.Reserve / 100)
	free := max(1, r.Limits.Parallel-len(s.given))
	part := (s.whole - c.Spent().Cost - reserve - s.rest()) / providers.NanoUSD(free)
	if part <= 0 {
		r.exceed(c)
		return 0, false
	}
	return part, true
}

// exceed notes that no attempt begins any more.
func (r *run) exceed(c *orchestrator.Context) {
	if r.over == nil {
		r.over = errNoMoney
		c.Emit(EventBudgetExceeded, Event{Text: errNoMoney.Error()})
	}
}

// give sets a share aside for the branch of that key, before it begins.
func (s *shares) give(key string, money providers.NanoUSD) {
	if money > 0 {
		s.given[key] = &share{money: money}
	}
}

// open puts the branch of that key under its share.
func (s *shares) open(c *orchestrator.Context, key string) *orchestrator.Context {
	one := s.given[key]
	if one == nil {
		return c
	}
	return c.WithBudget(orchestrator.Budget{Cost: one.money, AllowUnpriced: c.Left().AllowUnpriced})
}

// note keeps what the branch of that key, whose context c is, has spent: other branches
// cannot ask its context.
func (s *shares) note(c *orchestrator.Context, key string) {
	if one := s.given[key]; one != nil {
		one.spent = c.Spent().Cost
	}
}

// close takes back what is left of it.
func (s *shares) close(key string) { delete(s.given, key) }
