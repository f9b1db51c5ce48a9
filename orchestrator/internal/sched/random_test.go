package sched_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/sched"
	"github.com/convene-go/convene/providers"
)

// player is a random flow under way, in the scheduler or in the model.
type player interface {
	advance() string       // "done", "deadlock", or "": it waits
	key(i int) string      // of the ith effect under way; "": there are fewer
	move(what, key string) // "finish" an effect, "drop" one that was given up, or "cancel" the run
	leave()
	said() (told, notes []string)
}

// game is what happened: the engine's moves, and what the flow and the scheduler
// made of them.
type game struct {
	Moves, Told, Notes []string
	End                string
}

// play moves at random until the flow ends or waits for nothing.
func play(t *rapid.T, p player, choices []int) game {
	canceled := false
	choose := func(int) string {
		c := 0
		if len(choices) > 0 {
			c, choices = choices[0], choices[1:]
		}
		if c%16 == 15 && !canceled {
			canceled = true
			return "cancel"
		}
		n := 0
		for p.key(n) != "" {
			n++
		}
		require.NotZero(t, n, "the flow waits for nothing that is under way")
		key := p.key(c / 16 % n)
		told, _ := p.said()
		if c%2 == 1 && slices.ContainsFunc(told, func(s string) bool { return givesUp(s, key) }) {
			return "drop " + key
		}
		return "finish " + key
	}
	return follow(p, choose)
}

// givesUp tells whether s gives the effect of that key up for good.
func givesUp(s, key string) bool {
	return strings.HasPrefix(s, "cancel ") && strings.HasSuffix(s, " "+key) && !strings.HasPrefix(s, "cancel child")
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
	g.Told, g.Notes = p.said()
	return g
}

// played is a player of the scheduler.
type played struct {
	*run
	root *sched.Scope
	used providers.Usage
	open int // coroutines
}

func newPlayed(t *rapid.T, on spawn, p program, limit engine.Budget, stays bool) *played { //nolint:revive // a root has two ways to end
	pl := &played{}
	var sleep func()
	pl.run = newRun(t, pl.counted(on, &sleep), limit, func(r *run, b *sched.Branch, sc *sched.Scope) {
		pl.root = sc
		if !stays {
			p.execute(r, b, sched.Use{Scope: sc})
			return
		}
		defer r.say("%q leaves", "")
		p.steps(r, b, sched.Use{Scope: sc})
		sleep()
	})
	return pl
}

// counted is a seam that counts its coroutines, and lets the root sleep.
func (p *played) counted(on spawn, sleep *func()) spawn {
	return func(body func(yield func() bool)) (func() bool, func()) {
		p.open++
		first, open := p.open == 1, true
		closed := func() {
			if open {
				open = false
				p.open--
			}
		}
		resume, stop := on(func(yield func() bool) {
			if first && *sleep == nil {
				*sleep = func() {
					if !yield() {
						runtime.Goexit()
					}
				}
			}
			body(yield)
		})
		return func() bool {
			alive := resume()
			if !alive {
				closed()
			}
			return alive
		}, func() { defer closed(); stop() }
	}
}

func (p *played) advance() string {
	p.t.Helper()
	done, err := p.s.Advance()
	var fault *agent.Error
	switch {
	case errors.As(err, &fault) && strings.HasPrefix(fault.Message, "deadlock"):
		return "deadlock"
	case done:
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
	switch what {
	case "cancel":
		p.s.Complete(engine.Completion{Err: enough})
		return
	case "drop":
		p.take(key)
		return
	}
	i := slices.IndexFunc(p.under, func(op *engine.Op) bool { return op.Key() == key })
	c := completionOf(p.under[i])
	p.used = p.used.Add(c.Response.Usage)
	if c.Err != nil {
		p.used = p.used.Add(c.Err.Usage)
	}
	p.hand(key, c)
}

func (p *played) said() (told, notes []string) { return p.told, p.notes }

// The scheduler does what the model does, on both seams, and the same again when
// the moves of the engine are repeated.
func TestRandomPrograms(t *testing.T) {
	for i := range 10 { // of a hundred programs each
		t.Run(fmt.Sprint(i), rapid.MakeCheck(asTheModel))
	}
}

func asTheModel(t *rapid.T) {
	p := programs(0).Draw(t, "program")
	limit := engine.Budget{Calls: rapid.SampledFrom([]int64{0, 0, 5, 20}).Draw(t, "calls of the run")}
	stays := rapid.Bool().Draw(t, "stays")
	choices := rapid.SliceOfN(rapid.IntRange(0, 1<<12), 0, 60).Draw(t, "choices")

	want := play(t, newModel(p, limit, stays), choices)
	for _, on := range []spawn{engine.Pull, engine.Goroutines} {
		pl := newPlayed(t, on, p, limit, stays)
		require.Equal(t, want, play(t, pl, choices))
		require.Equal(t, want, again(newPlayed(t, on, p, limit, stays), want.Moves), "the moves repeated")
		settled(t, pl)
	}
}

// settled checks what holds at the end of every run.
func settled(t *rapid.T, p *played) {
	assert.Zero(t, p.open, "coroutines are left")
	assert.Equal(t, p.used, p.root.Spent(), "what the run spent is what completions said")
	under := map[string]bool{}
	for _, op := range p.under {
		under[op.Key()] = true
	}
	for _, s := range p.told {
		if kind, key, _ := strings.Cut(strings.TrimPrefix(s, "start "), " "); strings.HasPrefix(s, "start ") && under[key] {
			assert.Contains(t, p.told, fmt.Sprintf("cancel %s %s", kind, key), "it was begun, and neither completed nor given up")
		}
	}
}
