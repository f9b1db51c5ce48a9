package main

import (
	"context"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
)

func departments() []hierarchy.Department {
	words := hierarchy.NewDepartment("words", "words-head")
	words.Base, words.Keywords = 40, map[string]int{"text": 40}
	pictures := hierarchy.NewDepartment("pictures", "pictures-head")
	pictures.Base, pictures.Keywords = 35, map[string]int{"picture": 40}
	pictures.DependsOn = []string{"words"}
	return []hierarchy.Department{words, pictures}
}

// scripted are agents that need no model. A service puts agent.LLM values here.
func scripted() agent.Roster {
	return agent.Roster{
		"words-head":    say("Some words, scripted."),
		"pictures-head": say("A picture of them, scripted."),
	}
}

func say(text string) agent.Agent {
	return agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
		return agent.Response{Text: text}, nil
	})
}
