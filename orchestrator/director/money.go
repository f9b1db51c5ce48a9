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
	given map[string]share // by the key of the branch
}

type share struct {
	money providers.NanoUSD
	c     *orchestrator.Context // of which it is the budget
}

// rest is what is left of all of them.
func (s *shares) rest() (sum providers.NanoUSD) {
	for _, one := range s.given {
		sum += max(0, one.money-one.c.Spent().Cost)
	}
	return sum
}

// share is the money that an attempt may take which begins now: what is left without the
// reserve for reviews and what attempts under way still have, divided by the free places.
// 0: there is no limit on money; false: there is nothing left.
func (r *run) share(c *orchestrator.Context) (providers.NanoUSD, bool) {
	left := c.Left().Cost
	if left == 0 {
		return 0, true
	}
	free := max(1, r.Limits.Parallel-len(r.shares.given))
	part := (left - r.reserve(c) - r.shares.rest()) / providers.NanoUSD(free)
	if part <= 0 {
		r.exceed(c)
		return 0, false
	}
	return part, true
}

// reserve is the money that is kept for reviews of what is finished.
func (r *run) reserve(c *orchestrator.Context) providers.NanoUSD {
	whole := r.Limits.Cost
	if whole == 0 {
		whole = max(0, c.Left().Cost) + c.Spent().Cost
	}
	return providers.NanoUSD(float64(whole) * r.Limits.Reserve / 100)
}

// exceed notes that no attempt begins any more.
func (r *run) exceed(c *orchestrator.Context) {
	if r.over == nil {
		r.over = errNoMoney
		c.Emit(EventBudgetExceeded, Event{Text: errNoMoney.Error()})
	}
}

// open gives the branch of that key its share.
func (s *shares) open(c *orchestrator.Context, key string, money providers.NanoUSD) *orchestrator.Context {
	if money == 0 {
		return c
	}
	c = c.WithBudget(orchestrator.Budget{Cost: money, AllowUnpriced: c.Left().AllowUnpriced})
	if s.given == nil {
		s.given = map[string]share{}
	}
	s.given[key] = share{money, c}
	return c
}

// close takes back what is left of it.
func (s *shares) close(key string) { delete(s.given, key) }
