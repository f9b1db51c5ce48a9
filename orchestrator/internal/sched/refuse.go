package sched

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/convene-go/convene/blackboard"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/providers"
)

// refuse records that a budget refuses e, where that is a call or a child, and
// returns why. What the log says stands over why.
func (s *Sched) refuse(e *effect, why *agent.Error) *agent.Error {
	if !e.budgeted() {
		return why
	}
	d := engine.RefusedData{Err: why, After: s.applied, Nth: s.refused}
	if e.known.Refused != nil {
		d = *e.known.Refused
	}
	s.refused++
	s.emit(blackboard.Record{Kind: blackboard.Refused, Branch: e.Branch, N: e.N, Name: e.Name}, d)
	return d.Err
}

// refusedNow reports whether the log says that e was refused at this place.
func (s *Sched) refusedNow(e *effect) bool {
	r := e.known.Refused
	return r != nil && (e.Kind == engine.Child || s.applied >= r.After)
}

// refuseAsRecorded refuses the calls that the log says were refused at this place,
// whether they wait today or are under way.
func (s *Sched) refuseAsRecorded() {
	var now []*effect
	s.refusals = slices.DeleteFunc(s.refusals, func(e *effect) bool {
		if !e.dead() && s.refusedNow(e) {
			now = append(now, e)
			return true
		}
		return e.dead()
	})
	slices.SortFunc(now, func(a, b *effect) int { return cmp.Compare(a.known.Refused.Nth, b.known.Refused.Nth) })
	for _, e := range now {
		s.release(e)
		s.turnAway(e, nil)
	}
}

// turnAway refuses a call that waits or was under way.
func (s *Sched) turnAway(e *effect, why *agent.Error) {
	s.queue.remove(e)
	why = s.refuse(e, why)
	e.settled = true
	s.cancel(e)
	s.resolve(e, engine.Completion{Err: why})
}

func (s *Sched) emit(r blackboard.Record, data any) {
	var err error
	if r.Data, err = engine.Encode(data); err != nil { // cannot be: it is plain data
		s.broken("a %s record has no JSON form: %v", r.Kind, err)
	}
	s.port.Emit(r)
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
	return over("the time limit of %v is reached", max(sc.limit.Wall, 0))
}

// why is the error of e, which wants w, where the limit l of sc refuses it.
func (sc *Scope) why(e *effect, l limits, w want) *agent.Error {
	if l == onUnpriced {
		return over("%d calls have no known price, which a limit on cost does not allow without AllowUnpriced", sc.spent.Unpriced)
	}
	all := amounts{sc.limit.Calls, engine.Amount{Cost: sc.limit.Cost, Tokens: sc.limit.Tokens}}
	limit, unit := all.text(l)
	left, _ := all.plus(sc.gone().negative()).text(l)
	held, _ := sc.shares.text(l)
	siblings, children := "", ""
	if held != "0" {
		siblings = ": its siblings hold " + held + "; give each a share of its own with Split"
		children = " (child runs hold " + held + ": Split gives each a share)"
	}
	switch {
	case e.Kind == engine.Child:
		return over("nothing of %s %s is left for a child run%s", limit, unit, siblings)
	case l == onCalls:
		return over("the limit of %s calls is reached%s", limit, children)
	}
	wants, _ := amounts{Amount: w.Amount}.text(l)
	switch {
	case l == onCost && e.Request.Limits.Estimate > 0:
		wants += ", its Limits.Estimate"
	case w.alone&l != 0:
		wants = "an unknown amount"
	default:
		wants += ", the most that such a call used so far"
	}
	if l == onCost && e.Request.Limits.Estimate <= 0 {
		wants += ": Limits.Estimate can say what it will cost"
	}
	return over("%s of %s %s are left%s, and the call wants %s", left, limit, unit, children, wants)
}

// text is the amount that l limits, and its unit. Below zero is nothing.
func (a amounts) text(l limits) (amount, unit string) {
	switch l {
	case onCalls:
		return strconv.FormatInt(max(a.Calls, 0), 10), "calls"
	case onTokens:
		return strconv.FormatInt(max(a.Tokens, 0), 10), "tokens"
	case onCost, onUnpriced:
	}
	return strconv.FormatFloat(float64(max(a.Cost, 0))/float64(providers.USD), 'f', -1, 64), "USD"
}
