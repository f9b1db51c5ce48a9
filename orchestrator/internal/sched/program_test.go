package sched_test

import (
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
	"github.com/convene-go/convene/providers"
)

// program is what a branch of a random flow does.
type program []step

// step is an effect, or, by which of its fields are set, a group of branches, a
// budget around a program, or a program that is shielded.
type step struct {
	kind     engine.Kind // of an effect
	agent    string      // of a call
	cost     int64       // of a call or a child, in tokens too
	estimate int64       // of a call; of a child how many calls it lost
	models   int64       // calls of models that a call makes
	calls    int64       // limit on them that the flow sets; 0: none
	tokens   int64       // likewise
	fails    bool
	stops    bool // an error of the effect ends the program

	kids    []program
	limit   int   // kids at once; 0: all
	cancels []int // which kid is canceled after the nth was handed out; below 0: none
	take    int   // kids that are handed out; the others are left behind

	budget *engine.Budget
	inner  program
}

// programs draws programs. Only the root leaves branches behind.
func programs(depth int) *rapid.Generator[program] {
	return rapid.Custom(func(t *rapid.T) program {
		p := make(program, rapid.IntRange(1, 4).Draw(t, "steps"))
		for i := range p {
			p[i] = drawStep(t, depth)
		}
		return p
	})
}

func drawStep(t *rapid.T, depth int) step {
	const deepest = 3
	what := rapid.IntRange(0, 10).Draw(t, "what")
	switch {
	case depth == deepest || what < 4:
		return step{
			kind:     rapid.SampledFrom([]engine.Kind{engine.Call, engine.Call, engine.Call, engine.Sleep, engine.Await, engine.Child}).Draw(t, "kind"),
			agent:    rapid.SampledFrom([]string{"a", "a", "b"}).Draw(t, "agent"),
			cost:     rapid.Int64Range(0, 4).Draw(t, "cost"),
			estimate: rapid.SampledFrom([]int64{0, 0, 0, 1, 2, 4}).Draw(t, "estimate"),
			models:   rapid.SampledFrom([]int64{1, 1, 1, 2, 4}).Draw(t, "models"),
			calls:    rapid.SampledFrom([]int64{0, 0, 0, 0, 1, 3}).Draw(t, "limit on calls"),
			tokens:   rapid.SampledFrom([]int64{0, 0, 0, 0, 1, 4}).Draw(t, "limit on tokens"),
			fails:    rapid.IntRange(0, 5).Draw(t, "fails") == 5,
			stops:    rapid.IntRange(0, 3).Draw(t, "stops") == 3,
		}
	case what < 7:
		s := step{kids: rapid.SliceOfN(programs(depth+1), 1, 4).Draw(t, "kids"), limit: rapid.IntRange(0, 2).Draw(t, "limit")}
		if rapid.Bool().Draw(t, "calls side by side") {
			s.limit = 0
			s.kids = rapid.SliceOfN(rapid.Map(rapid.Custom(func(t *rapid.T) step { return drawStep(t, deepest) }), func(s step) program { return program{s} }), 2, 6).Draw(t, "calls")
		}
		s.take = len(s.kids)
		if depth == 0 {
			s.take = rapid.IntRange(0, len(s.kids)).Draw(t, "take")
		}
		s.cancels = rapid.SliceOfN(rapid.IntRange(-4, len(s.kids)-1), len(s.kids), len(s.kids)).Draw(t, "cancels")
		return s
	case what < 10:
		limit := func(name string) int64 { // often none
			return rapid.SampledFrom([]int64{0, 0, 0, 1, 2, 4, 8, 16, -1}).Draw(t, name)
		}
		b := &engine.Budget{Calls: limit("calls"), Tokens: limit("tokens"), Cost: providers.NanoUSD(limit("money")), Wall: time.Duration(limit("wall")) * time.Second}
		return step{budget: b, inner: programs(depth+1).Draw(t, "under a budget")}
	default:
		return step{inner: programs(depth+1).Draw(t, "shielded")}
	}
}

// execute does what p says on a branch, and says what came of it.
func (p program) execute(r *run, b *sched.Branch, u sched.Options) {
	defer r.say("%q leaves", b.Path())
	p.steps(r, b, u)
}

// steps tells whether p went on to its end.
func (p program) steps(r *run, b *sched.Branch, u sched.Options) bool {
	for _, s := range p {
		switch {
		case s.kids != nil:
			s.group(r, b, u)
		case s.budget != nil:
			sub := sched.Options{Scope: b.Scope(u.Scope, *s.budget), Shielded: u.Shielded}
			ok := s.inner.steps(r, b, sub)
			_, worked := b.Now()
			r.say("%q spent %d, left %+v", b.Path(), sub.Scope.Spent().Calls, sub.Scope.LeftAt(worked))
			if !ok {
				return false
			}
		case s.inner != nil:
			if !s.inner.steps(r, b, sched.Options{Scope: u.Scope, Shielded: true}) {
				return false
			}
		default:
			done := do(b, u, s.op())
			said, err := "ok", done.Err
			if done.End != nil && done.End.Err != nil {
				err = done.End.Err
			}
			if err != nil {
				said = fmt.Sprint(err.Codes)
			}
			r.say("%q %s", b.Path(), said)
			if err != nil && s.stops {
				return false
			}
		}
	}
	return true
}

func (s step) group(r *run, b *sched.Branch, u sched.Options) {
	g := b.Group()
	for next, taken := 0, 0; ; taken++ {
		for next < len(s.kids) && (s.limit == 0 || g.Running() < s.limit) {
			kid := s.kids[next]
			next++
			g.Go(u, func(b *sched.Branch) { kid.execute(r, b, u) })
		}
		if taken == s.take {
			return
		}
		i, ok := g.Next()
		if !ok {
			return
		}
		r.say("%q takes %d", b.Path(), i)
		if c := s.cancels[taken]; c >= 0 && c < next {
			g.Cancel(c, unwanted)
		}
	}
}

// op is s as an effect; what it is to cost goes with the request.
func (s step) op() engine.Op {
	req := agent.Request{Limits: agent.Limits{Estimate: providers.NanoUSD(s.estimate), MaxTokens: int(s.cost), Attempts: int(s.models), Calls: s.calls, Tokens: s.tokens}}
	if s.fails {
		req.Op = "fails"
	}
	return engine.Op{Kind: s.kind, Name: s.agent, Request: &req}
}

// completionOf is how an effect of a random program ends.
func completionOf(op *engine.Op) engine.Completion {
	c := engine.Completion{Op: op}
	if op.Kind != engine.Call && op.Kind != engine.Child {
		return c
	}
	u := usageOf(figures{1, int64(op.Request.Limits.MaxTokens)})
	if op.Kind == engine.Call {
		u.Calls = int64(op.Request.Limits.Attempts)
	}
	failed := &agent.Error{Message: "failed", Codes: []agent.Code{"acme/failed"}, Usage: u}
	fails := op.Request.Op == "fails"
	switch {
	case op.Kind == engine.Child:
		end := engine.End{
			Lost:    engine.Lost{Calls: int64(op.Request.Limits.Estimate)},
			Figures: engine.Figures{"b": {Most: engine.Amount{Cost: u.Cost, Tokens: u.Input}, Settled: 1}},
		}
		if fails {
			end.Err = &agent.Error{Message: "failed", Codes: []agent.Code{"acme/failed", engine.ErrOver}}
		}
		c.Response = &agent.Response{Data: agent.JSON(end), Usage: u}
	case fails:
		c.Err = failed
	default:
		c.Response = &agent.Response{Usage: u}
	}
	return c
}
