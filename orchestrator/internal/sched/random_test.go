package sched_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
	"github.com/convene-go/convene/providers"
)

// player is a random flow under way, in the scheduler or in the model.
type player interface { //nolint:interfacebloat // a whole game
	advance() string       // "done", "deadlock", or "": it waits
	key(i int) string      // of the ith effect under way; "": there are fewer
	move(what, key string) // "finish" an effect, "cancel" the run, or one of the moves of play
	leave()
	said() (told, notes, emits []string)
	tally() string
}

// game is what happened: the engine's moves, and what the flow and the scheduler
// made of them.
type game struct {
	Moves, Told, Notes, Emits []string
	End                       string
}

// play moves at random until the flow ends or waits for nothing.
func play(t *rapid.T, p player, choices []int) game {
	canceled := false
	var left []string // behind
	choose := func(int) string {
		c := 0
		if len(choices) > 0 {
			c, choices = choices[0], choices[1:]
		}
		n := 0
		for p.key(n) != "" {
			n++
		}
		require.NotZero(t, n, "the flow waits for nothing that is under way")
		key := p.key(c / 16 % n)
		told, _, _ := p.said()
		kind := ""
		for _, k := range []string{"call", "child"} {
			if slices.Contains(told, "start "+k+" "+key) {
				kind = k
			}
		}
		switch c % 16 {
		case 15:
			if !canceled {
				canceled = true
				return "cancel"
			}
		case 14:
			if kind == "call" && c/256%2 == 1 { // one of several processes is killed
				return "lose " + key
			}
			return "lose" // the process is killed
		case 13: // Close cuts a call
			if kind == "call" {
				return "cut " + key
			}
		case 12: // an agent or a child does not end
			if kind != "" && len(left) < 3 {
				left = append(left, key)
				return "leave " + key
			}
		case 10, 11: // it does after all
			if len(left) > 0 {
				return "late " + left[c/16%len(left)]
			}
		}
		if c%2 == 1 && slices.ContainsFunc(told, func(s string) bool { return givesUp(s, key) }) {
			return "drop " + key // the engine forgets what is not wanted any more
		}
		return "finish " + key
	}
	return follow(p, choose)
}

// givesUp tells whether s gives the effect of that key up for good.
func givesUp(s, key string) bool {
	return strings.HasPrefix(s, "cancel ") && strings.HasSuffix(s, " "+key) && !strings.HasPrefix(s, "cancel c")
}

// again makes the moves of another game.
func again(p player, moves []string) game {
	return follow(p, func(i int) string { return moves[i] })
}

func follow(p player, move func(i int) string) game {
	var g game
	for g.End = p.advance(); g.End == ""; g.End = p.advance() {
		m := move(len(g.Moves))
		g.Moves = append(g.Moves, m)
		what, key, _ := strings.Cut(m, " ")
		p.move(what, key)
	}
	p.leave()
	g.Told, g.Notes, g.Emits = p.said()
	if g.End == "done" {
		g.End += ", " + p.tally()
	}
	return g
}

// played is a player of the scheduler.
type played struct {
	*run
	over bool
	ops  map[string]*engine.Op
	log  []logged
}

// logged is what the log knows of a call.
type logged struct {
	move int // after which
	key  string
	engine.Recorded
}

func newPlayed(t *rapid.T, p program, limit engine.Budget, stays bool) *played { //nolint:revive // a root has two ways to end
	pl := &played{ops: map[string]*engine.Op{}}
	pl.run = newRun(t, limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
		if !stays {
			p.execute(r, b, sched.Options{Scope: sc})
			return
		}
		defer r.say("%q leaves", "")
		p.steps(r, b, sched.Options{Scope: sc})
		b.Sleep()
	})
	return pl
}

func (p *played) advance() string {
	p.t.Helper()
	done, err := p.s.Advance()
	var fault *agent.Error
	switch {
	case errors.As(err, &fault) && strings.HasPrefix(fault.Message, "deadlock"):
		return "deadlock"
	case done:
		p.over = true
		return "done"
	}
	require.NoError(p.t, err)
	return ""
}

func (p *played) key(i int) string {
	if i < len(p.under) {
		return p.under[i].Key()
	}
	return ""
}

func (p *played) move(what, key string) {
	p.moves++
	switch what {
	case "cancel":
		p.s.Complete(engine.Completion{Err: enough})
	case "drop":
		p.take(key)
	case "lose":
		p.kill(p.find(key))
	case "cut":
		p.s.Charge(p.find(key), usageOf(figures{1, 1}))
	case "late":
		p.s.Charge(p.ops[key], usageOf(figures{1, 1}))
	default:
		op := p.find(key)
		c := completionOf(op)
		if what == "leave" {
			p.ops[key] = op
			c = engine.Completion{Err: &agent.Error{Codes: []agent.Code{engine.ErrLeft}, Usage: providers.Usage{Calls: 1}}}
		}
		if op.Kind == engine.Call || op.Kind == engine.Child {
			p.log = append(p.log, logged{p.moves, key, engine.Recorded{Made: true, Reserved: op.Reserved}})
		}
		p.hand(key, c)
	}
}

// kill has the run lose a call that is under way, or all (nil).
func (p *played) kill(one *engine.Op) {
	p.under = slices.DeleteFunc(p.under, func(op *engine.Op) bool {
		return op.Kind == engine.Call && p.gaveUp[op] && (one == nil || op == one)
	})
	p.killed = true // what is canceled now does not complete
	if one == nil {
		p.s.Lose()
	} else {
		p.s.Lose(one)
	}
	p.killed = false
}

func (p *played) said() (told, notes, emits []string) {
	for _, r := range p.emitted {
		switch r.Kind {
		case runlog.Refused:
			var d engine.RefusedData
			_ = json.Unmarshal(r.Data, &d)
			emits = append(emits, fmt.Sprintf("refused %s after %d", engine.Key(r.Branch, r.N), d.After))
		case runlog.Lost:
			var d engine.Lost
			_ = json.Unmarshal(r.Data, &d)
			emits = append(emits, fmt.Sprintf("lost %d: %d calls, %d, %d", r.N, d.Calls, d.Cost, d.Tokens))
		}
	}
	return p.told, p.notes, emits
}

func (p *played) tally() string {
	var end engine.End
	p.s.Tally(&end)
	return tallied(end.Spent, end.Lost)
}

// known is what a log of so many moves knows of calls. What budgets refused since
// the last of them is in it, or not.
func (p *played) known(moves int, last bool) map[string]engine.Recorded { //nolint:revive // both logs are possible
	known := map[string]engine.Recorded{}
	for _, l := range p.log {
		if l.move <= moves {
			known[l.key] = l.Recorded
		}
	}
	for i, r := range p.emitted {
		if at := p.emittedAt[i]; r.Kind == runlog.Refused && (at < moves || at == moves && last) {
			d := &engine.RefusedData{}
			_ = json.Unmarshal(r.Data, d)
			known[engine.Key(r.Branch, r.N)] = engine.Recorded{Refused: d}
		}
	}
	return known
}

// The scheduler does what the model does, and the same again when the moves of the
// engine are repeated.
func TestRandomPrograms(t *testing.T) {
	for i := range 10 { // of a hundred programs each
		t.Run(fmt.Sprint(i), inBubble(func(t bubble) { rapid.Check(t, asTheModel) }))
	}
}

func asTheModel(t *rapid.T) {
	p := programs(0).Draw(t, "program")
	money := rapid.SampledFrom([]int64{0, 0, 8, 16, 30, 60})
	limit := engine.Budget{
		Calls: rapid.SampledFrom([]int64{0, 0, 5, 20}).Draw(t, "calls of the run"),
		Cost:  providers.NanoUSD(money.Draw(t, "money of the run")), Tokens: money.Draw(t, "tokens of the run"),
	}
	stays := rapid.IntRange(0, 3).Draw(t, "stays") == 3
	choices := make([]int, rapid.IntRange(0, 100).Draw(t, "choices"))
	chance := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "chance"), 0))
	for i := range choices {
		choices[i] = chance.IntN(1 << 12)
	}

	want := play(t, newModel(p, limit, stays), choices)
	pl := newPlayed(t, p, limit, stays)
	require.Equal(t, want, play(t, pl, choices))
	settled(t, pl)
	require.Equal(t, want, again(newPlayed(t, p, limit, stays), want.Moves), "the moves repeated")
	for _, n := range rapid.SliceOfN(rapid.IntRange(0, len(want.Moves)), 3, 3).Draw(t, "replayed") {
		r := newPlayed(t, p, limit, stays)
		r.recorded = pl.known(n, rapid.Bool().Draw(t, "the last refusals are on record"))
		got := again(r, want.Moves)
		got.Told = want.Told // a call that the log knows is begun when it is asked for
		require.Equal(t, want, got, "a replay of %d moves, and the rest", n)
	}
}

// A replay does not depend on limits and estimates of today: what was made is made,
// what was refused is refused, and at the same place.
func TestReplayUnderOtherLimits(t *testing.T) {
	t.Run("N4", rapid.MakeCheck(func(t *rapid.T) {
		p := programs(0).Draw(t, "program")
		limit := engine.Budget{Cost: providers.NanoUSD(rapid.SampledFrom([]int64{0, 8, 16}).Draw(t, "money of the run"))}
		var choices []int
		for range rapid.IntRange(0, 100).Draw(t, "choices") {
			choices = append(choices, rapid.IntRange(0, 9).Draw(t, "effect")*16) // finish it
		}
		m := newModel(p, limit, false)
		want := play(t, m, choices)
		if slices.ContainsFunc(m.ops, func(a *act) bool {
			return a.kind != engine.Sleep && a.kind != engine.Await && a.line != nil && !a.done && !a.refused
		}) {
			return // what was not decided is decided by today's limits
		}
		first := newPlayed(t, p, limit, false)
		require.Equal(t, want, again(first, want.Moves))

		other := newPlayed(t, p.under(t), engine.Budget{Cost: providers.NanoUSD(rapid.SampledFrom([]int64{0, 4, 1000, -1}).Draw(t, "money today"))}, false)
		other.recorded = first.known(len(want.Moves), true)
		got := again(other, want.Moves)
		assert.Equal(t, said(want.Notes), said(got.Notes))
		assert.Equal(t, want.Emits, got.Emits)
	}))
}

// under is p with other limits and estimates.
func (p program) under(t *rapid.T) program {
	limits := rapid.SampledFrom([]int64{0, 1, 8, 1000, -1})
	p = slices.Clone(p)
	for i := range p {
		s := &p[i]
		if s.kind == engine.Call {
			s.estimate = rapid.Int64Range(0, 9).Draw(t, "estimate today")
			s.calls, s.tokens = rapid.Int64Range(0, 3).Draw(t, "calls today"), rapid.Int64Range(0, 3).Draw(t, "tokens today")
		}
		s.kids = slices.Clone(s.kids)
		for k := range s.kids {
			s.kids[k] = s.kids[k].under(t)
		}
		if s.budget != nil {
			s.budget = &engine.Budget{
				Cost: providers.NanoUSD(limits.Draw(t, "money")), Tokens: limits.Draw(t, "tokens"), Calls: limits.Draw(t, "calls"), Wall: s.budget.Wall,
			}
		}
		s.inner = s.inner.under(t)
	}
	return p
}

// said are notes without what depends on limits.
func said(notes []string) (short []string) {
	for _, s := range notes {
		if !strings.Contains(s, " spent ") {
			short = append(short, strings.ReplaceAll(s, " over]", "]"))
		}
	}
	return short
}

// settled checks what holds at the end of every run.
func settled(t *rapid.T, p *played) {
	for _, op := range p.under {
		assert.True(t, p.gaveUp[op] || !p.over, "%s was begun, and neither completed nor given up", op.Key())
	}
}
