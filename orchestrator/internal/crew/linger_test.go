package crew_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/orchestrator/engine"
)

func TestLinger(t *testing.T) {
	left := func(t *testing.T, n int) (*stage, []*client) {
		t.Helper()
		s := newStage(1)
		calls := s.open(n, deaf)
		s.cancel(calls[0])
		for _, c := range calls[1:] {
			pass(engine.DefaultGrace)
			s.cancel(c)
		}
		pass(engine.DefaultGrace)
		return s, calls
	}
	for name, test := range map[string]func(*testing.T){
		"nobody was left behind": func(t *testing.T) {
			s := newStage(1)
			a := s.open(1, deaf)[0]
			began := time.Now()
			assert.Empty(t, s.Linger(t.Context()))
			assert.Zero(t, time.Since(began), "who works in time is not of interest")
			s.end(a)
		},
		"it names who does not return, after DefaultGrace": func(t *testing.T) {
			s, calls := left(t, 3)
			began := time.Now()
			time.AfterFunc(engine.DefaultGrace/2, func() { close(calls[1].may) })
			assert.Equal(t, []string{"ann", "ann"}, s.Linger(t.Context()))
			assert.Equal(t, engine.DefaultGrace, time.Since(began))
			s.end(calls[0], calls[2])
		},
		"it returns when the last has returned": func(t *testing.T) {
			s, calls := left(t, 2)
			began := time.Now()
			time.AfterFunc(engine.DefaultGrace/4, func() { close(calls[0].may) })
			time.AfterFunc(engine.DefaultGrace/2, func() { close(calls[1].may) })
			assert.Empty(t, s.Linger(t.Context()))
			assert.Equal(t, engine.DefaultGrace/2, time.Since(began))
		},
		"it returns when its context is done": func(t *testing.T) {
			s, calls := left(t, 1)
			ctx, cancel := context.WithTimeout(t.Context(), engine.DefaultGrace/4)
			defer cancel()
			began := time.Now()
			assert.Equal(t, []string{"ann"}, s.Linger(ctx))
			assert.Equal(t, engine.DefaultGrace/4, time.Since(began))
			s.end(calls[0])
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
	}
}
