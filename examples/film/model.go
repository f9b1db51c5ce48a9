package main

import (
	"context"
	"fmt"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/providers"
)

// cast is who plays: the rehearsal, or a model in every part. A model that does not
// answer has the run suspended.
func cast(o options, departments []hierarchy.Department, getenv func(string) string, suspend context.CancelCauseFunc) (agent.Roster, error) {
	if o.model == nil {
		return rehearse(o.request, departments, o.pace), nil
	}
	m, err := openModel(o, getenv)
	if err != nil {
		return nil, err
	}
	return parts(&outage{model: m, suspend: suspend}, departments), nil
}

// parts has one model play every agent of the studio.
func parts(m providers.Model, departments []hierarchy.Department) agent.Roster {
	play := func(format string, args ...any) agent.Agent {
		return agent.LLM{Model: m, Instructions: fmt.Sprintf(format, args...) + " Answer in at most 150 words of plain text, unless JSON is asked for."}
	}
	roster := agent.Roster{master: play("You direct a film studio.")}
	for _, d := range departments {
		roster[d.Head] = play("You lead the %s of a film studio, whose crafts are: %s.", d.Name, crafts(d))
		for _, a := range d.Agents {
			roster[a.ID] = play("You are the %s in the %s of a film studio. Your craft is %s.", a.Name, d.Name, a.Specialization)
		}
	}
	return roster
}

// who names the cast in reports and in the ID of a run.
func (o *options) who() string {
	switch {
	case o.model == nil:
		return "rehearsal"
	case o.model.BaseURL != "":
		return o.model.String() + " at " + o.model.BaseURL
	default:
		return o.model.String()
	}
}
