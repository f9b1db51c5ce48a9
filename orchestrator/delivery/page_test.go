package delivery_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/delivery"
	"github.com/convene-go/convene/orchestrator/team/page"
)

// differing is a workspace whose snapshots have a difference.
func differing(f *folder, diff string) agent.Agent {
	return agent.Func(func(ctx context.Context, req agent.Request) (agent.Response, error) {
		resp, err := f.Call(ctx, req)
		var in delivery.SnapshotRequest
		if err == nil && req.Op == delivery.OpSnapshot && json.Unmarshal(req.Input, &in) == nil && in.Since != "" {
			var snap delivery.Snapshot
			err = json.Unmarshal(resp.Data, &snap)
			snap.Diff = diff
			resp.Data = agent.JSON(snap)
		}
		return resp, err
	})
}

// troubled is a run with all that a page shows: a rejected plan, a step whose tests fail
// once, one that gets a sub-plan, and one that the supervisor rejects once.
func troubled(t *testing.T) played {
	t.Helper()
	const diff = "diff --git a/<x>.go b/<x>.go\n--- a/<x>.go\n+++ b/<x>.go\n@@ -1 +1,2 @@\n-old\n+new\n+<script>\n"
	finding := []object{{"severity": "major", "category": "bug", "description": "<b>drops</b> the sign", "location": "a.go"}}
	return project{space: differing(newFolder(), diff), cast: map[string][]any{
		"plan":        {object{"analysis": "too vague", "steps": steps(2)["steps"]}, object{"analysis": "in three", "steps": steps(3)["steps"]}},
		"verify plan": {with(marks(50), object{"reason": "say what is tested"})},
		"code":        {writes("a", "BUG"), tooMuch, writes("b", "1"), writes("c", "1"), writes("c", "2")},
		"fix":         {object{"summary": "the sign is kept", "files": []object{{"path": "a", "content": "ok"}}}},
		"check":       {object{"passed": false, "coverage": 40, "issues": finding}},
		"verify code": {marks(81), marks(82), marks(83), with(marks(45), object{"findings": finding, "reason": "it cannot be read back"})},
		"verify goal": {with(marks(95), object{"reason": "it is all there", "evidence": []string{"go test <passes>"}, "findings": finding})},
	}}.play(t)
}

func TestPage(t *testing.T) {
	p := troubled(t)
	require.NoError(t, p.err)
	html, err := delivery.Page(p.out)
	require.NoError(t, err)
	rest := html
	for _, want := range []string{
		"Delivery · Completed", "<h1>a parser of durations</h1>", "<h3>The goal is reached</h3>", `<span class="score">95</span>`, "it is all there",
		"go test &lt;passes&gt;", "a.go: &lt;b&gt;drops&lt;/b&gt; the sign",
		"<b>Steps</b>4 of 4 completed", "<b>Fixes</b>1", "<b>Verdicts</b>17 passed, 2 rejected", "<b>Calls</b>",
		"<h2>Steps</h2>", "p2.s1", "do part 1 of 3", "p2.s3", "do part 3 of 3", "2 attempts", "p3.s1", "part of p2.s2",
		"<h2>What each step changed</h2>", "p2.s1: do part 1 of 3", "&#43;2 −1", "&lt;x&gt;.go", `<span class="removed">-old</span>`, `<span class="added">&#43;&lt;script&gt;</span>`,
		"p3.s1: do part 1 of 1", "p2.s2: do part 2 of 3", "p2.s3: do part 3 of 3",
		"<h2>How it came about</h2>", "<h3>Plan</h3>", "too vague", "step 1, medium: do part 1 of 2",
		"plan rejected", "50 below 70", "say what is tested", "remind", "in three", "plan approved",
		"<h3>p2.s1: do part 1 of 3</h3>", "wrote a", "<li>a</li><li>a_test</li>", "code approved", "Project", "failed", "a test failed", "<pre>--- FAIL in a</pre>",
		"Tester", "failed", "Coverage: 40 percent.", "fix plan", "the sign is kept", "2 tests passed", "step approved", "proof: the tests pass", "next: name the units",
		"<h3>p2.s2: do part 2 of 3</h3>", "blocked", "it is too much", "<h3>Plan for p2.s2: do part 2 of 3</h3>", "sub-plan", "do part 1 of 1",
		"<h3>p3.s1: do part 1 of 1</h3>", "<h3>p2.s2: do part 2 of 3</h3>", "<h3>p2.s3: do part 3 of 3</h3>",
		"code rejected", "45 below 60", "it cannot be read back", "correct", "code approved", "<h3>The whole</h3>", "goal approved",
	} {
		i := strings.Index(rest, want)
		require.GreaterOrEqual(t, i, 0, "%q behind the others in %.2000s", want, rest)
		rest = rest[i:]
	}
	assert.NotContains(t, html, "<script")
	assert.NotContains(t, html, "<b>drops")
}

func TestPageOfLess(t *testing.T) {
	p := project{cfg: delivery.Config{Rules: iterations(1)}, cast: map[string][]any{"check": {always{failed}}}}.play(t)
	html, err := delivery.Page(p.out)
	require.NoError(t, err)
	for _, want := range []string{"Delivery · Failed", "The goal is not reached", "failed or skipped: steps 1, 2; 0 may be", "its tests fail after 3 fixes", "0 of 2 completed"} {
		assert.Contains(t, html, want)
	}
	html, err = delivery.Page(delivery.Outcome{})
	require.NoError(t, err)
	assert.Contains(t, html, "Delivery · Running")
	assert.NotContains(t, html, "How it came about", "nothing has")
}

// A page's parts: the goal with what proves it, the steps, and how it came about.
func TestPartsOfThePage(t *testing.T) {
	p := project{cfg: delivery.Config{Policy: delivery.Policy{AcceptableFailures: 1, MonitorEvery: time.Minute}}, cast: map[string][]any{
		"plan": {steps(1), needing(nil, nil, []int{1}), steps(2)}, "check": {with(passed, object{"suggestions": []string{"test leap years"}}), passed, passed, passed, always{failed}},
		"code": {slow(70, blocked), code()}, "verify goal": {with(marks(75), object{"reason": "not yet"}), with(marks(95), object{"reason": "now it is"})},
		"integrate": {passed, passed},
	}}.play(t)
	require.NoError(t, p.err)
	html, err := delivery.Page(p.out)
	require.NoError(t, err)
	top, rest, _ := strings.Cut(html, "<h2>Steps</h2>")
	shown, course, _ := strings.Cut(rest, "<h2>How it came about</h2>")
	for part, want := range map[string][]string{
		top: {"now it is", "4 of 5 completed"},
		shown: {
			"p2.s1", "2 attempts", `<span class="score">90</span>`,
			`<article class="card">` + "\n" + `<p class="eyebrow">p3.s2</p>` + "\n" + `<div class="head"><h3>do part 2 of 2</h3></div>` + "\n" +
				`<p class="soft">its tests fail after 3 fixes: the tests failed</p>` + "\n" + `<p><span class="tag">Failed</span> <span class="tag">medium</span> </p>`,
		},
		course: {"Check", "the plan has 1 steps", "(after 1)", "test leap years"},
	} {
		for _, text := range want {
			assert.Contains(t, part, text)
		}
	}
	assert.True(t, slices.ContainsFunc(p.out.Course, func(s page.Step) bool {
		return slices.ContainsFunc(s.Turns, func(turn page.Turn) bool { return turn.What == "looked" })
	}), "a look is no approval")
	assert.NotContains(t, top, "not yet")
	assert.NotContains(t, top, "its tests fail")
	assert.NotContains(t, shown, "p1.s1", "its plan was rejected")
}

// Each verdict and each real run of tests is one event, with its gate.
func TestJudgedAndTested(t *testing.T) {
	p := troubled(t)
	var judged []delivery.Verdict
	for _, e := range p.events(t, delivery.EventWorkJudged) {
		require.NotNil(t, e.Verdict)
		assert.Equal(t, e.Verdict.Target, e.Target)
		judged = append(judged, *e.Verdict)
		if gates := map[string]float64{"plan": 70, "code": 60, "test": 0, "step": 70, "goal": 80}; assert.Contains(t, gates, e.Verdict.Kind) {
			assert.Equal(t, gates[e.Verdict.Kind], e.Verdict.Threshold)
		}
		assert.Equal(t, e.Verdict.Score < 60, e.Text != "", "why it does not pass: %q", e.Text)
	}
	assert.Equal(t, p.out.Report.Verdicts, judged)

	var tested []string
	for _, e := range p.events(t, delivery.EventProjectTested) {
		tested = append(tested, e.Target+" "+map[bool]string{true: "passed", false: "failed"}[e.Tests.Passed])
	}
	assert.Equal(t, []string{"p2.s1 failed", "p2.s1 passed", "p3.s1 passed", "p2.s2 passed", "p2.s3 passed", "goal passed"}, tested)

	var changed []string
	for _, e := range p.events(t, delivery.EventProjectChanged) {
		changed = append(changed, e.Target)
	}
	assert.Equal(t, []string{"p2.s1", "p3.s1", "p2.s2", "p2.s3"}, changed, "steps of sub-plans, too")

	local := project{cast: map[string][]any{"plan": {steps(1)}}}.play(t)
	e := local.events(t, delivery.EventWorkJudged)[0]
	assert.True(t, e.Verdict.Local)
	assert.Equal(t, "the plan has 1 steps, want 2 to 15", e.Text)
}

// A run is never continued from the state within a sub-plan: unless its step is accepted,
// the state is undone.
func TestSnapshotIsOfRootSteps(t *testing.T) {
	p := project{space: newFolder(), cast: map[string][]any{"code": {tooMuch, writes("sub", "1"), writes("b", "1")}, "verify step": {marks(90), marks(50)}}, cfg: delivery.Config{Rules: iterations(1)}}.play(t)
	require.ErrorIs(t, p.err, delivery.ErrGoalNotReached)
	assert.Equal(t, delivery.StepCompleted, p.step(t, "p2.s1").Status)
	assert.Equal(t, delivery.StepFailed, p.step(t, "p1.s1").Status)
	assert.NotContains(t, p.out.State.Snapshot, "sub")
}

// What a run carries is on no page, secret or not, though the records of the run have it.
func TestPageHasNoSecrets(t *testing.T) {
	c, _ := project{}.open(t)
	c.Options = orchestrator.StartOptions{
		Values: map[string]string{"token": "hush-1"}, Labels: map[string]string{"card": "hush-2"}, Secret: []string{"token", "card"},
	}
	out, log, err := c.Run(t)
	require.NoError(t, err)
	require.Contains(t, string(log[0].Data), "hush-1")
	html, err := delivery.Page(out)
	require.NoError(t, err)
	assert.NotContains(t, html, "hush")
}
