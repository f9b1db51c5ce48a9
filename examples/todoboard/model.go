package main

import (
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/director"
	"github.com/convene-go/convene/providers"
)

// cast lets one model play all agents.
func (s *shop) cast(m providers.Model) agent.Roster {
	roster := s.roster()
	for name, text := range map[string]string{
		boss:       "You direct a team that builds software: you cut the work into tasks of the size of a ticket, and decide what comes up.",
		strategist: "You review work against its acceptance criteria, with the same strict measure every time.",
		guardian:   "You watch whether workers do what their task asks for, and nothing else.",
	} {
		roster[name] = agent.LLM{Model: m, Instructions: text}
	}
	for _, p := range director.Software().Profiles {
		w := director.Worker(m, s.tools...)
		w.Instructions = "You are the " + p.ID + " of a team that builds software in Go, with the standard library alone. You work with tools, in small steps, and run the tests before you say that you are done."
		roster[p.ID] = w
	}
	return roster
}
