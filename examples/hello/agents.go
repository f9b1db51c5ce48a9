// Hello is a first flow: a writer, a critic, and a gate that the first line does
// not pass. Its agents are scripts, so it needs no key.
package main

import (
	"context"
	"strings"

	o "github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

const (
	advice = "Say what it feels like."
	weak   = "Tea is a drink."
	strong = "Tea: a small fire you can hold."
)

// writer uses the critic's advice, if there is one.
func writer(_ context.Context, r agent.Request) (agent.Response, error) {
	if strings.Contains(r.Prompt, advice) {
		return agent.Response{Text: strong}, nil
	}
	return agent.Response{Text: weak}, nil
}

// critic requires more than a definition.
func critic(_ context.Context, r agent.Request) (agent.Response, error) {
	verdict := o.Verdict{Score: 90}
	if strings.Contains(r.Prompt, weak) {
		verdict = o.Verdict{Score: 55, Feedback: advice}
	}
	return agent.Response{Data: agent.JSON(verdict)}, nil
}
