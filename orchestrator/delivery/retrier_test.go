package delivery_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/delivery"
)

// others has another agent make the second try of each role, and keeps what it is told.
type others struct{ told *[]string }

// second is the agent that makes the second try, by role.
var second = map[string]string{"plan": "planner2", "step": "coder2", "fix": "coder3", "call": "coder4", "iteration": "planner3"}

func (others) Agents() []string {
	return []string{"planner2", "planner3", "coder2", "coder3", "coder4"}
}

func (o others) Next(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
	last := tries[len(tries)-1]
	score := "-"
	if last.Score != nil {
		score = fmt.Sprint(*last.Score)
	}
	var by []string
	for _, t := range tries {
		by = append(by, t.Agent)
	}
	*o.told = append(*o.told, fmt.Sprintf("%s %s %s by %s: %s %s %q %v", of.Role, of.ID, of.Group, strings.Join(by, ","), score, last.Decision, last.Feedback, last.Err))
	next := orchestrator.Again{Retry: len(tries) < 4}
	if len(tries) == 1 && of.ID != "workspace" {
		next.Agent = second[of.Role]
	}
	return next
}

func TestRetrierIsTold(t *testing.T) {
	var told []string
	f := newFolder()
	f.fails[delivery.OpTest], f.most[delivery.OpTest] = errBoom, 1
	p := project{
		cfg: delivery.Config{Rules: delivery.Rules{Retrier: others{&told}}}, space: f, more: others{}.Agents(),
		cast: map[string][]any{
			"plan":        {steps(2), steps(1), steps(2), steps(3), steps(2)},
			"verify plan": {marks(60), marks(90), marks(60), marks(90), marks(60)},
			"code":        {code(), code(), errBoom, errBoom, tooMuch, code(), code(), tooMuch},
			"verify code": slices.Concat([]any{marks(59), marks(90), marks(90), marks(50)}, times(5, marks(90)), []any{marks(59), marks(58), marks(90), marks(90), marks(50)}),
			"check":       slices.Concat(times(2, failed), times(8, passed), times(1, failed)),
			"verify goal": {marks(75), marks(75)},
			"subplan":     {steps(1), steps(2), steps(1)},
		},
	}.play(t)
	require.NoError(t, p.err)
	t.Run("SC48 N21 who worked on what, and how it was judged", func(t *testing.T) {
		assert.Equal(t, []string{
			`plan goal  by planner: 60 discard "its score is 60 of 100, and 70 are needed" <nil>`,
			`plan goal  by planner,planner2: -  "the plan has 1 steps, want 2 to 15" <nil>`,
			`step p3.s1 p3 by coder: 59 discard "its score is 59 of 100, and 60 are needed" <nil>`,
			`call workspace test by workspace: -  "" boom`,
			`fix p3.s1 p3 by coder2: -  "the tests failed" <nil>`,
			`fix p3.s1 p3 by coder2,coder3: -  "the tests failed" <nil>`,
			`fix p3.s1 p3 by coder2,coder3,coder2: 50 discard "its score is 50 of 100, and 60 are needed" <nil>`,
			`call coder p3.s2 by coder: -  "" boom`,
			`call coder p3.s2 by coder,coder4: -  "" boom`,
			`plan p3.s2 p3 by planner: 60 discard "its score is 60 of 100, and 70 are needed" <nil>`,
			`iteration goal  by planner: 75 discard "its score is 75 of 100, and 80 are needed" <nil>`,
			`plan goal  by planner3: 60 discard "its score is 60 of 100, and 70 are needed" <nil>`,
			`iteration goal  by planner,planner3: 75 discard "its score is 75 of 100, and 80 are needed" <nil>`,
			`step p9.s1 p9 by coder: 59 discard "its score is 59 of 100, and 60 are needed" <nil>`,
			`step p9.s1 p9 by coder,coder2: 58 discard "its score is 58 of 100, and 60 are needed" <nil>`,
			`fix p9.s2 p9 by coder: -  "the tests failed" <nil>`,
			`fix p9.s2 p9 by coder,coder3: 50 discard "its score is 50 of 100, and 60 are needed" <nil>`,
		}, told)
	})
	t.Run("SC48 another agent makes the try that it is named for, and no other", func(t *testing.T) {
		var asked []string
		for _, rec := range p.log {
			if rec.Kind == runlog.Called && rec.Name != "supervisor" && rec.Name != "tester" && rec.Name != "workspace" {
				asked = append(asked, rec.Name)
			}
		}
		assert.Equal(t, strings.Fields(
			"planner planner2 planner coder coder2 coder3 coder2 coder2 coder coder4 coder planner planner2 coder coder "+
				"planner3 planner2 coder planner coder coder planner coder coder2 coder coder coder3 coder"), asked)
	})
	assert.Zero(t, p.step(t, "p2.s1").MaxAttempts, "only Retries say how many there are")
}

// advises gives one advice about each try of a role, of which there are three at most.
func advises(role string, next orchestrator.Again) delivery.Rules {
	return delivery.Rules{Retrier: orchestrator.RetrierFunc(func(of orchestrator.Working, tries []orchestrator.Try) orchestrator.Again {
		if of.Role != role {
			return delivery.Retries{}.Next(of, tries)
		}
		next.Retry = len(tries) < 3
		return next
	})}
}

// TestAdvice: what a Retrier says stands in the place of what all tries were told, and a fresh
// try is told nothing else of those before.
func TestAdvice(t *testing.T) {
	said := orchestrator.Again{Feedback: "think"}
	fresh, both := orchestrator.Again{Fresh: true}, orchestrator.Again{Fresh: true, Feedback: "think"}
	think := []string{"think"}
	plans := map[string][]any{"plan": {steps(2), steps(3), steps(4)}, "verify plan": {marks(60), marks(60)}}
	for _, tt := range []struct {
		role  string
		next  orchestrator.Again
		told  []string // reasons, feedback or items of the third try
		keeps bool     // it is told of the try before
	}{
		{"plan", said, think, true},
		{"plan", fresh, nil, false},
		{"plan", both, think, false},
		{"step", said, think, true},
		{"step", fresh, nil, false},
		{"fix", said, think, true},
		{"fix", both, think, false},
		{"iteration", said, think, true},
		{"iteration", fresh, nil, false},
		{"iteration", both, think, false},
		{"call", said, nil, false},
	} {
		t.Run(fmt.Sprintf("SC48 %s, advice %q, fresh %v", tt.role, tt.next.Feedback, tt.next.Fresh), func(t *testing.T) {
			cast := map[string]map[string][]any{
				"plan": plans, "step": {"verify code": {marks(59), marks(58)}}, "iteration": {"verify goal": {marks(75), marks(75)}},
				"fix": {"code": {writes("a", "BUG")}, "fix": {writes("a", "BUG"), writes("a", "ok")}}, "call": {"code": {errBoom, errBoom}},
			}[tt.role]
			p := project{cfg: delivery.Config{Rules: advises(tt.role, tt.next)}, cast: cast}
			if tt.role == "fix" {
				p.space = newFolder()
			}
			got := p.play(t)
			require.NoError(t, got.err)
			var told []string
			var keeps bool
			switch tt.role {
			case "plan":
				in := input[delivery.PlanInput](t, got.asked["plan"][2])
				told, keeps = in.Reasons, in.Rejected != nil
				assert.Equal(t, keeps, strings.Contains(got.asked["plan"][2].Prompt, `under "rejected"`))
			case "step":
				in := input[delivery.CodeInput](t, got.asked["code"][2])
				told, keeps = in.Feedback, in.Previous != nil
			case "fix":
				fix := input[delivery.CodeInput](t, got.asked["fix"][1]).Fix
				told, keeps = fix.Items, fix.Output != ""
			case "iteration":
				last := input[delivery.PlanInput](t, got.asked["plan"][2]).Last
				assert.Equal(t, last != nil, strings.Contains(got.asked["plan"][2].Prompt, `under "last"`))
				if last != nil {
					told, keeps = []string{last.Reason}, len(last.Completed) == 2 && last.Verdict != nil
				}
			case "call":
				first, third := got.asked["code"][0].Prompt, got.asked["code"][2].Prompt
				assert.Equal(t, first+"\n\nthink", third)
			}
			assert.Equal(t, tt.told, told)
			assert.Equal(t, tt.keeps, keeps)
		})
	}
}

// TestWaits: a wait ends with the time of what is waited for.
func TestWaits(t *testing.T) {
	hour := orchestrator.Again{After: time.Hour}
	for name, tt := range map[string]struct {
		role    string
		cast    map[string][]any
		minutes float64
		err     error
	}{
		"SC55 a plan, planning has six minutes":         {"plan", map[string][]any{"verify plan": {marks(60)}}, 6, delivery.ErrPlanning},
		"SC55 a step, it has half of 48":                {"step", map[string][]any{"verify code": {marks(59)}}, 24, nil},
		"SC55 an iteration, the run has an hour":        {"iteration", map[string][]any{"plan": {slow(290, steps(2))}, "verify goal": {marks(75)}}, 60, delivery.ErrTimeExpired},
		"SC55 a call for the goal, it has what is left": {"call", map[string][]any{"integrate": {slow(60, errBoom)}}, 60, delivery.ErrTimeExpired},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := limited(60)
			cfg.Rules, cfg.Policy.AcceptableFailures = advises(tt.role, hour), 1
			p := project{cfg: cfg, cast: tt.cast}.play(t)
			if tt.err == nil {
				require.NoError(t, p.err)
			} else {
				require.ErrorIs(t, p.err, tt.err)
			}
			assert.InDelta(t, tt.minutes, p.out.Elapsed.Minutes(), 0.001)
		})
	}
}
