package fleet_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/fleet"
)

// world is all that a Claim may depend on.
type world struct {
	Serves   map[string]string
	Programs []*engine.Program
	Alive    map[string]bool // engines of which the store knows
	Parent   string          // owner of the run "parent"; "": there is no such run
}

var (
	names  = []string{"", "me", "ann", "ben", "cid"}
	labels = rapid.MapOfN(rapid.SampledFrom([]string{"tier", "zone"}), rapid.SampledFrom([]string{"", "a", "b"}), 0, 2)
	alive  = rapid.MapOfN(rapid.SampledFrom(names[1:]), rapid.Bool(), 0, 4)

	programs = rapid.Custom(func(t *rapid.T) *engine.Program {
		return &engine.Program{Name: rapid.SampledFrom([]string{"flow", "else"}).Draw(t, "name"), Version: rapid.IntRange(1, 2).Draw(t, "version")}
	})
	worlds = rapid.Custom(func(t *rapid.T) world {
		return world{
			labels.Draw(t, "serves"), rapid.SliceOfN(programs, 0, 3).Draw(t, "programs"),
			alive.Draw(t, "alive"), rapid.SampledFrom(names).Draw(t, "owner of the parent"),
		}
	})
	listings = rapid.Custom(func(t *rapid.T) runlog.Listing {
		status := rapid.SampledFrom([]string{"", "", runlog.Stuck, "done", "failed"}).Draw(t, "status")
		return runlog.Listing{
			Run: "r", Flow: rapid.SampledFrom([]string{"flow", "else", "third"}).Draw(t, "flow"), Version: rapid.IntRange(1, 2).Draw(t, "version"),
			Labels: labels.Draw(t, "labels"), Owner: rapid.SampledFrom(names).Draw(t, "owner"),
			Status: status, Ended: status == "done" || status == "failed",
		}
	})
	wishes = rapid.Custom(func(t *rapid.T) fleet.Wish {
		return fleet.Wish{
			Program: rapid.OneOf(rapid.Just[*engine.Program](nil), programs).Draw(t, "program"),
			Inside:  rapid.SampledFrom([]string{"", "parent"}).Draw(t, "inside"),
			Tried:   rapid.Bool().Draw(t, "tried"),
		}
	})
)

// claim is a Claim as one would write it down: reasons against it, one after the other.
// census is what the engine knows after it.
func (w *world) claim(l *runlog.Listing, wish fleet.Wish, census map[string]bool) (text string, program *engine.Program) {
	add := func(reason string) { text += reason + ", " }
	if l.Ended {
		add("over")
	}
	if l.Status == "stuck" && wish.Tried {
		add("over")
	}
	if l.Status == "" && l.Owner != "" && l.Owner != "me" {
		lives, known := census[l.Owner]
		if !known {
			lives = w.Alive[l.Owner]
			if census != nil {
				census[l.Owner] = lives
			}
		}
		switch {
		case !lives, wish.Inside != "" && w.Parent == "me":
		case wish.Inside != "" && w.Parent == "":
			add("held by " + l.Owner)
			add("failed")
		default:
			add("held by " + l.Owner)
		}
	}
	contradicts := false
	for name, value := range l.Labels {
		want, serves := w.Serves[name]
		contradicts = contradicts || serves && want != value
	}
	knowsFlow := false
	for _, p := range slices.Backward(w.Programs) {
		knowsFlow = knowsFlow || p.Name == l.Flow
		if p.Name == l.Flow && p.Version == l.Version {
			program = p
		}
	}
	if p := wish.Program; p != nil && p.Name == l.Flow && p.Version == l.Version {
		program = p
	}
	switch {
	case contradicts:
		program = nil
		add("not served, foreign")
	case program == nil && knowsFlow:
		add("no flow")
	case program == nil:
		add("no flow, foreign")
	}
	return text, program
}

// words are what claim says, of a Claim.
func words(c fleet.Claim, err error) (text string) {
	for _, reason := range []struct {
		holds bool
		text  string
	}{
		{c.Over, "over"},
		{c.Holder != "", "held by " + c.Holder},
		{errors.Is(err, engine.ErrNoRun), "failed"},
		{errors.Is(c.Unfit, engine.ErrNotServed), "not served"},
		{errors.Is(c.Unfit, engine.ErrNoFlow), "no flow"},
		{c.Foreign, "foreign"},
	} {
		if reason.holds {
			text += reason.text + ", "
		}
	}
	return text
}

// open returns an engine in that world, and its store.
func (w *world) open(t *testing.T) (*host, *store) {
	t.Helper()
	s := newStore()
	for name, lives := range w.Alive {
		if lives {
			if err := s.Memory.Beat(t.Context(), name, time.Hour); err != nil {
				t.Fatal(err)
			}
		}
	}
	if w.Parent != "" {
		s.start(t, "parent", w.Parent)
	}
	return newHost(t, "me", s, func(c *fleet.Config) { c.Serves, c.Programs = w.Serves, w.Programs }), s
}

// TestClaimIsAsTheModel claims random runs in random worlds, some of them with one census
// for all, and asks a dumb second implementation what is right.
func TestClaimIsAsTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := worlds.Draw(rt, "world")
		h, s := w.open(t)
		var census fleet.Census
		if rapid.Bool().Draw(rt, "with a census") {
			census = fleet.Census(alive.Draw(rt, "census"))
		}
		known := maps.Clone(census)
		for _, l := range rapid.SliceOfN(listings, 1, 8).Draw(rt, "runs") {
			wish := wishes.Draw(rt, "wish")
			wish.Alive = census
			c, err := h.Claim(t.Context(), &l, wish)
			want, program := w.claim(&l, wish, known)
			if got := words(c, err); got != want {
				rt.Fatalf("the claim of %+v is %q, want %q", l, got, want)
			}
			if c.Program != program {
				rt.Fatalf("the program for %+v is %v, want %v", l, c.Program, program)
			}
			if !maps.Equal(census, known) {
				rt.Fatalf("the census is %v, want %v", census, known)
			}
		}
		asked := map[string]int{}
		for _, owner := range texts(s.calls("Alive")) {
			if asked[owner]++; census != nil && asked[owner] > 1 {
				rt.Fatalf("%s was asked for twice", owner)
			}
		}
	})
}

// TestNoTwoEnginesMayWorkOnARun has several engines, alive and dead, claim the runs of one
// store: a run of a living engine is only its owner's.
func TestNoTwoEnginesMayWorkOnARun(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newStore()
		lives := rapid.SliceOfN(rapid.Bool(), 4, 4).Draw(rt, "alive")
		owners := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 6).Draw(rt, "owners")
		engines := map[string]*host{}
		for i, alive := range lives {
			name := fmt.Sprint("engine", i)
			engines[name] = newHost(t, name, s)
			if alive {
				if err := s.Memory.Beat(t.Context(), name, time.Hour); err != nil {
					rt.Fatal(err)
				}
			}
		}
		for i, owner := range owners {
			s.start(t, fmt.Sprint("run", i), fmt.Sprint("engine", owner))
		}
		for l, err := range s.Memory.List(t.Context(), runlog.Query{}) {
			for name, h := range engines {
				c, claimed := h.Claim(t.Context(), &l, fleet.Wish{})
				if err := cmp.Or(err, claimed); err != nil {
					rt.Fatal(err)
				}
				alive, _ := s.Memory.Alive(t.Context(), l.Owner)
				if may := c.Holder == ""; may != (name == l.Owner || !alive) {
					rt.Fatalf("%s may work on a run of %s, which is alive (%t): %t", name, l.Owner, alive, may)
				}
			}
		}
	})
}
