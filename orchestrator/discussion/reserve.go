package discussion

import (
	"cmp"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// need is what a part of a run uses of its budget.
type need struct {
	calls, tokens int64
	cost          providers.NanoUSD
}

func needOf(u providers.Usage) need { return need{u.Calls, u.Input + u.Output, u.Cost} }

// most returns the larger of each of two needs.
func (n need) most(other need) need {
	return need{max(n.calls, other.calls), max(n.tokens, other.tokens), max(n.cost, other.cost)}
}

func (n need) plus(other need) need {
	return need{n.calls + other.calls, n.tokens + other.tokens, n.cost + other.cost}
}

func (n need) minus(other need) need {
	return need{n.calls - other.calls, n.tokens - other.tokens, n.cost - other.cost}
}

// fits reports whether n is left of a budget.
func (n need) fits(left orchestrator.Budget) bool {
	return does(left.Calls, n.calls) && does(left.Tokens, n.tokens) && does(left.Cost, n.cost)
}

func does[N ~int64](left, wanted N) bool { return left == 0 || max(left, 0) >= wanted }

// decider returns the duty of the member without whose call the run would come to nothing: the
// one who scores, else the leader, who chooses; and what that makes. "" means that there will be
// no ideas.
func (c Config) decider() (d Duty, makes string) {
	switch {
	case !c.has(Propose):
		return "", ""
	case c.has(Score):
		return Score, "the scores"
	}
	return Lead, "the choice"
}

// deciding returns what the decider will use: one call, as large as the largest so far.
func (r *run) deciding() (n need) {
	who, _ := r.cfg.decider()
	if who == "" {
		return need{}
	}
	n = r.largest
	n.calls = 1
	if known := cmp.Or(r.cfg.who(who).Estimate, r.Limits.Estimate); known > 0 {
		n.cost = known
	}
	return n
}

// beside does a part of a run, such as a round, under what is left beside what the decider will
// use. If that is not enough and there are ideas, the part is cut short with a warning, and the run
// goes on to the decision.
func (r *run) beside(c *orchestrator.Context, part string, do func(c *orchestrator.Context) error) (cut bool, err error) {
	n, left, within := r.deciding(), c.Left(), c
	if n != (need{}) && left.Calls|left.Tokens|int64(left.Cost) != 0 {
		within = c.WithBudget(orchestrator.Budget{
			Calls: team.Rest(left.Calls, n.calls), Tokens: team.Rest(left.Tokens, n.tokens), Cost: team.Rest(left.Cost, n.cost), AllowUnpriced: left.AllowUnpriced,
		})
	}
	if err = do(within); err == nil || !team.Broke(within, err) || len(r.out.Discussion.Ideas) == 0 {
		return false, err
	}
	if left = c.Left(); left.Wall < 0 || !n.fits(left) { // the decider cannot be asked either
		return false, err
	}
	_, makes := r.cfg.decider()
	r.Warn(c, r.Code("budget"), "", "%s was cut short: what is left is for %s", part, makes)
	return true, nil
}

// affords reports whether what is left does for another round and for the decider. It warns if
// not.
func (r *run) affords(c *orchestrator.Context, round need) bool {
	n := r.deciding()
	if n == (need{}) || n.plus(round).fits(c.Left()) {
		return true
	}
	_, makes := r.cfg.decider()
	r.Warn(c, r.Code("budget"), "", "round %d was not begun: what is left would not do for it and for %s", r.round+1, makes)
	return false
}
