package hierarchy_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/team"
)

var update = flag.Bool("update", false, "write golden files")

// cast is what each agent answers, in turn; an on is a rule.
type cast map[string][]any

type on struct {
	part   string
	answer any
}

// said is an answer with the figure that the agent gives itself.
func said(text string, score float64) agent.Response {
	return agent.Response{Text: text, Data: agent.JSON(map[string]any{"qualityScore": score})}
}

// marks is a head's grade of so many percent.
func marks(percent float64, suggestions ...string) map[string]any {
	x := percent / 100
	return map[string]any{"quality": x, "relevance": x, "consistency": x, "suggestions": suggestions}
}

// played is the result of a run.
type played struct {
	out   hierarchy.Outcome
	err   error
	log   []runlog.Record
	asked map[string][]agent.Request // by agent
}

func (p played) report(t *testing.T, id string) hierarchy.Report {
	t.Helper()
	i := slices.IndexFunc(p.out.Reports, func(r hierarchy.Report) bool { return r.DepartmentID == id })
	require.GreaterOrEqual(t, i, 0, "no report of %q", id)
	return p.out.Reports[i]
}

// prompt is what an agent was asked at its nth call, from 0; "": it was not.
func (p played) prompt(name string, n int) string {
	if n >= len(p.asked[name]) {
		return ""
	}
	return p.asked[name][n].Prompt
}

// codes are those of the warnings, in order.
func (p played) codes() []string {
	var codes []string
	for _, w := range p.out.Warnings {
		codes = append(codes, w.Code)
	}
	return codes
}

// promptWith is the first prompt of an agent that has part in it; "": none has.
func (p played) promptWith(name, part string) string {
	for _, req := range p.asked[name] {
		if strings.Contains(req.Prompt, part) {
			return req.Prompt
		}
	}
	return ""
}

func (p played) calls() int {
	n := 0
	for _, reqs := range p.asked {
		n += len(reqs)
	}
	return n
}

// events are the run's own records of a kind.
func (p played) events(t *testing.T, kind team.Kind) []hierarchy.Event {
	t.Helper()
	var found []hierarchy.Event
	for _, rec := range p.log {
		if team.Kind(rec.Kind) == kind {
			var e hierarchy.Event
			require.NoError(t, json.Unmarshal(rec.Data, &e))
			found = append(found, e)
		}
	}
	return found
}

// kinds are the kinds of the run's own records of a path, in order.
func (p played) kinds(path string) []team.Kind {
	var kinds []team.Kind
	for _, rec := range p.log {
		var e hierarchy.Event
		if json.Unmarshal(rec.Data, &e) == nil && e.Path == path {
			kinds = append(kinds, team.Kind(rec.Kind))
		}
	}
	return kinds
}

// theater is a case: a team, a request and its cast.
type theater struct {
	cfg  hierarchy.Config
	in   hierarchy.Input
	cast cast
	wrap func(name string, a agent.Agent) agent.Agent // nil: as it is

	after func(cfg *hierarchy.Config) // what the host does with its Config after New; nil: nothing
}

// open makes the flow's case; scripts are those of the latest run.
func (th theater) open(t *testing.T) (*flowtest.Case[hierarchy.Input, hierarchy.Outcome], map[string]*flowtest.Script) {
	t.Helper()
	flow, err := hierarchy.New(th.cfg)
	require.NoError(t, err)
	if th.after != nil {
		th.after(&th.cfg)
	}
	scripts := map[string]*flowtest.Script{}
	c := flowtest.New(flow, th.in, func(tb testing.TB) agent.Roster {
		tb.Helper()
		roster := agent.Roster{}
		for _, name := range flow.Agents {
			scripts[name] = script(tb, th.cast[name])
			roster[name] = scripts[name]
			if th.wrap != nil {
				roster[name] = th.wrap(name, scripts[name])
			}
		}
		return roster
	})
	return c, scripts
}

func script(tb testing.TB, answers []any) *flowtest.Script {
	tb.Helper()
	var turns []any
	var rules []on
	for _, a := range answers {
		if rule, ok := a.(on); ok {
			rules = append(rules, rule)
		} else {
			turns = append(turns, a)
		}
	}
	s := flowtest.NewScript(tb, turns...)
	for _, r := range rules {
		s.On(r.part, r.answer)
	}
	return s
}

func (th theater) play(t *testing.T) played {
	t.Helper()
	c, scripts := th.open(t)
	var p played
	p.out, p.log, p.err = c.Run(t)
	p.asked = map[string][]agent.Request{}
	for name, s := range scripts {
		if reqs := s.Requests(); len(reqs) > 0 {
			p.asked[name] = reqs
		}
	}
	return p
}

// brief is a plain text of n words that begins with text.
func brief(text string, n int) string {
	return strings.TrimSpace(text + strings.Repeat(" bold", n-len(strings.Fields(text))))
}

// one is a team of one department "d" whose specialists grade themselves.
func one(agents ...hierarchy.Agent) hierarchy.Config {
	return hierarchy.Config{
		Departments: []hierarchy.Department{hierarchy.NewDepartment("d", "head", agents...)},
		Rules:       hierarchy.Rules{Grader: hierarchy.SelfGrader},
	}
}

func specialist(id string, threshold float64) hierarchy.Agent {
	return hierarchy.Agent{ID: id, Name: "Name of " + id, Specialization: "art of " + id, PassingThreshold: &threshold}
}

// request is complex, which is worth four specialists.
func request() hierarchy.Input { return hierarchy.Input{Prompt: "draw a detailed hat"} }

// heads are departments without specialists, all chosen for any request.
func heads(ids ...string) hierarchy.Config {
	cfg := hierarchy.Config{Rules: hierarchy.Rules{Grader: hierarchy.SelfGrader}}
	for i, id := range ids {
		d := hierarchy.NewDepartment(id, id+"-head")
		d.Priority, d.Keywords = i+1, map[string]int{"go": 80}
		cfg.Departments = append(cfg.Departments, d)
	}
	return cfg
}

// golden compares got with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "run with -update if the change is meant")
}

// transcript is everything that a run wrote and asked, as text.
func (p played) transcript() string {
	var b strings.Builder
	for _, rec := range p.log {
		var e hierarchy.Event
		if json.Unmarshal(rec.Data, &e) != nil || e.Path == "" {
			continue
		}
		fmt.Fprintf(&b, "%s %s\n", rec.Kind, rec.Data)
	}
	for _, name := range slices.Sorted(maps.Keys(p.asked)) {
		for i, req := range p.asked[name] {
			fmt.Fprintf(&b, "\n=== %s, request %d\n%s\n", name, i+1, req.Prompt)
		}
	}
	return b.String()
}

func hang() any { return flowtest.Hang() }

func delay(seconds int, then any) any {
	return flowtest.Delay(time.Duration(seconds)*time.Second, then)
}

type record = runlog.Record

var misnamed = fstest.MapFS{"synthesis.tmp": {Data: []byte("x")}}
