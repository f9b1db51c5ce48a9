package fake

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/convene-go/convene/providers"
)

// T is the part of a test that a [Model] uses. *testing.T, *testing.B and *testing.F
// implement it.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(func())
}

// Model is a scripted [providers.Model]. Create it with [New]. It is safe for concurrent
// use.
type Model struct {
	mu         sync.Mutex
	t          T // nil: none, or the test is over
	rules      []*rule
	turns      []Answer
	taken      int // number of turns used
	requests   []providers.Request
	unexpected []string
	calls      map[call]given
}

// call identifies a call by its providers.WithKey and its request.
type call struct {
	key     string
	request [sha256.Size]byte
}

// given is the answer to a call, and when that was first made.
type given struct {
	answer Answer
	at     time.Time
}

var _ providers.Model = (*Model)(nil)

// New returns a model that gives answers in order, and fails t for more calls than
// answers, or at the end of t for fewer. In programs t is nil: see [Model.Check].
func New(t T, answers ...Answer) *Model {
	m := &Model{t: t, calls: map[call]given{}}
	for _, a := range answers {
		m.turns = append(m.turns, a.clone())
	}
	if t != nil {
		t.Cleanup(func() { m.end(t) })
	}
	return m
}

// When adds a rule. A call is answered by the first rule that matches and is not used up,
// else by the next answer in order.
func (m *Model) When(r Rule) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rules = append(m.rules, newRule(r))
}

// Generate returns the scripted answer. An unexpected call is an error of kind Invalid,
// and fails the test. If ctx is done already, nothing of the script is used. The error
// is always a *[providers.Error].
//
// A repeated call, with the same [providers.WithKey] and the same request, gets the same
// answer or error and uses nothing of the script.
func (m *Model) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	g, ok := m.next(ctx, req)
	switch {
	case ctx.Err() != nil:
		return providers.Response{}, canceled(ctx)
	case !ok:
		return providers.Response{}, &providers.Error{Kind: providers.Invalid, Model: name, Message: "no answer is scripted for this call"}
	}
	return g.answer.give(ctx, req, g.at)
}

// Requests returns copies of the requests so far, in order of arrival, without repeated
// calls.
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
func (m *Model) next(ctx context.Context, req providers.Request) (given, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	made := call{key: providers.KeyFrom(ctx)}
	if made.key != "" {
		made.request = sum(req)
		if g, ok := m.calls[made]; ok {
			return g, true
		}
	}
	m.requests = append(m.requests, cloneRequest(req))
	if ctx.Err() != nil {
		return given{}, false
	}
	from := providers.OriginFrom(ctx)
	a, err := m.choose(from, req)
	if err != nil {
		m.complain(from, req, err)
		return given{}, false
	}
	g := given{a, time.Now()}
	if made.key != "" {
		m.calls[made] = g
	}
	return g, true
}

// choose takes the answer to req, which comes from that call, from the script.
func (m *Model) choose(from providers.Origin, req providers.Request) (Answer, error) {
	a, ok := m.take(from, req)
	if !ok {
		return Answer{}, errors.New(m.describeScript())
	}
	if a.From == nil {
		return a, nil
	}
	made, err := a.From(req)
	if err != nil {
		return Answer{}, fmt.Errorf("no answer can be made: %w", err)
	}
	return made.clone(), nil
}

func (m *Model) take(from providers.Origin, req providers.Request) (Answer, bool) {
	for _, r := range m.rules {
		if !r.usedUp() && r.matches(from, req) {
			return r.take(), true
		}
	}
	if m.taken == len(m.turns) {
		return Answer{}, false
	}
	m.taken++
	return m.turns[m.taken-1], true
}

// complain records that the last call has no answer, and fails the test.
func (m *Model) complain(from providers.Origin, req providers.Request, err error) {
	report := describeCall(len(m.requests), req) + describeOrigin(";", from) + "\n\t" + err.Error()
	m.unexpected = append(m.unexpected, report)
	if m.t != nil {
		m.t.Helper()
		m.t.Errorf("fake model: %s", report)
	}
}
