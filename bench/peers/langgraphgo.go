package main

import (
	"context"
	"path/filepath"
	"strconv"
	"time"

	"github.com/smallnest/langgraphgo/graph"
	lgsqlite "github.com/smallnest/langgraphgo/store/sqlite"
)

// langgraphgo runs in supersteps: a DAG works because its dependencies are all in
// the layer before, and the limit of 8 is a semaphore in the nodes. Its checkpoints
// are the whole state after each step.
var langgraphgo = library{
	name: "langgraphgo",
	chain: func(n int, takes time.Duration) (once, error) {
		g := graph.NewStateGraph[lgState]()
		for i := range n {
			g.AddNode(strconv.Itoa(i), "", lgNode(takes, text))
		}
		lgInTurn(g, n)
		return lgOnce(g.Compile())
	},
	fanOut: func(n int, takes time.Duration) (once, error) {
		g := graph.NewStateGraph[lgState]()
		g.SetStateMerger(lgMerge)
		g.AddNode("start", "", lgNode(0, text))
		g.SetEntryPoint("start")
		g.AddNode("join", "", lgNode(0, text))
		for i := range n {
			id := strconv.Itoa(i)
			g.AddNode(id, "", lgNode(takes, text))
			g.AddEdge("start", id)
			g.AddEdge(id, "join")
		}
		g.AddEdge("join", graph.END)
		return lgOnce(g.Compile())
	},
	loop: func(rounds int) (once, error) {
		g := graph.NewStateGraph[lgState]()
		g.AddNode("try", "", lgNode(0, text))
		g.AddNode("grade", "", lgNode(0, text))
		g.SetEntryPoint("try")
		g.AddEdge("try", "grade")
		g.AddConditionalEdge("grade", func(_ context.Context, s lgState) string {
			if s.Steps == 2*rounds {
				return graph.END
			}
			return "try"
		})
		return lgOnce(g.Compile())
	},
	dag: lgDAG,
	memory: func(n int) variant {
		return variant{name: "langgraphgo", build: func(times int) (func(context.Context) error, error) {
			var runs []once
			for range times { // a store of its own for each run: it lists all that it holds at each step
				do, err := lgSteps(n, graph.NewMemoryCheckpointStore())
				if err != nil {
					return nil, err
				}
				runs = append(runs, do)
			}
			return func(ctx context.Context) error {
				for _, do := range runs {
					if err := do(ctx); err != nil {
						return err
					}
				}
				return nil
			}, nil
		}}
	},
	sqlite: func(n int, dir string) (once, error) {
		store, err := lgsqlite.NewSqliteCheckpointStore(lgsqlite.SqliteOptions{
			Path: "file:" + filepath.Join(dir, "langgraphgo.db") + "?_journal_mode=WAL&_synchronous=NORMAL",
		})
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) error { // a run of its own is a runnable of its own
			do, err := lgSteps(n, store)
			if err != nil {
				return err
			}
			return do(ctx)
		}, nil
	},
}

// lgState is the state of a graph.
type lgState struct {
	Steps int
	Text  string
}

func lgNode(takes time.Duration, says string) func(context.Context, lgState) (lgState, error) {
	return func(ctx context.Context, s lgState) (lgState, error) {
		return lgState{s.Steps + 1, says}, answer(ctx, takes)
	}
}

func lgMerge(_ context.Context, s lgState, news []lgState) (lgState, error) {
	return lgState{s.Steps + len(news), text}, nil
}

// lgInTurn adds n nodes in sequence.
func lgInTurn(g interface {
	AddEdge(from, to string)
	SetEntryPoint(name string)
}, n int,
) {
	g.SetEntryPoint("0")
	for i := 1; i < n; i++ {
		g.AddEdge(strconv.Itoa(i-1), strconv.Itoa(i))
	}
	g.AddEdge(strconv.Itoa(n-1), graph.END)
}

func lgOnce(r interface {
	Invoke(ctx context.Context, s lgState) (lgState, error)
}, err error,
) (once, error) {
	return func(ctx context.Context) error { _, err := r.Invoke(ctx, lgState{}); return err }, err
}

func lgSteps(n int, store graph.CheckpointStore) (once, error) {
	g := graph.NewCheckpointableStateGraphWithConfig[lgState](graph.CheckpointConfig{Store: store, AutoSave: true})
	for i := range n {
		g.AddNode(strconv.Itoa(i), "", lgNode(0, kilobyte))
	}
	lgInTurn(g, n)
	return lgOnce(g.CompileCheckpointable())
}

func lgDAG(needs [][]int) (once, error) {
	free := make(chan struct{}, 8)
	node := func(ctx context.Context, s lgState) (lgState, error) {
		free <- struct{}{}
		defer func() { <-free }()
		return lgState{s.Steps + 1, text}, answer(ctx, 0)
	}
	g := graph.NewStateGraph[lgState]()
	g.SetStateMerger(lgMerge)
	g.AddNode("start", "", lgNode(0, text))
	g.SetEntryPoint("start")
	used := make([]bool, len(needs))
	for i, deps := range needs {
		g.AddNode(strconv.Itoa(i), "", node)
		if len(deps) == 0 {
			g.AddEdge("start", strconv.Itoa(i))
		}
		for _, d := range deps {
			g.AddEdge(strconv.Itoa(d), strconv.Itoa(i))
			used[d] = true
		}
	}
	for i, u := range used {
		if !u {
			g.AddEdge(strconv.Itoa(i), graph.END)
		}
	}
	return lgOnce(g.Compile())
}
