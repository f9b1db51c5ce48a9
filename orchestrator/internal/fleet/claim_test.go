package fleet_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
	"github.com/convene-go/convene/orchestrator/internal/fleet"
)

// decision is a Claim in words.
func decision(c fleet.Claim) (text string) {
	if c.Over {
		text += "over "
	}
	if c.Holder != "" {
		text += "held by " + c.Holder + " "
	}
	switch {
	case errors.Is(c.Unfit, engine.ErrNotServed):
		text += "not served "
	case errors.Is(c.Unfit, engine.ErrNoFlow):
		text += "no flow "
	}
	if c.Foreign {
		text += "foreign "
	}
	if text == "" {
		return "may"
	}
	return text[:len(text)-1]
}

// office is a store that knows ann and ben as alive, and cid as dead, and the engine me.
func office(t *testing.T, change ...func(*fleet.Config)) (*store, *host) {
	t.Helper()
	s := newStore()
	require.NoError(t, s.Memory.Beat(t.Context(), "ann", time.Hour))
	require.NoError(t, s.Memory.Beat(t.Context(), "ben", time.Hour))
	require.NoError(t, s.Memory.Beat(t.Context(), "cid", time.Hour))
	require.NoError(t, s.Memory.Leave(t.Context(), "cid"))
	return s, newHost(t, "me", s, change...)
}

func TestWhoMayWorkOnARun(t *testing.T) {
	two := &engine.Program{Name: "flow", Version: 2}
	serves := map[string]string{"tier": "gold", "zone": "eu"}
	for name, test := range map[string]struct {
		l    runlog.Listing // a zero Flow and Version are those of flow
		w    fleet.Wish
		want string
	}{
		"a run without an owner is free":              {runlog.Listing{}, fleet.Wish{}, "may"},
		"a run of this engine is its own":             {runlog.Listing{Owner: "me"}, fleet.Wish{}, "may"},
		"a run of a dead engine is free":              {runlog.Listing{Owner: "cid"}, fleet.Wish{}, "may"},
		"a run of an unknown engine is free":          {runlog.Listing{Owner: "zoe"}, fleet.Wish{}, "may"},
		"a run of a living engine is not":             {runlog.Listing{Owner: "ann"}, fleet.Wish{}, "held by ann"},
		"an ended run is over":                        {runlog.Listing{Ended: true, Status: "done"}, fleet.Wish{}, "over"},
		"an ended run of a living engine is over":     {runlog.Listing{Ended: true, Status: "done", Owner: "ann"}, fleet.Wish{}, "over"},
		"a stuck run is free, whoever its owner is":   {runlog.Listing{Status: runlog.Stuck, Owner: "ann"}, fleet.Wish{}, "may"},
		"a stuck run that was tried is over":          {runlog.Listing{Status: runlog.Stuck, Owner: "ann"}, fleet.Wish{Tried: true}, "over"},
		"a run that was tried and is not stuck":       {runlog.Listing{Owner: "cid"}, fleet.Wish{Tried: true}, "may"},
		"another version is not this engine's":        {runlog.Listing{Version: 2}, fleet.Wish{}, "no flow"},
		"another version, with the program":           {runlog.Listing{Version: 2}, fleet.Wish{Program: two}, "may"},
		"a program that is not the run's":             {runlog.Listing{Version: 3}, fleet.Wish{Program: two}, "no flow"},
		"another flow":                                {runlog.Listing{Flow: "else", Version: 1}, fleet.Wish{}, "no flow foreign"},
		"another flow, with the program":              {runlog.Listing{Flow: "else", Version: 1}, fleet.Wish{Program: &engine.Program{Name: "else", Version: 1}}, "may"},
		"another flow of a living engine":             {runlog.Listing{Flow: "else", Version: 1, Owner: "ann"}, fleet.Wish{}, "held by ann no flow foreign"},
		"another flow that is over":                   {runlog.Listing{Flow: "else", Version: 1, Ended: true}, fleet.Wish{}, "over no flow foreign"},
		"a label that this engine serves":             {runlog.Listing{Labels: map[string]string{"tier": "gold"}}, fleet.Wish{}, "may"},
		"a label that it does not know":               {runlog.Listing{Labels: map[string]string{"team": "x"}}, fleet.Wish{}, "may"},
		"a label that it does not serve":              {runlog.Listing{Labels: map[string]string{"tier": "gold", "zone": "us"}}, fleet.Wish{}, "not served foreign"},
		"a label without a value":                     {runlog.Listing{Labels: map[string]string{"tier": ""}}, fleet.Wish{}, "not served foreign"},
		"a program does not help against labels":      {runlog.Listing{Labels: map[string]string{"tier": "tin"}}, fleet.Wish{Program: flow}, "not served foreign"},
		"who is dead in the census is dead":           {runlog.Listing{Owner: "ann"}, fleet.Wish{Alive: fleet.Census{"ann": false}}, "may"},
		"who is alive in it is alive":                 {runlog.Listing{Owner: "cid"}, fleet.Wish{Alive: fleet.Census{"cid": true}}, "held by cid"},
		"a child, while this engine has the parent":   {runlog.Listing{Owner: "ann"}, fleet.Wish{Inside: "mine"}, "may"},
		"a child, when another one has the parent":    {runlog.Listing{Owner: "ann"}, fleet.Wish{Inside: "lost"}, "held by ann"},
		"a free child, when another has the parent":   {runlog.Listing{Owner: "cid"}, fleet.Wish{Inside: "lost"}, "may"},
		"a child of another flow":                     {runlog.Listing{Owner: "ann", Version: 2}, fleet.Wish{Inside: "mine"}, "no flow"},
		"a child that the census knows as held":       {runlog.Listing{Owner: "cid"}, fleet.Wish{Inside: "mine", Alive: fleet.Census{"cid": true}}, "may"},
		"a child that is over":                        {runlog.Listing{Owner: "ann", Ended: true}, fleet.Wish{Inside: "mine"}, "over"},
		"another version of a living engine":          {runlog.Listing{Owner: "ann", Version: 2}, fleet.Wish{}, "held by ann no flow"},
		"a stuck run whose labels are not served":     {runlog.Listing{Status: runlog.Stuck, Labels: map[string]string{"tier": "tin"}}, fleet.Wish{}, "not served foreign"},
		"an open run of some status, which was tried": {runlog.Listing{Status: "failed", Owner: "ann"}, fleet.Wish{Tried: true}, "held by ann"},
	} {
		t.Run(name, func(t *testing.T) {
			s, h := office(t, func(c *fleet.Config) { c.Serves = serves })
			s.start(t, "mine", "me")
			s.start(t, "lost", "ann")
			if test.l.Run = "r"; test.l.Flow == "" {
				test.l.Flow = flow.Name
			}
			if test.l.Version == 0 {
				test.l.Version = flow.Version
			}
			c, err := h.Claim(t.Context(), &test.l, test.w)
			require.NoError(t, err)
			assert.Equal(t, test.want, decision(c))
			assert.Equal(t, c.Unfit == nil, c.Program != nil, "there is a program, or a reason")
		})
	}
}

func TestClaimProgram(t *testing.T) {
	mine, twin, next := &engine.Program{Name: "flow", Version: 1}, &engine.Program{Name: "flow", Version: 1}, &engine.Program{Name: "flow", Version: 2}
	_, h := office(t, func(c *fleet.Config) { c.Programs = []*engine.Program{next, flow, mine} })
	for name, test := range map[string]struct {
		version   int
		wish, get *engine.Program
	}{
		"without a wish, the first that fits": {1, nil, flow},
		"of the right version":                {2, nil, next},
		"the wish is preferred":               {1, twin, twin},
		"a wish of another version is not":    {2, twin, next},
		"nothing fits":                        {3, twin, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := h.Claim(t.Context(), &runlog.Listing{Flow: "flow", Version: test.version}, fleet.Wish{Program: test.wish})
			require.NoError(t, err)
			assert.Same(t, test.get, c.Program)
		})
	}
}

func TestWhyAnEngineLeavesARunToOthers(t *testing.T) {
	_, h := office(t, func(c *fleet.Config) { c.Serves = map[string]string{"zone": "eu"} })
	var crossed *agent.Error

	c, err := h.Claim(t.Context(), &runlog.Listing{Run: "r", Flow: "flow", Version: 7}, fleet.Wish{})
	require.NoError(t, err)
	require.ErrorIs(t, c.Unfit, engine.ErrDiverged)
	require.ErrorIs(t, c.Unfit, engine.ErrNoFlow)
	require.ErrorAs(t, c.Unfit, &crossed)
	assert.EqualError(t, c.Unfit, `diverged: no-flow: version 7 of flow "flow" is not registered`)

	c, err = h.Claim(t.Context(), &runlog.Listing{Run: "r", Flow: "flow", Version: 1, Labels: map[string]string{"zone": "us"}}, fleet.Wish{})
	require.NoError(t, err)
	require.ErrorIs(t, c.Unfit, engine.ErrNotServed)
	require.NotErrorIs(t, c.Unfit, engine.ErrNoFlow)
	require.ErrorAs(t, c.Unfit, &crossed)
	assert.EqualError(t, c.Unfit, `not-served: run "r" has the label "zone": "us", and Config.Fleet.Serves has "eu"`)
	assert.Equal(t, c.Unfit, h.Serve("r", map[string]string{"zone": "us"}))
}

func TestServe(t *testing.T) {
	_, h := office(t, func(c *fleet.Config) { c.Serves = map[string]string{"zone": "eu", "tier": ""} })
	for name, test := range map[string]struct {
		labels map[string]string
		want   string // label that the error names; "": no error
	}{
		"no labels":              {nil, ""},
		"labels of other names":  {map[string]string{"team": "x", "Zone": "us"}, ""},
		"the label itself":       {map[string]string{"zone": "eu", "tier": ""}, ""},
		"another value":          {map[string]string{"zone": "eu-west", "tier": ""}, `"zone": "eu-west"`},
		"no value":               {map[string]string{"zone": ""}, `"zone": ""`},
		"a value where none was": {map[string]string{"tier": "gold"}, `"tier": "gold"`},
	} {
		t.Run(name, func(t *testing.T) {
			err := h.Serve("r", test.labels)
			if test.want == "" {
				assert.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, engine.ErrNotServed)
			assert.ErrorContains(t, err, fmt.Sprintf(`run "r" has the label %s`, test.want))
		})
	}
	_, all := office(t)
	assert.NoError(t, all.Serve("r", map[string]string{"zone": "us"}), "an engine without Serves serves all")
}

func TestLost(t *testing.T) {
	s, h := office(t)
	s.start(t, "mine", "me")
	s.start(t, "gone", "me")
	s.resume(t, "gone", "cid")
	s.start(t, "over", "me")
	s.resume(t, "over", "cid")
	s.end(t, "over", "1")
	s.start(t, "back", "cid")
	s.resume(t, "back", "me")
	for run, want := range map[string]bool{"mine": false, "gone": true, "over": true, "back": false} {
		lost, err := h.Lost(t.Context(), run)
		require.NoError(t, err)
		assert.Equal(t, want, lost, "dead or alive, another engine has resumed it")
	}
	_, err := h.Lost(t.Context(), "nobody's")
	require.ErrorIs(t, err, engine.ErrNoRun)
	s.fails("List")
	_, err = h.Lost(t.Context(), "mine")
	require.ErrorIs(t, err, errDisk)
}

func TestClaimOfAStoreThatFails(t *testing.T) {
	s, h := office(t)
	s.start(t, "mine", "me")
	of := func(owner string) *runlog.Listing {
		return &runlog.Listing{Run: "r", Flow: "flow", Version: 1, Owner: owner}
	}
	census := fleet.Census{}
	s.fails("Alive")
	_, err := h.Claim(t.Context(), of("ann"), fleet.Wish{Alive: census})
	require.ErrorIs(t, err, errDisk)
	assert.Empty(t, census, "nothing was learned")
	for _, l := range []*runlog.Listing{of(""), of("me"), {Ended: true, Owner: "ann"}, {Status: runlog.Stuck, Owner: "ann"}} {
		_, err = h.Claim(t.Context(), l, fleet.Wish{})
		require.NoError(t, err, "nobody is asked")
	}
	s.heals()
	c, err := h.Claim(t.Context(), of("ann"), fleet.Wish{Alive: census})
	require.NoError(t, err)
	assert.Equal(t, "ann", c.Holder)
	s.fails("List")
	c, err = h.Claim(t.Context(), of("ann"), fleet.Wish{Inside: "mine"})
	require.ErrorIs(t, err, errDisk)
	assert.Equal(t, "ann", c.Holder, "who works on the parent is not known")
	s.heals()
	_, err = h.Claim(t.Context(), of("ann"), fleet.Wish{Inside: "nobody's"})
	require.ErrorIs(t, err, engine.ErrNoRun)
}

func TestACensusHasEachEngineAskedOnce(t *testing.T) {
	s, h := office(t)
	census := fleet.Census{"dan": true}
	for range 3 {
		for _, owner := range []string{"ann", "cid", "", "me", "dan", "ben"} {
			_, err := h.Claim(t.Context(), &runlog.Listing{Flow: "flow", Version: 1, Owner: owner}, fleet.Wish{Alive: census})
			require.NoError(t, err)
		}
	}
	assert.Equal(t, []string{"ann", "cid", "ben"}, texts(s.calls("Alive")))
	assert.Equal(t, fleet.Census{"ann": true, "ben": true, "cid": false, "dan": true}, census)
	for range 2 {
		_, err := h.Claim(t.Context(), &runlog.Listing{Flow: "flow", Version: 1, Owner: "ann"}, fleet.Wish{})
		require.NoError(t, err)
	}
	assert.Len(t, s.calls("Alive"), 5, "without one it is asked each time")
}
