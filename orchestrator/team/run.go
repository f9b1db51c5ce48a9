package team

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team/prompt"
	"github.com/convene-go/convene/routing"
)

// Start says how a run of a team begins.
type Start struct {
	Team    string                // name of the team's kind in codes and kinds, such as "poetry"
	Asked   string                // request of the run, in words
	Outcome *orchestrator.Outcome // outcome that the flow returns: it is embedded in the team's
	Limits  Limits                // limits of the run: input.Limits.Or(config.Limits)
	Permit  orchestrator.Permit   // rule that lets moves happen; nil: all may
	Prompts prompt.Set            // templates for the prompts of seats
	Waits   agent.Code            // code of the error of a move that waits for a person, in a run that asks none; "": people are asked
	State   func() any            // state for Run.State; nil: none is exposed
	Path    string                // path of the run's own records; "": none
	Agents  []string              // agents that the flow declares, which a Retrier may name; nil: any
}

// Run is a run of a team: it emits events, keeps warnings, asks rules and permits, and
// completes the Outcome. Only the branches of that run may use it.
type Run struct {
	Start
	trail  *trail
	asked  map[string]int      // how often a Permit was asked about a move, by path and event
	failed map[agent.Code]bool // codes of errors of rules and of the Permit in this run
	extra  *bool               // WarnDropped has warned, in any part of the run
}

// Begin starts a run: it exposes the state and emits run.started. The Context that it
// returns is under the budget of the limits: all that follows uses that.
func Begin(c *orchestrator.Context, s Start) (*Run, *orchestrator.Context) {
	r := &Run{Start: s, trail: &trail{path: s.Path}, asked: map[string]int{}, failed: map[agent.Code]bool{}, extra: new(bool)}
	r.Outcome.Asked = s.Asked
	if s.State != nil {
		c.Expose(func() any { return raw(s.State()) })
	}
	r.Emit(c, RunStarted.Of(r.Team), &Event{Asked: s.Asked})
	return r, c.WithBudget(s.Limits.Budget())
}

// Code returns a code of the team, "<team>/<what>".
func (r *Run) Code(what string) agent.Code { return agent.Code(r.Team + "/" + what) }

// Part returns r for a part of the run: the warnings that it raises are in an Outcome of its
// own, from which the caller takes them.
func (r *Run) Part() *Run {
	own := *r
	own.Outcome = &orchestrator.Outcome{}
	return &own
}

// Warn records something that went wrong without ending the run, in the Outcome and as
// warning.raised, in one line. who is the member or part that it is about; "" is the run.
func (r *Run) Warn(c *orchestrator.Context, code agent.Code, who, format string, args ...any) {
	w := orchestrator.Warning{Code: string(code), Who: who, Message: prompt.OneLine(fmt.Sprintf(format, args...))}
	r.Outcome.Warnings = append(r.Outcome.Warnings, w)
	r.Emit(c, WarningRaised.Of(r.Team), &Event{Warning: &w})
}

// WarnDropped warns, once a run, that an answer of an agent had extra fields,
// which were left out: answer/extra-fields. Without names it does nothing. A [Seat] calls it; a team calls it for
// what it asks for by orchestrator.Ask, with Response.Dropped.
func (r *Run) WarnDropped(c *orchestrator.Context, agent string, names []string) {
	if len(names) == 0 || *r.extra {
		return
	}
	*r.extra = true
	r.Warn(c, "answer/extra-fields", agent, "extra fields were left out: %s", strings.Join(names, ", "))
}

// Settle sets what every Outcome has at its end: Spent, Elapsed and, if the flow set none,
// the Status by [Run.Ending]. It is for what needs a finished Outcome before [Run.End].
func (r *Run) Settle(c *orchestrator.Context, err error) {
	if r.Outcome.Status == "" {
		r.Outcome.Status = r.Ending(c, err)
	}
	r.Outcome.Spent, r.Outcome.Elapsed = c.Spent(), c.Elapsed()
}

// End settles the Outcome, and emits run.finished as the last record of the run. e has what
// the team adds to that; nil: nothing. It is called at every end.
func (r *Run) End(c *orchestrator.Context, err error, e Telling) {
	r.Settle(c, err)
	if e == nil {
		e = &Event{}
	}
	all := e.common()
	all.Status, all.Usage = r.Outcome.Status, &r.Outcome.Spent
	r.Emit(c, RunFinished.Of(r.Team), e)
}

// Ending returns the status of a run that ends with err: Canceled, OutOfBudget, Failed; for
// nil Partial if the Outcome has Unverified parts, else Completed. A team in which Unverified
// has more than parts of the result sets the Status itself.
func (r *Run) Ending(c *orchestrator.Context, err error) orchestrator.Status {
	switch {
	case c.IsCanceled(err):
		return orchestrator.Canceled
	case orchestrator.IsOver(err):
		return orchestrator.OutOfBudget
	case err != nil:
		return orchestrator.Failed
	case len(r.Outcome.Unverified) > 0:
		return orchestrator.Partial
	}
	return orchestrator.Completed
}

// Broke reports whether err is there because money, calls, tokens or time are used up, and
// not because c is canceled.
func Broke(c *orchestrator.Context, err error) bool {
	return orchestrator.IsOver(err) && !c.IsCanceled(err)
}

// Rule calls a rule of the host and returns its answer. name is the rule's field, such as
// "Rules.Gate", and who the member or part that needs the answer.
//
// A panic becomes an error. An error gets the code "<team>/rule" and is a warning, too: the
// part that needed the rule fails with it. It is not told to a model as a fault of its
// answer, and not tried again. An error that Ends the run passes unchanged. ask checks that
// the answer is in range; an answer that it refuses is not returned.
func Rule[T any](r *Run, c *orchestrator.Context, who, name string, ask func() (T, error)) (T, error) {
	v, err := guard(name, ask)
	if err == nil || Ends(err) {
		return v, err
	}
	r.failed[r.Code(failedRule)] = true
	r.Warn(c, r.Code(failedRule), who, "%s", err.Error())
	var none T
	return none, Fail(r.Code(failedRule), "%w", err)
}

// The codes of errors of the host's rules, behind the name of the team.
const failedRule, notPermitted = "rule", "not-permitted"

// IsHostError reports whether err is that of a rule of the host which failed in this run, or of a
// move which its Permit refused. Nothing else is done in the place of what failed so. An error
// of another run, which an agent has made, is not the host's.
func (r *Run) IsHostError(err error) bool {
	return r.failed[r.Code(failedRule)] && errors.Is(err, r.Code(failedRule)) ||
		r.failed[r.Code(notPermitted)] && errors.Is(err, r.Code(notPermitted))
}

// Decide asks a Gate, as [Rule] does, which gets a copy of s. A decision that is not one of
// known is an error.
func Decide[S any, D ~string](r *Run, c *orchestrator.Context, who, name string, gate grading.Gate[S, D], s S, known ...D) (D, error) { //nolint:revive // the run and its Context come first in all functions of this kind
	return Rule(r, c, who, name, func() (D, error) {
		d := gate.Decide(Clone(s))
		if !slices.Contains(known, d) {
			return d, fmt.Errorf("it is %q, want one of %q", d, known)
		}
		return d, nil
	})
}

// Figure asks a rule for a figure from 0 to most, as [Rule] does, and returns it with six
// decimals. Any other figure is an error, beside which Figure returns 0.
func Figure(r *Run, c *orchestrator.Context, who, name string, most float64, ask func() (float64, error)) (float64, error) { //nolint:revive // the run and its Context come first in all functions of this kind
	x, err := Rule(r, c, who, name, func() (float64, error) {
		x, err := ask()
		if err == nil && !(x >= 0 && x <= most) { // NaN is refused, too
			err = fmt.Errorf("it is %v, want 0 to %v", x, most)
		}
		return x, err
	})
	if err != nil {
		return 0, err
	}
	return grading.Round6(x), nil
}

// Rank asks a Ranker, as [Rule] does, and returns the indexes of the entries, the best first.
// The Ranker gets copies. An order that has not each entry once is an error.
func Rank(r *Run, c *orchestrator.Context, who string, ranker grading.Ranker, entries []grading.Ranked) ([]int, error) {
	return Rule(r, c, who, "Rules.Ranker", func() (order []int, _ error) {
		for _, e := range ranker.Rank(Clone(entries)) {
			i := slices.IndexFunc(entries, func(known grading.Ranked) bool { return known.ID == e.ID })
			switch {
			case i < 0:
				return nil, fmt.Errorf("%q is no entry", e.ID)
			case slices.Contains(order, i):
				return nil, fmt.Errorf("%q is ranked twice", e.ID)
			}
			order = append(order, i)
		}
		if len(order) < len(entries) {
			return nil, fmt.Errorf("%d are ranked, want all %d", len(order), len(entries))
		}
		return order, nil
	})
}

// Select asks a Selector, as [Rule] does, and returns the indexes of the candidates that it
// selects. The Selector gets copies, and may be given no candidate. To select one that is unknown, inactive or selected before is an error, and so is
// to select more than need.Count.
func Select(r *Run, c *orchestrator.Context, who string, selector routing.Selector, candidates []routing.Candidate, need routing.Need) ([]int, error) { //nolint:revive // the run and its Context come first in all functions of this kind
	return Rule(r, c, who, "Rules.Selector", func() (chosen []int, _ error) {
		for _, p := range selector.Select(Clone(candidates), Clone(need)) {
			i := slices.IndexFunc(candidates, func(known routing.Candidate) bool { return known.ID == p.ID })
			switch {
			case i < 0 || candidates[i].Inactive:
				return nil, fmt.Errorf("%q is no active candidate", p.ID)
			case slices.Contains(chosen, i):
				return nil, fmt.Errorf("%q is chosen twice", p.ID)
			}
			chosen = append(chosen, i)
		}
		if len(chosen) > need.Count {
			return nil, fmt.Errorf("%d are chosen, want at most %d", len(chosen), need.Count)
		}
		return chosen, nil
	})
}

// Again asks a Retrier whether work is tried again, after tries that were not good enough. The
// Retrier gets copies. Again says no after orchestrator.MaxTries. The caller waits Again.After.
func Again(r *Run, c *orchestrator.Context, retrier orchestrator.Retrier, of orchestrator.Working, tries []orchestrator.Try) (orchestrator.Again, error) {
	if retrier == nil || len(tries) >= orchestrator.MaxTries {
		return orchestrator.Again{}, nil
	}
	return Rule(r, c, of.ID, "Rules.Retrier", func() (orchestrator.Again, error) {
		next := retrier.Next(of, Clone(tries))
		if next.Retry && next.Agent != "" && r.Agents != nil && !slices.Contains(r.Agents, next.Agent) {
			return next, fmt.Errorf("Agent is %q, which is no agent of the flow: the rule's method Agents() []string must name it", next.Agent)
		}
		return next, nil
	})
}
