package agent_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

func TestErrorOfKinds(t *testing.T) {
	tests := []struct {
		name  string
		err   error
		kind  providers.Kind
		again bool
	}{
		{"rate limited", &providers.Error{Kind: providers.RateLimited}, providers.RateLimited, true},
		{"transient", fmt.Errorf("ask: %w", &providers.Error{Kind: providers.Transient}), providers.Transient, true},
		{"permanent", &providers.Error{Kind: providers.Permanent}, providers.Permanent, false},
		{"the kind alone", fmt.Errorf("busy: %w", providers.Transient), providers.Transient, true},
		{"the kind alone, for good", fmt.Errorf("gone: %w", providers.Permanent), providers.Permanent, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := agent.ErrorOf(tt.err)
			assert.ErrorIs(t, e, tt.kind)
			assert.NotErrorIs(t, e, providers.Canceled)
			assert.Equal(t, tt.again, e.Transient)
		})
	}
}

func TestErrorOfRetryAfter(t *testing.T) {
	inner := &providers.Error{Kind: providers.RateLimited, RetryAfter: time.Minute}
	assert.Equal(t, time.Minute, agent.ErrorOf(inner).RetryAfter)
	assert.Equal(t, time.Hour, agent.ErrorOf(agent.Transient(inner, time.Hour)).RetryAfter, "the outermost word counts")
}

// What wraps an error with usage, as meters and chains do, has counted it.
func TestErrorOfCountsUsageOnce(t *testing.T) {
	used := providers.Usage{Calls: 1, Input: 3}
	inner := &providers.Error{Kind: providers.Transient, Usage: providers.Usage{Input: 3}}
	outer := &providers.Error{Kind: providers.Transient, Usage: used, Err: inner}
	assert.Equal(t, used, agent.ErrorOf(outer).Usage)
	assert.Equal(t, used, agent.ErrorOf(&providers.Error{Err: outer}).Usage, "one that says nothing has counted nothing")
	assert.Equal(t, providers.Usage{Calls: 2, Input: 6}, agent.ErrorOf(errors.Join(outer, outer)).Usage, "of two failures")

	charged := providers.Metered{Model: &model{err: inner}, Spec: providers.Spec{Price: &providers.Price{Input: 1_000_000}}}
	_, err := charged.Generate(t.Context(), providers.Request{})
	require.Error(t, err)
	assert.Equal(t, providers.Usage{Calls: 1, Input: 3, Cost: 3}, agent.ErrorOf(err).Usage)
}

// broken is an error whose methods need what a nil pointer has not.
type broken struct{ inner error }

func (b *broken) Error() string { return b.inner.Error() }
func (b *broken) Unwrap() error { return b.inner }

// calm is an error whose nil pointer is a legal value.
type calm struct{}

func (*calm) Error() string { return "calm" }

func TestErrorOfNilPointers(t *testing.T) {
	var own *agent.Error
	var theirs *broken
	var models *providers.Error
	const advice = " as its error; return nil instead"
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"an *agent.Error", own, "the agent returned a nil *agent.Error" + advice},
		{"an *agent.Error inside", fmt.Errorf("ask: %w", own), "ask: <nil>"},
		{"one that is transient", agent.Transient(own, 0), "the agent returned a nil *agent.Error" + advice},
		{"one of another type", theirs, "the agent returned a nil *agent_test.broken" + advice},
		{"one of a model", models, "the agent returned a nil *providers.Error" + advice},
		{"one of another type inside", fmt.Errorf("ask: %w", theirs), "ask: <nil>"},
		{"one that may be nil", (*calm)(nil), "calm"},
		{"no pointer, and a panic", &broken{}, "the method Error of a *agent_test.broken panicked: runtime error: invalid memory address or nil pointer dereference"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := agent.ErrorOf(tt.err)
			require.NotNil(t, e)
			assert.Equal(t, tt.want, e.Message)
		})
	}
	assert.Nil(t, agent.ErrorOf(nil))
	assert.NotErrorIs(t, own, agent.ErrCut, "and errors.Is does not panic")
}
