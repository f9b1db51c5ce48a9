// Package fake scripts a model for unit tests: answers in turn, or by rules that
// do not depend on the order of calls, for agents that work at the same time.
//
//	m := fake.New(t, fake.Text("first"), fake.Fail(providers.RateLimited, time.Minute))
//	m.When(fake.Rule{Text: "review", Times: 2, Answer: fake.JSON(verdict)})
//
// A call that nothing is scripted for and an answer that nobody asked for fail
// the test: scripts do not start over silently.
package fake

import (
	"context"
	"sync"

	"github.com/convene-go/convene/providers"
)

// T is what a [Model] wants of a test. *testing.T, *testing.B and *testing.F have
// it.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Model is a scripted [providers.Model]. It is made by [New], and safe for
// concurrent use.
type Model struct {
	mu         sync.Mutex
	t          T // nil: none, or the test is over
	rules      []*rule
	turns      []Answer
	taken      int // of turns
	requests   []providers.Request
	unexpected []string
}

var _ providers.Model = (*Model)(nil)

// New returns a model that gives answers in turn, and fails t if it is asked
// more often, or less often until t ends. In programs t is nil: see [Model.Check].
func New(t T, answers ...Answer) *Model {
	m := &Model{t: t}
	for _, a := range answers {
		m.turns = append(m.turns, a.clone())
	}
	if t != nil {
		t.Cleanup(func() { m.end(t) })
	}
	return m
}

// When adds a rule. A call is answered by the first rule that matches and is not
// used up, else by the next answer in turn.
func (m *Model) When(r Rule) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r.Answer = r.Answer.clone()
	m.rules = append(m.rules, &rule{Rule: r})
}

// Generate gives the scripted answer. An unexpected call is an error of kind
// Invalid, beside failing the test. If ctx is done already, nothing of the
// script is used. The error is always a *[providers.Error].
func (m *Model) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	a, ok := m.next(ctx, req)
	if !ok {
		if ctx.Err() != nil {
			return providers.Response{}, canceled(ctx)
		}
		return providers.Response{}, &providers.Error{Kind: providers.Invalid, Model: name, Message: "no answer is scripted for this call"}
	}
	return a.give(ctx, req)
}

// Requests returns the requests so far, in order of arrival. They are copies.
func (m *Model) Requests() []providers.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]providers.Request, len(m.requests))
	for i, r := range m.requests {
		out[i] = cloneRequest(r)
	}
	return out
}

// next records req and takes its answer from the script.
func (m *Model) next(ctx context.Context, req providers.Request) (Answer, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, cloneRequest(req))
	if ctx.Err() != nil {
		return Answer{}, false
	}
	for _, r := range m.rules {
		if r.usedUp() || !r.matches(req) {
			continue
		}
		r.used++
		return r.Answer, true
	}
	if m.taken < len(m.turns) {
		m.taken++
		return m.turns[m.taken-1], true
	}
	report := m.describeUnexpected(req)
	m.unexpected = append(m.unexpected, report)
	if m.t != nil {
		m.t.Helper()
		m.t.Errorf("fake model: %s", report)
	}
	return Answer{}, false
}
