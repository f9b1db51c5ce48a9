package main

import (
	"context"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// scripted are agents that need no model. A host puts agent.LLM values here.
var scripted = agent.Roster{
	"planner":  agent.Func(planner),
	"writer":   agent.Func(writer),
	"critic":   agent.Func(critic),
	"reviewer": agent.Func(reviewer),
}

func planner(context.Context, agent.Request) (agent.Response, error) {
	return agent.Response{Data: agent.JSON(plan{Titles: []string{"Leaves", "Water", "Time"}})}, nil
}

const advice = "Say why it matters."

func writer(_ context.Context, r agent.Request) (agent.Response, error) {
	_, rest, _ := strings.Cut(r.Prompt, "section ")
	title, _, _ := strings.Cut(rest, ".")
	if strings.Contains(r.Prompt, advice) {
		return agent.Response{Text: title + " decide the taste, because nothing hides them."}, nil
	}
	return agent.Response{Text: title + " decide the taste."}, nil
}

func critic(_ context.Context, r agent.Request) (agent.Response, error) {
	verdict := orchestrator.Verdict{Score: 60, Feedback: advice}
	if strings.Contains(r.Prompt, "because") {
		verdict = orchestrator.Verdict{Score: 90}
	}
	return agent.Response{Data: agent.JSON(verdict)}, nil
}

func reviewer(_ context.Context, r agent.Request) (agent.Response, error) {
	return agent.Response{Text: "clear and short"}, nil
}
