package research_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/research"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

var errBoom = errors.New("boom")

// The phases of a run.
const (
	initialized research.Phase = "initialized"
	planning    research.Phase = "planning"
	strategy    research.Phase = "strategy"
	executing   research.Phase = "executing"
	evaluating  research.Phase = "evaluating"
	rePlanning  research.Phase = "re_planning"
	merging     research.Phase = "merging"
	completed   research.Phase = "completed"
	failed      research.Phase = "failed"
)

// Kinds of records for which the package has no exported name.
const (
	runStarted    team.Kind = "research.run.started"
	runFinished   team.Kind = "research.run.finished"
	agentStarted  team.Kind = "research.agent.started"
	agentFinished team.Kind = "research.agent.finished"
	agentFailed   team.Kind = "research.agent.failed"
	agentRetried  team.Kind = "research.agent.retried"
	actionLogged  team.Kind = "research.action.logged"
	planCreated   team.Kind = "research.plan.created"
	stepStarted   team.Kind = "research.step.started"
)

// attempts is the default Retrier with other numbers.
func attempts(most int, longest time.Duration) orchestrator.Retrier {
	return orchestrator.Attempts{Max: most, Wait: 2 * time.Second, Factor: 2, Longest: longest, Final: true}
}

// cents are hundredths of a USD.
func cents(n int) providers.NanoUSD { return providers.NanoUSD(n) * providers.USD / 100 }

// step is a step of a plan as planners write it.
type step struct {
	ID        string   `json:"id,omitempty"`
	Category  string   `json:"category"`
	Mode      string   `json:"mode"`
	Workers   []string `json:"workers"`
	DependsOn []string `json:"depends_on,omitempty"`
}

func parallel(category string, workers ...string) step {
	return step{ID: category, Category: category, Mode: "PARALLEL", Workers: workers}
}

func sequential(category string, workers ...string) step {
	return step{ID: category, Category: category, Mode: "SEQUENTIAL", Workers: workers}
}

// plan is a planner's answer.
func plan(complexity float64, steps ...step) string {
	return string(agent.JSON(map[string]any{"complexity": complexity, "steps": steps}))
}

// reference is the plan of R105: four steps, eight workers.
func reference() string {
	return plan(0.6,
		parallel("research", "web_search", "academic_search", "news_search"),
		sequential("analysis", "content_synthesizer"),
		sequential("writing", "article_writer"),
		parallel("quality", "fact_checker", "editor", "citation_formatter"),
	)
}

// small is a plan of three workers.
func small() string {
	return plan(0.3, sequential("research", "web_search"), sequential("writing", "article_writer"), sequential("quality", "editor"))
}

// marks is a supervisor's answer with that score.
func marks(score float64) map[string]any {
	return map[string]any{"article": score, "source": score, "factual": score, "writing": score, "feedback": "be better"}
}

// sources is a research worker's answer.
func sources(list ...research.Source) research.Findings { return research.Findings{Sources: list} }

// lines are what a worker answers that the cast has nothing for.
func lines(w research.Worker) any {
	switch w.Category {
	case research.Researching:
		return sources(research.Source{Title: "About " + w.ID, URL: "https://example.com/" + w.ID, Relevance: 0.5})
	case research.Writing:
		return research.Draft{Title: "AI in care", Content: "Words of " + w.ID + "."}
	case research.Analysing, research.Checking:
	}
	return map[string]string{"of": w.ID}
}

// long is a draft with as many words as are wanted.
func long(word string) research.Draft {
	return research.Draft{Title: "AI in care", Content: strings.TrimSpace(strings.Repeat(word+" ", 2000))}
}

// many is a research worker's answer with that many sources.
func many(n int) research.Findings {
	var f research.Findings
	for i := range n {
		f.Sources = append(f.Sources, research.Source{Title: "Page", URL: fmt.Sprintf("https://example.com/%d", i)})
	}
	return f
}

// full is p with drafts of the wanted length, which count.
func (p project) full() project {
	p.cfg.Policy.MinShare = 0
	if p.cast["article_writer"] == nil {
		p.cast["article_writer"] = []any{long("one")}
	}
	return p
}

// writers are the catalogue and a second writer.
func writers() []research.Worker {
	return append(research.Catalogue(), research.Worker{ID: "second", Category: research.Writing, Needs: []string{"sources"}, Produces: []string{"article"}})
}

// pair is a plan with two writers.
func pair() string {
	return plan(0.3, sequential("research", "web_search"), parallel("writing", "article_writer", "second"))
}

// merged is p with two writers, and a merger with these answers.
func (p project) merged(answers ...any) project {
	p.cfg.Agents.Merger, p.workers = "merger", writers()
	p.cast["planner"], p.cast["merger"] = []any{pair()}, answers
	return p
}

// project is a case: a team, a brief and what its agents answer, in turn; the last
// answer is that to all further calls.
type project struct {
	cfg     research.Config
	workers []research.Worker // nil: the catalogue
	brief   research.Input
	cast    map[string][]any
}

// played is the result of a run.
type played struct {
	out   research.Outcome
	err   error
	log   []runlog.Record
	state research.State // at the end
	asked map[string][]agent.Request
}

// brief is about AI, with as many sources as one research worker finds in these tests.
func brief() research.Input {
	return research.Input{RequestID: "req-1", Topic: "AI in healthcare", MinSources: 1}
}

func (p project) open(t *testing.T) (c *flowtest.Case[research.Input, research.Outcome], scripts map[string]*flowtest.Script) {
	t.Helper()
	if p.workers == nil {
		p.workers = research.Catalogue()
	}
	p.cfg.Workers = p.workers
	flow, err := research.New(p.cfg)
	require.NoError(t, err)
	scripts = map[string]*flowtest.Script{}
	c = flowtest.New(flow, p.brief, func(tb testing.TB) agent.Roster {
		tb.Helper()
		roster := agent.Roster{}
		for _, name := range flow.Agents {
			answers := p.cast[name]
			if answers == nil {
				w := worker(p.workers, name)
				answers = []any{lines(w)}
			}
			last := len(answers) - 1
			scripts[name] = flowtest.NewScript(tb, answers[:last]...).Else(answers[last])
			roster[name] = scripts[name]
		}
		return roster
	})
	return c, scripts
}

// worker is the one of that ID; none: a zero one.
func worker(all []research.Worker, id string) research.Worker {
	i := slices.IndexFunc(all, func(w research.Worker) bool { return w.ID == id })
	if i < 0 {
		return research.Worker{}
	}
	return all[i]
}

func (p project) play(t *testing.T) played {
	t.Helper()
	c, scripts := p.open(t)
	var got played
	got.out, got.log, got.err = c.Run(t)
	got.asked = map[string][]agent.Request{}
	for name, s := range scripts {
		if reqs := s.Requests(); len(reqs) > 0 {
			got.asked[name] = reqs
		}
	}
	var end struct {
		State research.State `json:"state"`
	}
	last := got.log[len(got.log)-1]
	require.Equal(t, runlog.Ended, last.Kind)
	require.NoError(t, json.Unmarshal(last.Data, &end))
	got.state = end.State
	return got
}

// phases are those that the run went through, with the first.
func (p played) phases() []research.Phase {
	all := []research.Phase{initialized}
	for _, change := range p.state.Phases {
		all = append(all, change.To)
	}
	return all
}

// events are the run's own records of a kind.
func (p played) events(t *testing.T, kind team.Kind) []research.Event {
	t.Helper()
	var found []research.Event
	for _, rec := range p.log {
		if rec.Kind == string(kind) {
			var e research.Event
			require.NoError(t, json.Unmarshal(rec.Data, &e))
			found = append(found, e)
		}
	}
	return found
}

// waits are the pauses before attempts, in seconds.
func (p played) waits(t *testing.T, worker string) []float64 {
	t.Helper()
	var all []float64
	for _, e := range p.events(t, agentRetried) {
		if worker == "" || e.Who == worker {
			all = append(all, e.Wait.Seconds())
		}
	}
	return all
}

// warned are the messages of the warnings.
func (p played) warned() []string {
	var all []string
	for _, w := range p.out.Warnings {
		all = append(all, w.Message)
	}
	return all
}

func (p played) codes() []string {
	var all []string
	for _, w := range p.out.Warnings {
		all = append(all, w.Code)
	}
	return all
}

func (p played) task(t *testing.T, worker string) research.Task {
	t.Helper()
	i := slices.IndexFunc(p.state.Tasks, func(t research.Task) bool { return t.Worker == worker })
	require.GreaterOrEqual(t, i, 0, "no task of %q", worker)
	return p.state.Tasks[i]
}

// input is what an agent got with a request.
func input[T any](t *testing.T, req agent.Request) T {
	t.Helper()
	var v T
	require.NoError(t, json.Unmarshal(req.Input, &v))
	return v
}

// costs is an answer that costs so many cents.
func costs(n int, answer any) agent.Response {
	r := agent.Response{Usage: providers.Usage{Calls: 1, Input: 100, Output: 50, Cost: cents(n)}}
	if text, ok := answer.(string); ok {
		r.Text = text
	} else {
		r.Data = agent.JSON(answer)
	}
	return r
}

func count[T comparable](all []T, one T) int {
	n := 0
	for _, v := range all {
		if v == one {
			n++
		}
	}
	return n
}

// kinds are the kinds of the run's own records, in order.
func kinds(p played) []team.Kind {
	engines := []string{"started", "resumed", "called", "slept", "ended", "canceled"}
	var all []team.Kind
	for _, rec := range p.log {
		if !slices.Contains(engines, rec.Kind) {
			all = append(all, team.Kind(rec.Kind))
		}
	}
	return all
}

// proves runs a test once under each name: one for every requirement that it proves.
func proves(t *testing.T, names []string, test func(t *testing.T)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, test)
	}
}
