package main

import (
	"context"
	"strconv"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
)

// eino's graphs are of package compose, its agents of adk. It stores a checkpoint only
// at an interrupt, so it has no recorded steps. Its graphs have no limit on parallel
// nodes: a semaphore in the nodes limits them.
var eino = library{
	name: "eino",
	chain: func(n int, takes time.Duration) (once, error) {
		g := compose.NewGraph[string, string]()
		last := compose.START
		for i := range n {
			id := strconv.Itoa(i)
			if err := einoNode(g, last, id, takes); err != nil {
				return nil, err
			}
			last = id
		}
		if err := g.AddEdge(last, compose.END); err != nil {
			return nil, err
		}
		return einoOnce(g.Compile(context.Background(), compose.WithMaxRunSteps(n+10)))
	},
	models: einoAgents,
	fanOut: func(n int, takes time.Duration) (once, error) {
		needs := make([][]int, n)
		return einoGraph(needs, n, takes)
	},
	loop: func(rounds int) (once, error) {
		g := compose.NewGraph[string, string]()
		if err := einoNode(g, compose.START, "try", 0); err != nil {
			return nil, err
		}
		if err := g.AddLambdaNode("grade", compose.InvokableLambda(func(_ context.Context, s string) (string, error) { return s + text, nil })); err != nil {
			return nil, err
		}
		if err := g.AddEdge("try", "grade"); err != nil {
			return nil, err
		}
		err := g.AddBranch("grade", compose.NewGraphBranch(func(_ context.Context, s string) (string, error) {
			if len(s) >= 1+2*rounds {
				return compose.END, nil
			}
			return "try", nil
		}, map[string]bool{"try": true, compose.END: true}))
		if err != nil {
			return nil, err
		}
		return einoOnce(g.Compile(context.Background(), compose.WithMaxRunSteps(2*rounds+10)))
	},
	dag: func(needs [][]int) (once, error) { return einoGraph(needs, 8, 0) },
}

// einoNode adds a node behind another; it appends to the text.
func einoNode(g *compose.Graph[string, string], after, id string, takes time.Duration) error {
	err := g.AddLambdaNode(id, compose.InvokableLambda(func(ctx context.Context, s string) (string, error) {
		return s + text, answer(ctx, takes)
	}))
	if err != nil {
		return err
	}
	return g.AddEdge(after, id)
}

func einoOnce(r compose.Runnable[string, string], err error) (once, error) {
	return func(ctx context.Context) error { _, err := r.Invoke(ctx, "x"); return err }, err
}

// einoGraph is a graph of nodes that wait for others, with the results joined in a
// map.
func einoGraph(needs [][]int, limit int, takes time.Duration) (once, error) {
	free := make(chan struct{}, limit)
	node := compose.InvokableLambda(func(ctx context.Context, _ map[string]any) (string, error) {
		free <- struct{}{}
		defer func() { <-free }()
		return text, answer(ctx, takes)
	})
	g := compose.NewGraph[map[string]any, map[string]any]()
	used := make([]bool, len(needs))
	for i, deps := range needs {
		id := strconv.Itoa(i)
		if err := g.AddLambdaNode(id, node, compose.WithOutputKey(id)); err != nil {
			return nil, err
		}
		from := []string{}
		for _, d := range deps {
			used[d] = true
			from = append(from, strconv.Itoa(d))
		}
		if len(deps) == 0 {
			from = append(from, compose.START)
		}
		for _, f := range from {
			if err := g.AddEdge(f, id); err != nil {
				return nil, err
			}
		}
	}
	for i, u := range used {
		if !u {
			if err := g.AddEdge(strconv.Itoa(i), compose.END); err != nil {
				return nil, err
			}
		}
	}
	r, err := g.Compile(context.Background(), compose.WithNodeTriggerMode(compose.AllPredecessor))
	return func(ctx context.Context) error { _, err := r.Invoke(ctx, map[string]any{"x": "x"}); return err }, err
}

func einoAgents(n int, takes time.Duration) (once, error) {
	ctx := context.Background()
	var agents []adk.Agent
	for i := range n {
		a, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
			Name: "agent-" + strconv.Itoa(i), Description: "answers", Instruction: "You answer.", Model: einoModel{takes},
		})
		if err != nil {
			return nil, err
		}
		agents = append(agents, a)
	}
	all, err := adk.NewSequentialAgent(ctx, &adk.SequentialAgentConfig{Name: "all", Description: "in turn", SubAgents: agents})
	if err != nil {
		return nil, err
	}
	r := adk.NewRunner(ctx, adk.RunnerConfig{Agent: all})
	return func(ctx context.Context) error {
		events := r.Query(ctx, "x")
		for {
			e, ok := events.Next()
			if !ok {
				return nil
			}
			if e.Err != nil {
				return e.Err
			}
		}
	}, nil
}

type einoModel struct{ takes time.Duration }

func (m einoModel) Generate(ctx context.Context, _ []*schema.Message, _ ...model.Option) (*schema.Message, error) {
	return schema.AssistantMessage(text, nil), answer(ctx, m.takes)
}

func (m einoModel) Stream(ctx context.Context, in []*schema.Message, o ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	msg, err := m.Generate(ctx, in, o...)
	return schema.StreamReaderFromArray([]*schema.Message{msg}), err
}

func (m einoModel) WithTools([]*schema.ToolInfo) (model.ToolCallingChatModel, error) { return m, nil }
