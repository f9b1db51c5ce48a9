package sched

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// judge says whether e has to wait for room, and why it is refused: a call that
// would not fit even if all calls under way were free, or a child for which nothing
// is left. What the log knows is not refused: such a call waits.
func (s *Sched) judge(e *effect) (waits bool, why *agent.Error) {
	call := e.Kind == engine.Call
	if e.scope.limited == [3]bool{} || !e.budgeted() {
		return false, nil
	}
	f := s.figures[e.Name]
	if call {
		s.want(e, f)
	}
	for sc := e.scope; sc != nil; sc = sc.parent {
		if why := sc.refusal(e); why != nil {
			if e.recorded() {
				return call, nil
			}
			return false, why
		}
	}
	if !call {
		return false, nil
	}
	for sc := e.scope; sc != nil; sc = sc.parent {
		if sc.full(e.held) {
			sc.blocked = s.round
		}
		waits = waits || sc.blocked == s.round
	}
	return waits || e.guessed && f != nil && f.guesses >= max(f.Settled, 1), nil
}

// want sets what a call may use, as far as limits ask.
func (s *Sched) want(e *effect, f *figure) {
	most := s.all.Most
	switch {
	case s.all.Settled == 0:
		most = engine.Amount{Cost: unknown, Tokens: unknown}
	case f != nil && f.Settled > 0:
		most = f.Most
	}
	e.held, e.guessed = amounts{onCalls: 1}, false
	if e.scope.limited[onTokens] {
		e.held[onTokens], e.guessed = most.Tokens, true
	}
	switch estimate := e.Request.Limits.Estimate; {
	case !e.scope.limited[onCost]:
	case estimate <= 0:
		e.held[onCost], e.guessed = int64(most.Cost), true
	case e.known.Made:
		e.held[onCost] = int64(e.known.Reserved.Cost)
	default:
		e.held[onCost] = int64(estimate)
	}
}

// full reports whether a call that wants w has to wait for calls that are under way
// under sc.
func (sc *Scope) full(w amounts) bool {
	if sc.held[reserved][onCalls] == 0 {
		return false
	}
	for k, limit := range sc.limit {
		if limit != 0 && w[k] == unknown || exceeds(limit, plus(sc.used[k], sc.held[reserved][k]), w[k]) {
			return true
		}
	}
	return sc.alone
}

// reserve holds what e wants in its budgets, and tells its agent what it may cost.
func (s *Sched) reserve(e *effect) {
	if e.scope.limited[onCost] {
		l, left := &e.Request.Limits, e.scope.LeftAt(0)
		if l.Cost = e.cost; left.Cost > 0 && (l.Cost == 0 || left.Cost < l.Cost) {
			l.Cost, l.AllowUnpriced = left.Cost, left.AllowUnpriced
		}
	}
	want := e.held
	if e.guessed {
		s.figure(e.Name).guesses++
	}
	e.Reserved = engine.Amount{Cost: providers.NanoUSD(max(want[onCost], 0)), Tokens: max(want[onTokens], 0)}
	s.hold(e, reserved, e.reservation())
	for sc := e.scope; sc != nil && s.all.Settled == 0; sc = sc.parent {
		sc.alone = sc.limit[onCost] != 0 && want[onCost] == unknown || sc.limit[onTokens] != 0 && want[onTokens] == unknown
	}
}

// reservation is what counts as lost with e, if e is: a call and what was reserved
// for it, or the share of a child.
func (e *effect) reservation() amounts {
	if e.Kind == engine.Call {
		return amounts{1, e.Reserved.Tokens, int64(e.Reserved.Cost)}
	}
	return e.held
}

// hold counts a in an account of e's budgets, in place of what is held for e now.
func (s *Sched) hold(e *effect, at account, a amounts) {
	if e.at == reserved && e.guessed {
		s.figure(e.Name).guesses--
	}
	if e.at != nothing {
		e.scope.count(e.at, e.held.negative())
	}
	if at != nothing {
		e.scope.count(at, a)
	}
	e.at, e.held = at, a
}

// setAside gives a child what is left. It counts as used in all budgets around the
// child until that ends.
func (s *Sched) setAside(e *effect) {
	_, worked := s.port.Now()
	if e.Input == nil {
		e.Input = &engine.Input{}
	}
	share := e.scope.LeftAt(worked)
	e.Input.Budget, e.Input.Depth = share, s.depth+1
	e.Input.Figures = s.report(func(f *figure) engine.Figure { return f.Figure })
	if e.Input.Run != "" {
		e.Input.Run += "/" + e.Key()
	}
	s.hold(e, shared, amounts{max(share.Calls, 0), max(share.Tokens, 0), max(int64(share.Cost), 0)})
	s.children++
}

// class are calls that wait for room in a budget and are decided alike: while the
// first one waits, all do. So decisions cost as much as there are classes.
type class struct {
	key   classKey
	calls []*effect // the earliest first
}

type classKey struct {
	scope    *Scope
	agent    string
	estimate providers.NanoUSD
	recorded *effect // a call that the log knows has a class of its own
}

func (e *effect) before(place int64) int { return cmp.Compare(e.place, place) }

func earlier(a, b *class) int { return a.calls[0].before(b.calls[0].place) }

// enqueue has a call wait.
func (s *Sched) enqueue(e *effect) {
	key := classKey{scope: e.scope, agent: e.Name, estimate: e.Request.Limits.Estimate}
	if e.recorded() {
		key.recorded = e
	}
	c := s.classes[key]
	if c == nil {
		c = &class{key: key}
		s.classes[key] = c
		s.queue = append(s.queue, c)
	}
	i, _ := slices.BinarySearchFunc(c.calls, e.place, (*effect).before)
	c.calls = slices.Insert(c.calls, i, e)
	e.class = c
}

// dequeue takes e out of those that wait, if it is among them.
func (s *Sched) dequeue(e *effect) {
	c := e.class
	if c == nil {
		return
	}
	e.class = nil
	if i, _ := slices.BinarySearchFunc(c.calls, e.place, (*effect).before); i > 0 {
		c.calls = slices.Delete(c.calls, i, i+1)
	} else {
		c.calls = c.calls[1:] // in linear time for all
	}
	if len(c.calls) == 0 {
		delete(s.classes, c.key)
	}
}

// decide goes through the calls that wait, in their order: each starts, is refused,
// or keeps waiting. It is called when something of the log was applied.
func (s *Sched) decide() {
	for len(s.refusals) > 0 && s.refusals[0].known.Refused.After <= s.applied {
		e := s.refusals[0]
		s.refusals = s.refusals[1:]
		if e.branch.wait == e {
			s.turnAway(e, nil) // it waits today, or is under way
		}
	}
	s.round++
	s.queue = slices.DeleteFunc(s.queue, func(c *class) bool { return len(c.calls) == 0 })
	slices.SortFunc(s.queue, earlier)
	for i := 0; i < len(s.queue); {
		c := s.queue[i]
		if len(c.calls) == 0 {
			i++
			continue
		}
		e := c.calls[0]
		waits, why := s.judge(e)
		switch {
		case why != nil:
			s.turnAway(e, why)
		case waits:
			i++
			continue
		default:
			s.dequeue(e)
			s.admit(e)
		}
		if len(c.calls) > 0 {
			slices.SortFunc(s.queue[i:], earlier)
		} else {
			i++
		}
	}
}

// figure is what the run knows of an agent.
type figure struct {
	engine.Figure               // what its parent knew, too
	own           engine.Figure // what it and its children learned
	guesses       int64         // calls under way whose reservation is a guess
}

func (s *Sched) figure(name string) *figure {
	f := s.figures[name]
	if f == nil {
		f = &figure{}
		s.figures[name] = f
	}
	return f
}

// learnOf learns from a call. A failure that used nothing says nothing.
func (s *Sched) learnOf(e *effect, u *providers.Usage, answered bool) { //nolint:revive // what became of the call
	if seen := of(u).lost().Amount; e.Kind == engine.Call && (answered || seen != engine.Amount{}) {
		s.learn(e.Name, engine.Figure{Most: seen, Settled: 1})
	}
}

// learn counts calls of an agent and the most that one of them used.
func (s *Sched) learn(name string, seen engine.Figure) {
	f := s.figure(name)
	for _, g := range []*engine.Figure{&f.Figure, &f.own, &s.all} {
		g.Settled = plus(g.Settled, max(seen.Settled, 0))
		g.Most.Cost, g.Most.Tokens = max(g.Most.Cost, seen.Most.Cost), max(g.Most.Tokens, seen.Most.Tokens)
	}
}

// report are the figures of agents that are known.
func (s *Sched) report(which func(*figure) engine.Figure) engine.Figures {
	fs := engine.Figures{}
	for name, f := range s.figures { // the order does not matter to a map
		if got := which(f); got != (engine.Figure{}) {
			fs[name] = got
		}
	}
	return fs
}

func over(format string, args ...any) *agent.Error {
	return &agent.Error{Message: "budget: " + fmt.Sprintf(format, args...), Codes: []agent.Code{engine.ErrBudget, engine.ErrOver}}
}

// marked is why with ErrOver.
func marked(why *agent.Error) *agent.Error {
	if why == nil || slices.Contains(why.Codes, engine.ErrOver) {
		return why
	}
	over := *why
	over.Codes = append(slices.Clone(why.Codes), engine.ErrOver)
	return &over
}

func timeIsUp(sc *Scope) *agent.Error {
	return over("the time limit of %v is reached", max(sc.budget.Wall, 0))
}

// refusal is why sc has no room for e even if all calls under way were free; nil: it
// has. A limit on calls counts calls under way as used, and so does a child.
func (sc *Scope) refusal(e *effect) *agent.Error {
	for k, limit := range sc.limit {
		used := sc.used[k]
		if k == onCalls || e.Kind == engine.Child {
			used = plus(used, sc.held[reserved][k])
		}
		switch {
		case k == onCost && limit != 0 && sc.spent.Unpriced > 0 && !sc.budget.AllowUnpriced:
			return over("%d calls have no known price, which a limit on cost does not allow without AllowUnpriced", sc.spent.Unpriced)
		case exceeds(limit, used, e.held[k]):
			return sc.why(e, k)
		}
	}
	return nil
}

// why is the error of e where the limit k of sc refuses it.
func (sc *Scope) why(e *effect, k int) *agent.Error {
	units := [...]string{"calls", "tokens", "USD"}
	limit := amount(k, sc.limit[k]) + " " + units[k]
	siblings, children := "", ""
	if held := amount(k, sc.held[shared][k]); held != "0" {
		siblings = ": its siblings hold " + held + "; give each a share of its own with Split"
		children = " (child runs hold " + held + ": Split gives each a share)"
	}
	switch {
	case e.Kind == engine.Child:
		return over("nothing of %s is left for a child run%s", limit, siblings)
	case k == onCalls:
		return over("the limit of %s is reached%s", limit, children)
	}
	wants := "an unknown amount"
	switch {
	case k == onCost && e.Request.Limits.Estimate > 0:
		wants = amount(k, e.held[k]) + ", its Limits.Estimate"
	case e.held[k] != unknown:
		wants = amount(k, e.held[k]) + ", the most that such a call used so far"
	}
	if k == onCost && e.Request.Limits.Estimate <= 0 {
		wants += ": Limits.Estimate can say what it will cost"
	}
	return over("%s of %s are left%s, and the call wants %s", amount(k, sc.limit[k]-sc.used[k]), limit, children, wants)
}

// amount is n of what a limit of kind k limits, as text. Below zero is nothing.
func amount(k int, n int64) string {
	if k == onCost {
		return strconv.FormatFloat(float64(max(n, 0))/float64(providers.USD), 'f', -1, 64)
	}
	return strconv.FormatInt(max(n, 0), 10)
}
