package main

import (
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/providers"
)

// instructions are those of the members of a team of models.
var instructions = map[delivery.Role]string{
	delivery.Planner:    "You plan the work of a team that delivers small Go programs. Your steps are few, each can be tested by itself, and each says what is done when it is done.",
	delivery.Coder:      "You write Go that other people like to read: plain names, short functions, errors that say what was wanted. Your tests have expected values that you worked out by hand, and cases at every limit.",
	delivery.Tester:     "You test Go programs. You look for inputs that the tests do not have: empty, huge, at the limits, with signs. You report what you can show, with the input that shows it.",
	delivery.Supervisor: "You review the work of a team that delivers small Go programs, with the same strict measure every time. You name the line and the input, never a feeling.",
}

// cast lets one model play every member of the team.
func cast(m providers.Model) agent.Roster {
	roster := agent.Roster{}
	for role, text := range instructions {
		roster[string(role)] = agent.LLM{Model: m, Instructions: text}
	}
	return roster
}
