package flowtest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
)

// Script is an agent that gives its answers in turn. A call that is made again, with the
// same key, gets the same answer. A call without an answer fails the test, and so do
// answers that are left at its end. A Script is safe for concurrent use, but branches that
// call it at once need answers by On, because their order is not fixed.
type Script struct {
	t testing.TB

	mu      sync.Mutex
	answers []any
	next    int
	rules   []rule
	rest    []any            // the answer to all further calls, if there is one
	taken   map[string]taken // answers that were given, by key of the call
	calls   []seen
}

type rule struct {
	part   string
	answer any
}

// taken is the answer to a call, and the time at which the call was first made.
type taken struct {
	answer any
	at     time.Time
}

// seen is one of the calls, which differ in their keys.
type seen struct {
	branch string
	n      int
	req    agent.Request
}

// NewScript returns a Script with answers in turn. An answer is a string, which becomes
// Response.Text; an error; an agent.Response; an agent, or a function of its type; or what
// Hang, Fail and Delay return. Anything else becomes Response.Data by its JSON form.
func NewScript(t testing.TB, answers ...any) *Script {
	s := &Script{t: t, answers: answers, taken: map[string]taken{}}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if left := s.answers[s.next:]; len(left) > 0 && !t.Failed() {
			t.Errorf("script: %d of %d answers were never asked for; the first of them is %s", len(left), len(s.answers), show(left[0]))
		}
	})
	return s
}

// On adds an answer to all requests whose prompt contains part. It takes precedence over
// the answers in turn; of several that fit, the one that was added first counts. On
// returns s.
func (s *Script) On(part string, answer any) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, rule{part, answer})
	return s
}

// Else sets the answer to all calls for which no answer of On fits and none in turn is
// left. Else returns s.
func (s *Script) Else(answer any) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest = []any{answer}
	return s
}

// Call implements agent.Agent.
func (s *Script) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	info := agent.InfoFrom(ctx)
	got, ok := s.take(info, req)
	if !ok {
		s.t.Errorf("script of agent %q: call %d (%s) was not expected; its prompt is %s", info.Agent, s.next+1, info.Key, show(req.Prompt))
		return agent.Response{}, fmt.Errorf("the script of agent %q has no more answers", info.Agent)
	}
	if info.Attempt > 1 {
		got.at = time.Now()
	}
	return give(ctx, req, info.Attempt, got.at, got.answer)
}

// take returns the answer to a call: the one that its key was given before, else that of
// a rule, else the next in turn, else that of Else. ok is false if there is none.
func (s *Script) take(info agent.Info, req agent.Request) (_ taken, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.taken[info.Key]; ok && info.Key != "" {
		return t, true
	}
	s.note(info, req)
	answer, ok := s.choose(req)
	t := taken{answer, time.Now()}
	if ok {
		s.taken[info.Key] = t
	}
	return t, ok
}

// choose returns the answer of a rule, else the next in turn, else that of Else.
func (s *Script) choose(req agent.Request) (any, bool) {
	for _, r := range s.rules {
		if strings.Contains(req.Prompt, r.part) {
			return r.answer, true
		}
	}
	if s.next == len(s.answers) {
		if s.rest != nil {
			return s.rest[0], true
		}
		return nil, false
	}
	s.next++
	return s.answers[s.next-1], true
}

// note keeps the request of a call that was not seen before.
func (s *Script) note(info agent.Info, req agent.Request) {
	n, err := strconv.Atoi(info.Key[strings.LastIndexAny(info.Key, "/:")+1:])
	if err != nil {
		n = len(s.calls) // the call has no key: it is outside of a run
	}
	s.calls = append(s.calls, seen{info.Branch, n, req})
}

// Requests returns the requests of all calls so far, one for each key, in the order of
// their branches and numbers. So the order is the same every time.
func (s *Script) Requests() []agent.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	calls := slices.Clone(s.calls)
	slices.SortStableFunc(calls, func(a, b seen) int {
		return cmp.Or(slices.Compare(path(a.branch), path(b.branch)), cmp.Compare(a.n, b.n))
	})
	reqs := make([]agent.Request, len(calls))
	for i, c := range calls {
		reqs[i] = c.req
	}
	return reqs
}

// path returns the numbers of a branch, so that "10" is sorted after "9".
func path(branch string) []int {
	var p []int
	for part := range strings.SplitSeq(branch, ".") {
		if n, err := strconv.Atoi(part); err == nil {
			p = append(p, n)
		}
	}
	return p
}

// show returns v in Go's syntax, cut to 200 bytes.
func show(v any) string {
	const most = 200
	s := fmt.Sprintf("%#v", v)
	if len(s) > most {
		return s[:most] + "…"
	}
	return s
}
