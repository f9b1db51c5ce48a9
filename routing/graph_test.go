package routing_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/routing"
)

var start = time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)

// sevenTasks are those of the Todo Board in order of their creation (B112).
func sevenTasks() []routing.Node { return nineTasks()[:7] }

// nineTasks are the same with the tests that each component gets (BC4).
func nineTasks() []routing.Node {
	nodes := []routing.Node{
		{ID: "db_plan"},
		{ID: "db_build", Needs: []string{"db_plan"}},
		{ID: "db_test", Needs: []string{"db_build"}},
		{ID: "api_plan", Needs: []string{"db_plan"}},
		{ID: "api_build", Needs: []string{"api_plan", "db_build"}},
		{ID: "views_plan", Needs: []string{"api_plan"}},
		{ID: "views_build", Needs: []string{"api_build", "views_plan"}},
		{ID: "test-api", Needs: []string{"api_build"}},
		{ID: "test-views", Needs: []string{"views_build"}},
	}
	for i := range nodes {
		nodes[i].Priority = 10
		nodes[i].Created = start.Add(time.Duration(i) * time.Second)
		_, nodes[i].Phase, _ = strings.Cut(nodes[i].ID, "_")
		if nodes[i].Phase == "" {
			nodes[i].Phase = "test"
		}
	}
	return nodes
}

var phases = []string{"plan", "build", "test"}

func graphOf(t *testing.T, p routing.Preference, nodes ...routing.Node) *routing.Graph {
	t.Helper()
	g := routing.NewGraph(p)
	require.NoError(t, g.Add(nodes...))
	return g
}

// checker is a testing.T or a rapid.T.
type checker interface {
	require.TestingT
	Helper()
}

// evaluate makes ready what is due.
func evaluate(t checker, g *routing.Graph) []string {
	t.Helper()
	due := g.Due()
	for _, id := range due {
		require.NoError(t, g.Move(id, routing.Ready, start))
	}
	return due
}

// dispatch starts all that the limits allow.
func dispatch(t checker, g *routing.Graph, limits routing.Limits) []string {
	t.Helper()
	var started []string
	for id, ok := g.Next(limits); ok; id, ok = g.Next(limits) {
		require.NoError(t, g.Move(id, routing.Active, start))
		started = append(started, id)
	}
	return started
}

func move(t checker, g *routing.Graph, to routing.NodeState, ids ...string) {
	t.Helper()
	for _, id := range ids {
		require.NoError(t, g.Move(id, to, start))
	}
}

// finish runs a graph in which every node takes one unit of time, and returns what
// was started in each unit.
func finish(t *testing.T, g *routing.Graph, limits routing.Limits) string {
	t.Helper()
	var units []string
	for {
		evaluate(t, g)
		started := dispatch(t, g, limits)
		if len(started) == 0 {
			return strings.Join(units, " ")
		}
		move(t, g, routing.Done, started...)
		units = append(units, fmt.Sprint(started))
	}
}

func TestTodoBoardSchedule(t *testing.T) {
	for _, tt := range []struct {
		name   string
		global int
		nodes  []routing.Node
		phases []string
		want   string
	}{
		{"BA8 B37 B38 B39 limit 3", 3, sevenTasks(), phases, "[db_plan] [api_plan db_build] [views_plan api_build db_test] [views_build]"},
		{"BA9 B40 BC6 limit 2", 2, sevenTasks(), phases, "[db_plan] [api_plan db_build] [views_plan api_build] [views_build db_test]"},
		{"BA10 BC6 limit 2 without a preference of phases", 2, sevenTasks(), nil, "[db_plan] [db_build api_plan] [db_test api_build] [views_plan] [views_build]"},
		{"BA11 limit 1", 1, sevenTasks(), phases, "[db_plan] [api_plan] [views_plan] [db_build] [api_build] [views_build] [db_test]"},
		{"BA12 BC4 limit 3, nine tasks", 3, nineTasks(), phases, "[db_plan] [api_plan db_build] [views_plan api_build db_test] [views_build test-api] [test-views]"},
		{"BA13 limit 2, nine tasks", 2, nineTasks(), phases, "[db_plan] [api_plan db_build] [views_plan api_build] [views_build db_test] [test-api test-views]"},
		{"BA14 limit 2, nine tasks, without a preference of phases", 2, nineTasks(), nil, "[db_plan] [db_build api_plan] [db_test api_build] [views_plan test-api] [views_build] [test-views]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := graphOf(t, routing.Preference{Phases: tt.phases}, tt.nodes...)
			assert.Equal(t, tt.want, finish(t, g, routing.Limits{Global: tt.global}))
		})
	}
}

func TestGraphReadiness(t *testing.T) {
	t.Run("BA21 B33 B112 at first only db_plan is due", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, sevenTasks()...)
		assert.Equal(t, []string{"db_plan"}, g.Due())
		assert.Equal(t, []string{"db_plan"}, g.Due(), "looking changes nothing")
		assert.Equal(t, []string{"api_build", "views_plan"}, g.Unmet("views_build"))
		assert.Equal(t, routing.Waiting, g.State("views_build"))
	})
	t.Run("B33 B35 due when the last need is done, in the order of adding", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, sevenTasks()...)
		evaluate(t, g)
		assert.Empty(t, g.Due())
		move(t, g, routing.Active, "db_plan")
		assert.Empty(t, g.Due())
		move(t, g, routing.Done, "db_plan")
		assert.Equal(t, []string{"db_build", "api_plan"}, evaluate(t, g))
		move(t, g, routing.Active, "api_plan")
		move(t, g, routing.Done, "api_plan")
		assert.Equal(t, []string{"views_plan"}, g.Due())
		assert.Equal(t, []string{"db_build"}, g.Unmet("api_build"))
	})
	t.Run("B33 only what needs nothing open becomes ready, active or done", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, sevenTasks()...)
		require.EqualError(t, g.Move("api_build", routing.Ready, start), `routing: "api_build" cannot become ready: it needs ["api_plan" "db_build"]`)
		move(t, g, routing.Held, "api_build")
		require.ErrorContains(t, g.Move("api_build", routing.Done, start), "it needs")
		require.EqualError(t, g.Move("db_plan", routing.Active, start), `routing: "db_plan" is waiting and cannot become active`)
		require.EqualError(t, g.Move("nobody", routing.Ready, start), `routing: node "nobody" does not exist`)
	})
	t.Run("B33 a node that was put back is due again", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, routing.Node{ID: "a"}, routing.Node{ID: "b"})
		evaluate(t, g)
		move(t, g, routing.Waiting, "b", "a")
		assert.Equal(t, []string{"a", "b"}, g.Due())
		move(t, g, routing.Held, "a")
		assert.Equal(t, []string{"b"}, g.Due())
		move(t, g, routing.Waiting, "a")
		assert.Equal(t, []string{"a", "b"}, g.Due())
	})
	t.Run("BC2 B22 done and abandoned are final", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, routing.Node{ID: "a"}, routing.Node{ID: "b"})
		evaluate(t, g)
		move(t, g, routing.Active, "a")
		move(t, g, routing.Done, "a")
		move(t, g, routing.Abandoned, "b")
		for _, to := range []routing.NodeState{routing.Waiting, routing.Ready, routing.Active, routing.Held, routing.Done, routing.Abandoned} {
			require.Error(t, g.Move("a", to, start), to)
			require.Error(t, g.Move("b", to, start), to)
		}
		require.EqualError(t, g.Depend("a", "b"), `routing: "a" is done`)
		require.EqualError(t, g.Drop("b", "a"), `routing: "b" is abandoned`)
		_, err := g.Split("a", routing.Node{ID: "c"})
		require.EqualError(t, err, `routing: "a" is done`)
	})
}

func TestGraphDispatch(t *testing.T) {
	t.Run("BA106 B40 BC28 BC30 a full profile is passed over", func(t *testing.T) {
		g := graphOf(
			t, routing.Preference{},
			routing.Node{ID: "code1", Profile: "code", Priority: 10}, routing.Node{ID: "code2", Profile: "code", Priority: 10},
			routing.Node{ID: "code3", Profile: "code", Priority: 10}, routing.Node{ID: "test1", Profile: "test", Priority: 5},
		)
		evaluate(t, g)
		assert.Equal(t, []string{"code1", "test1"}, dispatch(t, g, routing.Limits{Global: 3, Profiles: map[string]int{"code": 1}}))
		assert.Equal(t, []string{"code2", "code3"}, g.Queue())
	})
	t.Run("BA107 the next one starts at the first completion", func(t *testing.T) {
		g := routing.NewGraph(routing.Preference{})
		for i := range 5 {
			require.NoError(t, g.Add(routing.Node{ID: fmt.Sprint(i)}))
		}
		evaluate(t, g)
		limits := routing.Limits{Global: 3}
		assert.Equal(t, []string{"0", "1", "2"}, dispatch(t, g, limits))
		move(t, g, routing.Done, "1")
		assert.Equal(t, []string{"3"}, dispatch(t, g, limits))
	})
	t.Run("BA108 BC29 B40 what is in review holds no place", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, routing.Node{ID: "a", Profile: "p"}, routing.Node{ID: "b", Profile: "p"})
		evaluate(t, g)
		limits := routing.Limits{Global: 1, Profiles: map[string]int{"p": 1}}
		assert.Equal(t, []string{"a"}, dispatch(t, g, limits))
		move(t, g, routing.Held, "a")
		assert.Equal(t, []string{"b"}, dispatch(t, g, limits))
	})
	t.Run("BA109 B16 B37 priority comes before phase", func(t *testing.T) {
		g := graphOf(
			t, routing.Preference{Phases: phases},
			routing.Node{ID: "build", Phase: "build", Priority: 5}, routing.Node{ID: "test", Phase: "test", Priority: 10},
			routing.Node{ID: "plan", Phase: "plan", Priority: 10},
		)
		evaluate(t, g)
		assert.Equal(t, []string{"plan", "test", "build"}, g.Queue())
		assert.Equal(t, []string{"plan", "test", "build"}, dispatch(t, g, routing.Limits{Global: 3}))
	})
	t.Run("BX22 B38 BC6 ties: other phases last, then creation, then order of adding", func(t *testing.T) {
		g := graphOf(
			t, routing.Preference{Phases: []string{"plan", "build", "plan"}},
			routing.Node{ID: "odd2", Phase: "qa", Created: start.Add(1)}, routing.Node{ID: "odd1", Phase: "execute", Created: start},
			routing.Node{ID: "build", Phase: "build", Created: start}, routing.Node{ID: "plan3", Phase: "plan", Created: start.Add(1)},
			routing.Node{ID: "plan1", Phase: "plan", Created: start}, routing.Node{ID: "plan2", Phase: "plan", Created: start},
		)
		evaluate(t, g)
		assert.Equal(t, []string{"plan1", "plan2", "plan3", "build", "odd1", "odd2"}, g.Queue())
	})
	t.Run("B40 less than 1 counts as 1 for all, and as none for a profile", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, routing.Node{ID: "a", Profile: "p"}, routing.Node{ID: "b"}, routing.Node{ID: "c"})
		evaluate(t, g)
		assert.Equal(t, []string{"b"}, dispatch(t, g, routing.Limits{Global: -2, Profiles: map[string]int{"p": 0}}))
	})
}

func TestGraphAgeing(t *testing.T) {
	aged := func(every, apart time.Duration) []string {
		g := graphOf(t, routing.Preference{AgeEvery: every}, routing.Node{ID: "low", Priority: 1}, routing.Node{ID: "high", Priority: 3})
		require.NoError(t, g.Move("low", routing.Ready, start))
		require.NoError(t, g.Move("high", routing.Ready, start.Add(apart)))
		return g.Queue()
	}
	t.Run("BX21 without ageing the low one waits", func(t *testing.T) {
		assert.Equal(t, []string{"high", "low"}, aged(0, 1000*time.Hour))
		assert.Equal(t, []string{"high", "low"}, aged(-time.Minute, 1000*time.Hour))
	})
	t.Run("BX21 one point for each period", func(t *testing.T) { // start is a full minute
		assert.Equal(t, []string{"high", "low"}, aged(time.Minute, 2*time.Minute-1), "1+1 < 3")
		assert.Equal(t, []string{"low", "high"}, aged(time.Minute, 2*time.Minute), "1+2 = 3, and it was added first")
	})
	t.Run("BX21 B37 the lowest and the highest priority stay so", func(t *testing.T) {
		g := graphOf(
			t, routing.Preference{AgeEvery: time.Second},
			routing.Node{ID: "low", Priority: math.MinInt}, routing.Node{ID: "mid"}, routing.Node{ID: "high", Priority: math.MaxInt},
		)
		for i, id := range []string{"low", "mid", "high"} {
			require.NoError(t, g.Move(id, routing.Ready, start.AddDate(-100*i, 0, 0)))
		}
		assert.Equal(t, []string{"high", "mid", "low"}, g.Queue())
		g.Prioritize("low", math.MaxInt)
		g.Prioritize("high", math.MinInt)
		assert.Equal(t, []string{"low", "mid", "high"}, g.Queue())
	})
}

func TestGraphRefuses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		nodes string // "id: needs; id: needs"
		want  string
	}{
		{"BX12 B31 a need that does not exist", "a: x", `routing: "a" needs "x", which does not exist`},
		{"BX12 itself", "a: a", `routing: "a" needs itself`},
		{"BX12 a circle, the smallest first", "c: a; a: b; b: c", "routing: dependency cycle: a, b, c"},
		{"BX12 a circle behind others", "d: ; z: d c; c: a; a: b; b: c d", "routing: dependency cycle: a, b, c"},
		{"BX12 twice", "a: ; b: a a", `routing: "b" needs "a" twice`},
		{"BX12 an ID twice", "a: ; a: ", `routing: ID "a" is taken`},
		{"BX12 an ID of an older node", "old: ", `routing: ID "old" is taken`},
		{"BX12 no ID", " : ", "routing: node 0 has no ID"},
		{"BX12 abandoned", "a: gone", `routing: "a" needs "gone", which is abandoned`},
		{"BX12 all faults at once", "a: x a; b: gone", "routing: \"a\" needs \"x\", which does not exist\n\"a\" needs itself\n\"b\" needs \"gone\", which is abandoned"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := graphOf(t, routing.Preference{}, routing.Node{ID: "old"}, routing.Node{ID: "gone"})
			move(t, g, routing.Abandoned, "gone")
			err := g.Add(nodesOf(tt.nodes)...)
			require.EqualError(t, err, tt.want)
			assert.Equal(t, strings.Contains(tt.want, "cycle"), errors.Is(err, routing.ErrCycle))
			assert.Empty(t, g.State("a"), "nothing was added")
			assert.Equal(t, []string{"old"}, g.Due())
			require.NoError(t, g.Add(nodesOf("a: old")...))
		})
	}
}

// nodesOf reads nodes written as "id: needs; id: needs".
func nodesOf(text string) []routing.Node {
	var nodes []routing.Node
	for part := range strings.SplitSeq(text, ";") {
		id, needs, _ := strings.Cut(part, ":")
		nodes = append(nodes, routing.Node{ID: strings.TrimSpace(id), Needs: strings.Fields(needs)})
	}
	return nodes
}

func TestGraphAgain(t *testing.T) {
	states := map[string]routing.NodeState{
		"a": routing.Done, "b": routing.Abandoned, "c": routing.Active, "d": routing.Ready, "e": routing.Held,
	}
	again := func(text string) ([]routing.Node, *routing.Graph, error) {
		nodes := nodesOf(text)
		for i := range nodes {
			nodes[i].State = states[nodes[i].ID]
			nodes[i].Since = start
		}
		g := routing.NewGraph(routing.Preference{AgeEvery: time.Minute})
		return nodes, g, g.Add(nodes...)
	}
	t.Run("B119 nodes of another graph keep their states", func(t *testing.T) {
		nodes, g, err := again("x: a; y: b; b: z; z: y; c: a; d: a; e: x; a: ")
		require.NoError(t, err, "a circle through what is abandoned is none")
		for _, n := range nodes {
			assert.Equal(t, cmp.Or(n.State, routing.Waiting), g.State(n.ID), n.ID)
		}
		assert.Equal(t, []string{"x"}, g.Due())
		assert.Equal(t, []string{"b"}, g.Unmet("y"))
		_, ok := g.Next(routing.Limits{Global: 1})
		assert.False(t, ok, "c is active")
		require.NoError(t, g.Move("x", routing.Ready, start.Add(time.Minute)))
		assert.Equal(t, []string{"d", "x"}, g.Queue(), "d has waited for longer")
	})
	t.Run("B119 what could not have come so far is refused", func(t *testing.T) {
		_, _, err := again("x: ; d: x")
		require.EqualError(t, err, `routing: "d" is ready, but needs "x", which is waiting`)
		_, _, err = again("b: ; a: b")
		require.EqualError(t, err, `routing: "a" is done, but needs "b", which is abandoned`)
		require.EqualError(t, routing.NewGraph(routing.Preference{}).Add(routing.Node{ID: "a", State: "lost"}), `routing: "a" has the unknown state "lost"`)
	})
}

func TestGraphDepend(t *testing.T) {
	t.Run("BC63 a ready node waits for what it needs now", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, nodesOf("a: ; b: ; c: ")...)
		evaluate(t, g)
		require.NoError(t, g.Depend("a", "b", "b", "c"))
		assert.Equal(t, []string{"b", "c"}, g.Needs("a"))
		assert.Equal(t, routing.Waiting, g.State("a"))
		assert.Equal(t, []string{"b", "c"}, g.Queue())
		move(t, g, routing.Active, "b", "c")
		move(t, g, routing.Done, "b", "c")
		assert.Equal(t, []string{"a"}, g.Due())
		require.NoError(t, g.Depend("a", "b"), "what it needs already is left out")
		assert.Equal(t, []string{"b", "c"}, g.Needs("a"))
	})
	t.Run("B102 a dropped need no longer blocks", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, nodesOf("a: ; b: ; c: a b")...)
		evaluate(t, g)
		require.NoError(t, g.Drop("c", "a"))
		assert.Equal(t, []string{"b"}, g.Needs("c"))
		assert.Empty(t, g.Dependents("a"))
		require.NoError(t, g.Drop("c", "b"))
		assert.Equal(t, []string{"c"}, g.Due())
		require.EqualError(t, g.Drop("c", "b"), `routing: "c" does not need "b"`)
		require.ErrorContains(t, g.Drop("x", "b"), "does not exist")
	})
	t.Run("BA96 BX13 a circle is refused with its path and changes nothing", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, nodesOf("d: ; c: d; b: c; a: b")...)
		err := g.Depend("c", "a")
		require.EqualError(t, err, "routing: dependency cycle: a, b, c")
		require.ErrorIs(t, err, routing.ErrCycle)
		require.EqualError(t, g.Depend("c", "c", "x"), "routing: \"c\" needs itself\n\"c\" needs \"x\", which does not exist")
		move(t, g, routing.Abandoned, "a")
		require.EqualError(t, g.Depend("c", "a"), `routing: "c" needs "a", which is abandoned`)
		require.ErrorContains(t, g.Depend("x", "a"), "does not exist")
		assert.Equal(t, []string{"d"}, g.Needs("c"))
	})
}

func TestGraphSplit(t *testing.T) {
	t.Run("BA93 BC7 B63 api_build into s1 and s2", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, nineTasks()...)
		last, err := g.Split("api_build", nodesOf("s1: ; s2: s1")...)
		require.NoError(t, err)
		assert.Equal(t, []string{"s2"}, last)
		assert.Equal(t, []string{"api_plan", "db_build"}, g.Needs("s1"))
		assert.Equal(t, []string{"s1"}, g.Needs("s2"))
		assert.Equal(t, []string{"s2", "views_plan"}, g.Needs("views_build"))
		assert.Equal(t, []string{"s2"}, g.Needs("test-api"))
		assert.Equal(t, routing.Abandoned, g.State("api_build"))
		assert.Equal(t,
			"[db_plan] [db_build api_plan] [db_test views_plan s1] [s2] [views_build test-api] [test-views]",
			finish(t, g, routing.Limits{Global: 3}))
	})
	t.Run("BC7 several first and last ones, and needs of their own", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, nodesOf("a: ; o: ; p: a; z: o p")...)
		last, err := g.Split("p", nodesOf("x: o a; y: ; v: x y; w: y")...)
		require.NoError(t, err)
		assert.Equal(t, []string{"v", "w"}, last)
		assert.Equal(t, []string{"a", "o"}, g.Needs("x"))
		assert.Equal(t, []string{"a"}, g.Needs("y"))
		assert.Equal(t, []string{"o", "v", "w"}, g.Needs("z"))
		assert.Equal(t, []string{"z"}, g.Dependents("w"))
		assert.Equal(t, "[a o] [x y] [v w] [z]", finish(t, g, routing.Limits{Global: 9}))
	})
	t.Run("BC32 BC7 what is abandoned keeps what it needed", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, nodesOf("p: ; z: p; gone: p")...)
		move(t, g, routing.Abandoned, "gone")
		_, err := g.Split("p", nodesOf("x: ")...)
		require.NoError(t, err)
		assert.Equal(t, []string{"p"}, g.Needs("gone"))
		assert.Equal(t, []string{"z"}, g.Descendants("x"))
	})
	for _, tt := range []struct{ name, into, want string }{
		{"BX13 through what comes behind", "s1: ; s2: z", "routing: dependency cycle: q, s2, z"},
		{"BX13 among the parts", "s1: s2; s2: s1", "routing: dependency cycle: s1, s2"},
		{"BX13 the parent itself", "s1: p", `routing: "s1" needs "p", which is abandoned`},
		{"BX13 the parent's ID", "p: ", `routing: ID "p" is taken`},
		{"BX13 a need that does not exist", "s1: x", `routing: "s1" needs "x", which does not exist`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := graphOf(t, routing.Preference{}, nodesOf("a: ; p: a; q: p; z: q")...)
			_, err := g.Split("p", nodesOf(tt.into)...)
			require.EqualError(t, err, tt.want)
			assert.Equal(t, "[a] [p] [q] [z]", finish(t, g, routing.Limits{}))
		})
	}
	t.Run("B119 BC7 parts that another graph has begun keep their states", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, nodesOf("a: ; b: a; c: a")...)
		last, err := g.Split("a", routing.Node{ID: "s1", State: routing.Done}, routing.Node{ID: "s2", State: routing.Active})
		require.NoError(t, err)
		assert.Equal(t, []string{"s1", "s2"}, last)
		assert.Equal(t, []string{"s2"}, g.Unmet("b"))
		require.NoError(t, g.Drop("c", "s2"))
		assert.Equal(t, []string{"c"}, g.Due(), "s1 is done")
		move(t, g, routing.Done, "s2")
		assert.Equal(t, []string{"b", "c"}, g.Due())
	})
	t.Run("BX13 into nothing", func(t *testing.T) {
		_, err := graphOf(t, routing.Preference{}, nodesOf("a: ")...).Split("a")
		require.EqualError(t, err, `routing: "a" is split into nothing`)
	})
}

func TestGraphDescendants(t *testing.T) {
	for _, tt := range []struct {
		name, root string
		nodes      []routing.Node
		want       string
	}{
		{"BA79 B103 db_build", "db_build", nineTasks(), "db_test api_build views_build test-api test-views"},
		{"BA79 db_build of seven", "db_build", sevenTasks(), "db_test api_build views_build"},
		{"BA80 api_plan", "api_plan", nineTasks(), "api_build views_plan views_build test-api test-views"},
		{"BA80 api_plan of seven", "api_plan", sevenTasks(), "api_build views_plan views_build"},
		{"BA81 api_build", "api_build", nineTasks(), "views_build test-api test-views"},
		{"BA81 api_build of seven", "api_build", sevenTasks(), "views_build"},
		{"BA82 db_plan", "db_plan", nineTasks(), "db_build api_plan db_test api_build views_plan views_build test-api test-views"},
		{"BA82 db_plan of seven", "db_plan", sevenTasks(), "db_build api_plan db_test api_build views_plan views_build"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			g := graphOf(t, routing.Preference{}, tt.nodes...)
			assert.Equal(t, strings.Fields(tt.want), g.Descendants(tt.root))
		})
	}
	t.Run("B103 BX22 in the order of adding where needs do not decide", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, nodesOf("r: ; m1: r; m2: r; x: m2; y: m1")...)
		assert.Equal(t, []string{"m1", "m2", "x", "y"}, g.Descendants("r"))
	})
	t.Run("BC32 abandoned ones do not count", func(t *testing.T) {
		g := graphOf(t, routing.Preference{}, nodesOf("a: ; b: a; c: b; d: a")...)
		move(t, g, routing.Abandoned, "b")
		assert.Equal(t, []string{"d"}, g.Descendants("a"))
		assert.Equal(t, []string{"d"}, g.Dependents("a"))
		assert.Equal(t, []string{"c"}, g.Dependents("b"), "the nodes that lose the need")
		assert.Equal(t, []string{"b"}, g.Unmet("c"))
		evaluate(t, g)
		move(t, g, routing.Active, "a")
		move(t, g, routing.Done, "a")
		assert.Equal(t, []string{"d"}, g.Due(), "c waits until it is decided")
		require.NoError(t, g.Drop("c", "b"))
		assert.Equal(t, []string{"c", "d"}, g.Due())
	})
	t.Run("BC32 an unknown node has none", func(t *testing.T) {
		g := routing.NewGraph(routing.Preference{})
		assert.Empty(t, slices.Concat(g.Descendants("x"), g.Dependents("x"), g.Needs("x"), g.Unmet("x"), g.Queue()))
	})
}
