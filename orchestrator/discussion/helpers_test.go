package discussion_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
)

var update = flag.Bool("update", false, "write golden files")

var errBoom = errors.New("boom")

const topic = "How might a small library attract teenagers?"

// cast is what each role answers, in turn; the last answer is that of all further
// calls. A role that is not there speaks its lines.
type cast map[discussion.Role][]any

// ideas is an answer with ideas of these titles, each described as "about <title>".
func ideas(titles ...string) string {
	list := []map[string]string{}
	for _, title := range titles {
		list = append(list, map[string]string{"title": title, "description": "about " + title})
	}
	return string(agent.JSON(map[string]any{"ideas": list}))
}

// scores is an answer that gives idea-1, idea-2, … these scores.
func scores(values ...any) string {
	list := []map[string]any{}
	for i, v := range values {
		list = append(list, map[string]any{"idea_id": fmt.Sprintf("idea-%d", i+1), "score": v})
	}
	return string(agent.JSON(map[string]any{"evaluations": list}))
}

// judge scores every idea in a prompt; the second one is the best.
func judge(req agent.Request) agent.Response {
	marks := make([]any, strings.Count(req.Prompt, "<data name=\"idea-"))
	for i := range marks {
		marks[i] = []float64{7.9, 9.1, 6, 5, 4}[i%5]
	}
	return agent.Response{Text: scores(marks...)}
}

// lines are what a role says that the cast has no answer for.
func lines(role discussion.Role) []any {
	own := map[discussion.Role]any{
		discussion.Ideation:   ideas("Podcast lab", "Game night", "Repair café", "Silent disco", "Roof garden"),
		discussion.Moderator:  func(_ context.Context, req agent.Request) (agent.Response, error) { return judge(req), nil },
		discussion.UICreator:  "<h1>Report</h1>",
		discussion.TeamLeader: "The team leader has spoken.",
	}
	if line, ok := own[role]; ok {
		return []any{line}
	}
	return []any{"The " + string(role) + " has spoken."}
}

// debate is a case: a team, its input and its cast.
type debate struct {
	cfg  discussion.Config
	in   discussion.Input
	cast cast

	extra []discussion.Role // agents beside the team
}

// played is the result of a run.
type played struct {
	out   discussion.Outcome
	err   error
	log   []runlog.Record
	asked []call // in the order of the run
}

type call struct {
	role discussion.Role
	req  agent.Request
}

// open makes the flow's case; asked are the calls of the latest run.
func (d debate) open(t *testing.T) (c *flowtest.Case[discussion.Input, discussion.Outcome], asked *[]call) {
	t.Helper()
	if d.in.Topic == "" {
		d.in.Topic = topic
	}
	flow, err := discussion.New(d.cfg)
	require.NoError(t, err)
	asked = &[]call{}
	c = flowtest.New(flow, d.in, func(tb testing.TB) agent.Roster {
		tb.Helper()
		*asked = nil
		roster := agent.Roster{}
		team := slices.Clone(d.cfg.Team)
		for _, role := range d.extra {
			team = append(team, discussion.Member{Role: role, Agent: string(role)})
		}
		for _, m := range team {
			answers := d.cast[m.Role]
			if answers == nil {
				answers = lines(m.Role)
			}
			roster[m.Agent] = newSpeaker(tb, answers, func(req agent.Request) { *asked = append(*asked, call{m.Role, req}) })
		}
		return roster
	})
	return c, asked
}

// newSpeaker is an agent that gives its answers in turn, the last one for all further
// calls, and the same one to a call that is made again. Calls come one after another
// (D5), so it has no lock: if they don't, the race detector says so.
func newSpeaker(tb testing.TB, answers []any, note func(agent.Request)) agent.Agent {
	tb.Helper()
	scripts := make([]*flowtest.Script, len(answers))
	for i, a := range answers {
		scripts[i] = flowtest.NewScript(tb).On("", a)
	}
	turns := map[string]int{}
	return agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		key := agent.InfoFrom(ctx).Key
		turn, again := turns[key]
		if !again {
			turn = min(len(turns), len(scripts)-1)
			turns[key] = turn
			note(req)
		}
		return scripts[turn].Call(ctx, req)
	})
}

func (d debate) play(t *testing.T) played {
	t.Helper()
	c, asked := d.open(t)
	var p played
	p.out, p.log, p.err = c.Run(t)
	p.asked = *asked
	return p
}

// roles are the roles that were called, in order.
func (p played) roles() []string {
	var all []string
	for _, c := range p.asked {
		all = append(all, string(c.role))
	}
	return all
}

// prompts are those that a role got.
func (p played) prompts(role discussion.Role) []string {
	var all []string
	for _, c := range p.asked {
		if c.role == role {
			all = append(all, c.req.Prompt)
		}
	}
	return all
}

// types are the types of the messages, in order.
func (p played) types() []string {
	var all []string
	for _, m := range p.out.Discussion.Messages {
		all = append(all, string(m.Type))
	}
	return all
}

// kinds are the kinds of the run's own records, in order.
func (p played) kinds() []string {
	var all []string
	for _, rec := range p.log {
		if strings.HasPrefix(rec.Kind, "discussion.") {
			all = append(all, rec.Kind)
		}
	}
	return all
}

// events are the run's own records of a kind.
func (p played) events(t *testing.T, kind team.Kind) []discussion.Event {
	t.Helper()
	var found []discussion.Event
	for _, rec := range p.log {
		if rec.Kind == string(kind) {
			var e discussion.Event
			require.NoError(t, json.Unmarshal(rec.Data, &e))
			found = append(found, e)
		}
	}
	return found
}

// warned are the codes of the warnings.
func (p played) warned() []string {
	var all []string
	for _, w := range p.out.Warnings {
		all = append(all, w.Code)
	}
	return all
}

func (p played) titles() []string {
	var all []string
	for _, i := range p.out.Discussion.Ideas {
		all = append(all, i.Title)
	}
	return all
}

// without is cfg without some roles.
func without(cfg discussion.Config, gone ...discussion.Role) discussion.Config {
	cfg.Team = slices.DeleteFunc(slices.Clone(cfg.Team), func(m discussion.Member) bool { return slices.Contains(gone, m.Role) })
	return cfg
}

// shallow is cfg without deep dives and top-ups.
func shallow(cfg discussion.Config) discussion.Config {
	cfg.Rounds.DeepDive, cfg.Policy.Attempts = 0, 1
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

// proves runs a test once under each name: one for every requirement that it proves.
func proves(t *testing.T, names []string, test func(t *testing.T)) {
	t.Helper()
	for _, name := range names {
		t.Run(name, test)
	}
}
