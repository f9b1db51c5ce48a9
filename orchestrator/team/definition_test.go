package team_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// smith is a Config with all that New looks for.
type smith struct {
	Name   string                          `json:"name,omitzero"`
	Agents struct{ Writer, Critic string } `json:"agents,omitzero"`
	Gate   float64                         `default:"80" json:"gate,omitzero" max:"100" min:"0"`
	Rules  smithRules                      `json:"-"`
	Limits team.Limits                     `json:"limits,omitzero"`
}

type smithRules struct {
	Permit  orchestrator.Permit
	Retrier orchestrator.Retrier
	Gate    grading.Gate[grading.Standing, grading.Decision]
}

type order struct {
	Word   string      `json:"word" required:"true"`
	Limits team.Limits `json:"limits,omitzero"`
}

type ware struct {
	orchestrator.Outcome
	Text string `json:"text"`
}

var forge = team.Definition[smith, order, ware]{
	Name: "forge", Version: 3, Rules: smithRules{Retrier: orchestrator.Attempts{Max: 3}},
	Prompts: fstest.MapFS{"prompts/write.tmpl": {Data: []byte("write {{.Data}} {{.Last.Feedback}}")}, "prompts/grade.tmpl": {Data: []byte("grade {{.Last.Value}}")}},
	Samples: map[string][]any{"write.tmpl": {team.Draft[string]{}}, "grade.tmpl": {team.Draft[string]{}}},
	Begin:   func(cfg smith, in order, s *team.Start) { s.Asked = in.Word },
	Do: func(c *orchestrator.Context, r *team.Run, cfg smith, in order, out *ware) error {
		if in.Word == "nothing" {
			return errors.New("there is no iron")
		}
		best, err := team.Refine(c, r, team.Seat[string]{Agent: cfg.Agents.Writer, Prompt: "write.tmpl"}, team.Seat[orchestrator.Verdict]{Agent: cfg.Agents.Critic, Prompt: "grade.tmpl"},
			orchestrator.Refinement[string]{Retrier: cfg.Rules.Retrier, Gate: cfg.Gate, GateBy: cfg.Rules.Gate}, in.Word)
		out.Text = best.Value
		if err == nil && !best.Pass {
			out.Unverified = []string{"text"}
		}
		return err
	},
}

func named() (cfg smith) {
	cfg.Agents.Writer, cfg.Agents.Critic = "writer", "critic"
	return cfg
}

func smiths(t testing.TB) agent.Roster {
	return agent.Roster{
		"writer": flowtest.NewScript(t).On("sharper", "a sharp sword").On("sword", "a sword"),
		"critic": flowtest.NewScript(t).On("sharp", orchestrator.Verdict{Score: 90}).On("sword", orchestrator.Verdict{Score: 50, Feedback: "sharper"}),
		"master": flowtest.NewScript(t).On("sharper", "a sharp master's sword"),
	}
}

func TestNewTeam(t *testing.T) {
	flow, err := team.New(forge, named())
	require.NoError(t, err)
	assert.Equal(t, "forge", flow.Name)
	assert.Equal(t, 3, flow.Version)
	assert.Equal(t, []string{"critic", "writer"}, flow.Agents)
	assert.Equal(t, map[string]string{"writer": "Agents.Writer", "critic": "Agents.Critic"}, flow.Roles)
	c := flowtest.New(flow, order{Word: "sword"}, smiths)
	out, log, err := c.Run(t)
	require.NoError(t, err)
	assert.Equal(t, "a sharp sword", out.Text)
	assert.Equal(t, orchestrator.Completed, out.Status)
	assert.Equal(t, "sword", out.Asked)
	assert.Equal(t, "forge.run.finished", log[len(log)-2].Kind)
	c.Sweep(t)
}

// A host's rules: the gate is satisfied, or another agent makes the next try.
func TestNewTeamWithRules(t *testing.T) {
	cfg := named()
	cfg.Name = "my forge"
	cfg.Rules.Gate = grading.AtLeast(95)
	cfg.Gate = 0
	cfg.Rules.Retrier = other{}
	d := forge
	d.Do = func(c *orchestrator.Context, r *team.Run, cfg smith, in order, out *ware) error {
		cfg.Gate = 0 // both forms are a fault of the flow
		return forge.Do(c, r, cfg, in, out)
	}
	flow, err := team.New(d, cfg)
	require.NoError(t, err)
	assert.Equal(t, "my forge", flow.Name)
	assert.Equal(t, []string{"critic", "master", "writer"}, flow.Agents, "those that rules name, too")
	c := flowtest.New(flow, order{Word: "sword"}, smiths)
	out, _, err := c.Run(t)
	require.NoError(t, err)
	assert.Equal(t, "a sharp master's sword", out.Text)
	assert.Equal(t, orchestrator.Partial, out.Status, "90 is less than 95")
	c.Sweep(t)
}

// other has master make the second and last try.
type other struct{}

func (other) Agents() []string { return []string{"master"} }

func (other) Next(_ orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
	return orchestrator.Again{Retry: len(tries) < 2, Agent: "master"}
}

func TestNewTeamEnds(t *testing.T) {
	flow, err := team.Read(forge, []byte(`{"agents": {"Writer": "writer", "Critic": "critic"}, "limits": {"calls": 5}}`))
	require.NoError(t, err)
	idle := func(testing.TB) agent.Roster {
		nobody := agent.Func(func(context.Context, agent.Request) (agent.Response, error) { return agent.Response{}, nil })
		return agent.Roster{"writer": nobody, "critic": nobody}
	}
	out, _, err := flowtest.New(flow, order{}, idle).Run(t)
	require.ErrorIs(t, err, orchestrator.ErrMalformed)
	require.ErrorContains(t, err, "forge: malformed: the input: Word is empty")
	assert.Equal(t, orchestrator.Failed, out.Status)
	out, _, err = flowtest.New(flow, order{Word: "nothing"}, idle).Run(t)
	require.ErrorContains(t, err, "forge: there is no iron")
	assert.Equal(t, orchestrator.Failed, out.Status)
	out, _, err = flowtest.New(flow, order{Word: "sword", Limits: team.Limits{Calls: 2}}, smiths).Run(t)
	require.ErrorIs(t, err, orchestrator.ErrBudget, "the limits of the input stand over those of the Config")
	assert.Equal(t, orchestrator.OutOfBudget, out.Status)
	assert.Equal(t, "a sword", out.Text, "the best so far")
}

func TestNewTeamRefuses(t *testing.T) {
	type bare struct{ Text string }
	_, err := team.New(team.Definition[smith, order, bare]{Rules: 3}, smith{Gate: -1, Limits: team.Limits{Cost: -7}})
	for _, want := range []string{
		"Gate is -1, want 0 to 100", "Limits.Cost", "Definition.Name is empty", "Definition.Do and Definition.Run: want one of them", "team_test.bare does not embed orchestrator.Outcome",
		"Definition.Rules is a int, and no field Rules of team_test.smith is",
	} {
		assert.ErrorContains(t, err, want)
	}
	_, err = team.Read(forge, []byte(`{"gat": 1}`))
	assert.EqualError(t, err, "forge: gat is unknown")
	d := forge
	d.Samples = map[string][]any{"write.tmpl": {team.Draft[string]{}}, "grade.tmpl": {struct{}{}}, "plan.tmpl": {nil}}
	_, err = team.New(d, named())
	require.Error(t, err)
	assert.Contains(t, err.Error(), "grade.tmpl")
	assert.Contains(t, err.Error(), "plan.tmpl")
	assert.True(t, strings.HasPrefix(err.Error(), "forge: "))
}

// A team with ends of its own gets a Start, and its functions are asked for what tags do not say.
func TestNewTeamWithItsOwnRun(t *testing.T) {
	d := team.Definition[smith, order, ware]{
		Name: "forge", Rules: smithRules{Retrier: orchestrator.Attempts{Max: 3}},
		Prompts: fstest.MapFS{"say.tmpl": {Data: []byte(`{{up (data "word" .)}}`)}}, Samples: map[string][]any{"say.tmpl": {"x"}},
		Funcs: template.FuncMap{"up": strings.ToUpper}, Quote: 3,
		Defaults: func(cfg *smith) {
			cfg.Agents.Critic = "judge"
			team.Defaults(cfg)
		},
		Check:  func(cfg smith, f *team.Faults) { f.If(cfg.Gate == 1, "Gate is 1, and Critic %s", cfg.Agents.Critic) },
		Agents: func(cfg smith) []string { return []string{"zoe", "", cfg.Agents.Critic, "zoe"} },
		Run: func(c *orchestrator.Context, s team.Start, cfg smith, in order) (out ware, err error) {
			s.Outcome, s.Asked = &out.Outcome, cfg.Agents.Critic
			r, c := team.Begin(c, s)
			out.Text, err = r.Prompts.Fill("say.tmpl", in.Word)
			out.Status = orchestrator.OutOfBudget // a team may say it itself
			out.Unverified = append(s.Agents, s.Team, fmt.Sprint(s.Limits.Cost))
			r.End(c, err, nil)
			return out, s.Permit.Allow(c, orchestrator.Move{})
		},
	}
	cfg := smith{Limits: team.Limits{Cost: providers.USD, Calls: 1}, Rules: smithRules{Permit: orchestrator.PermitFunc(func(*orchestrator.Context, orchestrator.Move) error { return errors.New("refused") })}}
	flow, err := team.New(d, cfg)
	require.NoError(t, err)
	assert.Equal(t, []string{"judge", "zoe"}, flow.Agents)
	assert.Equal(t, map[string]string{"judge": "Agents.Critic"}, flow.Roles)
	out, _, err := flowtest.New(flow, order{Word: "sword", Limits: team.Limits{Cost: 2 * providers.USD}}, func(testing.TB) agent.Roster { return agent.Roster{"judge": nil, "zoe": nil} }).Run(t)
	require.ErrorContains(t, err, "refused", "the Permit of the rules")
	assert.Equal(t, orchestrator.OutOfBudget, out.Status)
	assert.Equal(t, "judge", out.Asked)
	assert.Contains(t, out.Text, "SWO")
	assert.NotContains(t, out.Text, "SWOR")
	assert.Equal(t, []string{"judge", "zoe", "forge", "2000000000"}, out.Unverified)
	cfg.Gate = 1
	_, err = team.New(d, cfg)
	require.EqualError(t, err, "forge: Gate is 1, and Critic judge")
	d.Do = forge.Do
	_, err = team.New(d, smith{})
	require.ErrorContains(t, err, "Definition.Do and Definition.Run: want one of them")
}

// A rule that cannot answer is a fault that names its field, and no panic.
func TestNewTeamRefusesRules(t *testing.T) {
	type rule = grading.Gate[grading.Standing, grading.Decision]
	for _, tt := range []struct {
		rule rule
		want string
	}{
		{(*grading.Bands)(nil), "Rules.Gate: it is a nil *grading.Bands, want a value"},
		{grading.GateWith[grading.Standing, grading.Decision](nil), "Rules.Gate: it is a nil grading.GateFunc, want a value"},
		{grading.At[grading.Decision](50, nil), "Rules.Gate: it is a nil grading.Gate, want a value"},
		{grading.At(50, rule((*grading.Hysteresis)(nil))), "Rules.Gate: it is a nil *grading.Hysteresis, want a value"},
		{grading.At(50, rule(grading.Bands{Margin: -1})), "Rules.Gate: Margin is -1, want 0 to 100"},
		{grading.At(math.Inf(1), rule(grading.Bands{})), "Rules.Gate: the threshold is +Inf, want 0 or more"},
		{grading.AtLeast(math.NaN()), "Rules.Gate: the score is NaN, want 0 or more"},
		{grading.AtLeast(-1), "Rules.Gate: the score is -1, want 0 or more"},
		{&grading.Bands{Margin: 101}, "Rules.Gate: Margin is 101, want 0 to 100"},
		{hasty{}, "Rules.Gate panicked: oh"},
	} {
		cfg := named()
		cfg.Rules.Gate = tt.rule
		_, err := team.New(forge, cfg)
		require.EqualError(t, err, "forge: "+tt.want)
	}
	assert.Empty(t, team.RuleAgents(smithRules{Retrier: (*other)(nil)}))
}

// hasty is a gate that cannot be checked.
type hasty struct{ grading.Bands }

func (hasty) Validate() error { panic("oh") }
