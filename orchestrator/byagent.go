package orchestrator

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/convene-go/convene/internal/answer"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/routing"
)

// ByAgent is the [Router] that asks an agent how much a request concerns each target, and
// decides by [routing.Decide]. Targets that it does not mention concern the request by 0.
//
// The prompt has the request, and the ID, About and Keywords of each target. An answer that
// does not fit, such as one with an unknown ID, is sent back once. Then it is an error.
type ByAgent struct {
	Name string  `json:"name"` // name of the agent; required
	Cut  float64 `json:"cut"`  // relevance, 0 to 1, that a supporting target must exceed
}

// Agents returns the agent that b asks.
func (b ByAgent) Agents() []string { return []string{b.Name} }

// Validate returns what is wrong with b, or nil.
func (b ByAgent) Validate() error {
	if b.Name == "" {
		return errors.New("Name is empty, want the name of an agent")
	}
	return routing.Keywords{Cut: b.Cut}.Validate()
}

// relevances is what ByAgent wants from its agent.
var relevances = answer.MustFromSchema(`{"type":"object","required":["relevances"],"additionalProperties":false,"properties":{` +
	`"relevances":{"type":"array","items":{"type":"object","required":["id","relevance"],"additionalProperties":false,"properties":{` +
	`"id":{"type":"string"},"relevance":{"type":"number","minimum":0,"maximum":1},"reason":{"type":"string"}}}}}}`)

// Route asks the agent. Barred targets are asked about, and stand last in Relevances.
func (b ByAgent) Route(c *Context, request string, targets []routing.Target) (routing.Route, error) {
	req := agent.Request{Prompt: routePrompt(request, targets), Output: relevances.JSON()}
	all, _, err := AskWith(c, b.Name, req, func(resp agent.Response) ([]routing.Relevance, error) {
		given, _, err := answer.ReadLoose[struct{ Relevances []routing.Relevance }](relevances, resp.Data, resp.Text)
		if err != nil {
			return nil, err
		}
		return complete(given.Relevances, targets)
	})
	if err != nil {
		return routing.Route{}, err
	}
	open, barred := routing.Unbarred(all, targets)
	route, err := routing.Decide(open, nil, b.Cut)
	if err != nil {
		return routing.Route{}, err
	}
	route.Relevances = append(route.Relevances, barred...)
	return route, nil
}

// complete returns a relevance for each of targets, with the target's priority.
func complete(given []routing.Relevance, targets []routing.Target) ([]routing.Relevance, error) {
	all := make([]routing.Relevance, len(targets))
	place := make(map[string]int, len(targets))
	for i, t := range targets {
		place[t.ID] = i
		all[i] = routing.Relevance{ID: t.ID, Priority: t.Priority, Reason: "not mentioned", BaseOnly: true}
	}
	var faults []error
	for _, r := range given {
		i, ok := place[r.ID]
		switch {
		case !ok:
			faults = append(faults, fmt.Errorf("id %q is none of %q", r.ID, slices.Sorted(maps.Keys(place))))
		case !all[i].BaseOnly:
			faults = append(faults, fmt.Errorf("id %q is there twice", r.ID))
		default:
			all[i].Relevance, all[i].Reason, all[i].BaseOnly = r.Relevance, r.Reason, false
		}
	}
	return all, errors.Join(faults...)
}

// routePrompt asks for the relevance of each target.
func routePrompt(request string, targets []routing.Target) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Say how much this request concerns each of the teams below, from 0 (not at all) to 1 (entirely).\n\nRequest:\n%s\n\nTeams:\n", request)
	for _, t := range targets {
		fmt.Fprintf(&b, "- %s", t.ID)
		if t.About != "" {
			fmt.Fprintf(&b, ": %s", t.About)
		}
		if len(t.Keywords) > 0 {
			fmt.Fprintf(&b, " (words: %s)", strings.Join(slices.Sorted(maps.Keys(t.Keywords)), ", "))
		}
		b.WriteString("\n")
	}
	b.WriteString("\nAnswer with JSON: {\"relevances\": [{\"id\": \"…\", \"relevance\": 0.5, \"reason\": \"…\"}]}")
	return b.String()
}
