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
	rules   []*rule
	rest    []any            // the answer to all further calls, if there is one
	taken   map[string]taken // answers that were given, by key of the call
	calls   []seen
	noted   map[string]bool // keys of calls
}

// Match says which calls an answer of When is for: those that fit all its set fields.
type Match struct {
	Op      string // operation, as in agent.Request.Op; "": any
	Task    string // task or step, as in agent.Request.Task; "": any
	Attempt int    // attempt of the call, from 1, as in agent.Info.Attempt; 0: any, and all attempts of a call get one answer
	Prompt  string // part of the prompt; "": any
}

// fits reports whether the call is one that m is for.
func (m Match) fits(attempt int, req *agent.Request) bool {
	return (m.Op == "" || m.Op == req.Op) && (m.Task == "" || m.Task == req.Task) &&
		(m.Attempt == 0 || m.Attempt == attempt) && strings.Contains(req.Prompt, m.Prompt)
}

// rule has the answers to the calls that fit.
type rule struct {
	Match
	answers []any // one is for all calls, several are given in turn
	next    int   // number of answers given, if there are several
}

// answer returns the next answer of the rule; ok is false if there is none.
func (r *rule) answer() (_ any, ok bool) {
	if len(r.answers) == 1 {
		return r.answers[0], true
	}
	if r.next == len(r.answers) {
		return nil, false
	}
	r.next++
	return r.answers[r.next-1], true
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
	s := &Script{t: t, answers: answers, taken: map[string]taken{}, noted: map[string]bool{}}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.Failed() {
			return
		}
		if left := s.answers[s.next:]; len(left) > 0 {
			t.Errorf("script: %d of %d answers were never asked for; the first of them is %s", len(left), len(s.answers), show(left[0]))
		}
		for _, r := range s.rules {
			if left := r.answers[r.next:]; len(r.answers) > 1 && len(left) > 0 {
				t.Errorf("script: %d of %d answers of When(%+v) were never asked for; the first of them is %s", len(left), len(r.answers), r.Match, show(left[0]))
			}
		}
	})
	return s
}

// On adds an answer to all requests whose prompt contains part. It takes precedence over
// the answers in turn; of several that fit, the one that was added first counts. On
// returns s.
func (s *Script) On(part string, answer any) *Script { return s.When(Match{Prompt: part}, answer) }

// When adds answers to the calls that m is for. One answer is for all of them. Several are
// given in turn, one to a call; each that is left at the end fails the test. When takes
// precedence as On does. It returns s.
func (s *Script) When(m Match, answers ...any) *Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(answers) == 0 {
		s.t.Errorf("script: When(%+v) has no answer", m)
	}
	s.rules = append(s.rules, &rule{Match: m, answers: answers})
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
		s.t.Errorf("script of agent %q: call %d (%s) was not expected; its %sprompt is %s", info.Agent, s.next+1, info.Key, named(&req), show(req.Prompt))
		return agent.Response{}, fmt.Errorf("the script of agent %q has no more answers", info.Agent)
	}
	if info.Attempt > 1 {
		got.at = time.Now()
	}
	return give(ctx, req, info.Attempt, got.at, got.answer)
}

// take returns the answer to a call: the one that its key was given before, else that of
// a rule, else the next in turn, else that of Else. An attempt that a rule names has an
// answer of its own. ok is false if there is none.
func (s *Script) take(info agent.Info, req agent.Request) (_ taken, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := info.Key
	if slices.ContainsFunc(s.rules, func(r *rule) bool { return r.Attempt != 0 && r.fits(info.Attempt, &req) }) {
		key += "#" + strconv.Itoa(info.Attempt)
	}
	if t, ok := s.taken[key]; ok && info.Key != "" {
		return t, true
	}
	if !s.noted[info.Key] {
		s.note(info, req)
	}
	answer, ok := s.choose(info.Attempt, &req)
	t := taken{answer, time.Now()}
	if ok {
		s.taken[key] = t
	}
	return t, ok
}

// choose returns the answer of a rule, else the next in turn, else that of Else.
func (s *Script) choose(attempt int, req *agent.Request) (any, bool) {
	for _, r := range s.rules {
		if r.fits(attempt, req) {
			if answer, ok := r.answer(); ok {
				return answer, true
			}
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
	s.noted[info.Key] = info.Key != ""
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

// named returns the op and the task of a request, for a report; "": it has none.
func named(req *agent.Request) string {
	var names string
	if req.Op != "" {
		names = fmt.Sprintf("op is %q, its ", req.Op)
	}
	if req.Task != "" {
		names += fmt.Sprintf("task is %q, its ", req.Task)
	}
	return names
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
