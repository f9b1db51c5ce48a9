package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Attempts that use 1 and then 5 of 10 leave 4, into which no further one of 5 fits.
func TestLargestAttemptCounts(t *testing.T) {
	for name, tt := range map[string]struct {
		limits agent.Limits
		first  providers.Usage // of the first attempt
		second providers.Usage // of the others
	}{
		"N10 cost":   {agent.Limits{Cost: 10}, providers.Usage{Calls: 1, Cost: 1}, providers.Usage{Calls: 1, Cost: 5}},
		"N10 tokens": {agent.Limits{Tokens: 10}, providers.Usage{Calls: 1, Input: 1}, providers.Usage{Calls: 1, Input: 3, Output: 2}},
		"N10 calls":  {agent.Limits{Calls: 10}, providers.Usage{Calls: 1}, providers.Usage{Calls: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			made := 0
			a := agent.Func(func(context.Context, agent.Request) (agent.Response, error) {
				used := tt.second
				if made++; made == 1 {
					used = tt.first
				}
				return agent.Response{Usage: used}, agent.Transient(errors.New("busy"), 0)
			})
			execute(t, a, &Task{Request: &agent.Request{Limits: tt.limits}})
			assert.Equal(t, 2, made)
		})
	}
}
