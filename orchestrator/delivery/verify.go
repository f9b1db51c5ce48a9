package delivery

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// standing is the result of a gate.
type standing int

const (
	rejected   standing = iota
	unverified          // kept without a grade
	approved
)

// kept returns the move of work that is kept: graded or not.
func (s standing) kept(graded, ungraded Move) Move {
	if s == unverified {
		return ungraded
	}
	return graded
}

// ruling is the result of a gate, and why work was rejected or has no grade.
type ruling struct {
	standing

	verdict *Verdict // nil: there is none
	why     string
}

// review is work for the supervisor to judge.
type review struct {
	gate   GateKind
	target string
	judged Role // the role to correct
	until  time.Duration
	input  VerifyInput // with the work
	backup bool        // the work is from Hooks.Fallback
}

// verify asks for a verdict on work, and returns the ruling.
func (r *run) verify(c *orchestrator.Context, w review) (ruling, error) {
	in := w.input
	in.Gate, in.Threshold, in.Goal, in.Context = w.gate, r.Policy.Gates.threshold(w.gate), r.state.PrimaryGoal, r.in.Context
	in.Steps, in.Last = r.summaries(), r.verdicts[max(0, len(r.verdicts)-5):]
	got, err := ask[verdictAnswer](r, c, call{
		role: Supervisor, op: OpVerify, tmpl: "verify.tmpl", target: w.target, until: w.until, request: VerifyRequest, reply: VerifyResponse,
		data: promptData{Gate: w.gate, Threshold: in.Threshold}, input: in, noFallback: w.gate == GateGoal,
	})
	if err != nil {
		return ruling{}, err
	}
	if cause := got.failed; cause != nil {
		return r.ungraded(c, w, cause), nil
	}
	a := got.value
	v := &Verdict{
		Kind: w.gate, Target: w.target, Approved: a.Approved, Score: a.Score, Findings: a.Findings, Evidence: a.Evidence, Progress: a.Progress,
		GoalAlignment: a.GoalAlignment, Reason: a.Reason, Recommendation: a.Recommendation,
	}
	why := r.Policy.Gates.rejects(*v)
	if !got.backup { // a verdict of Hooks.Fallback is neither an issue nor a proof
		err = r.judge(c, v, w.judged, why)
	}
	switch {
	case why != "":
		return ruling{rejected, v, why}, err
	case got.backup || w.backup:
		r.unverified(w.target)
		return ruling{unverified, v, ""}, err
	}
	return ruling{approved, v, ""}, err
}

// ungraded returns the ruling for work that could not be graded.
func (r *run) ungraded(c *orchestrator.Context, w review, cause error) ruling {
	why := "not graded: " + prompt.OneLine(cause.Error())
	if r.Policy.Gates.assumes(w.gate, r.Policy.AssumeScore) && !w.backup {
		r.warn(c, "assumed-score", w.target, "%s: its score is assumed to be %v: %s", w.gate, *r.Policy.AssumeScore, why)
		return ruling{standing: approved}
	}
	r.warn(c, "ungraded", w.target, "%s: %s", w.gate, why)
	r.unverified(w.target)
	return ruling{unverified, nil, why}
}

// unverified records work that was kept without a grade.
func (r *run) unverified(target string) {
	if !slices.Contains(r.state.Unverified, target) {
		r.state.Unverified = append(r.state.Unverified, target)
	}
}

// reject rejects work by a rule, without asking a model.
func (r *run) reject(c *orchestrator.Context, w review, why string) (ruling, error) {
	v := &Verdict{Kind: w.gate, Target: w.target, Reason: why, Local: true}
	return ruling{rejected, v, why}, r.judge(c, v, w.judged, why)
}

// judge counts a verdict, which rejects the work if why is not empty, and intervenes at its
// level. The error is errAborted.
func (r *run) judge(c *orchestrator.Context, v *Verdict, judged Role, why string) error {
	e, ladder := &r.state.Escalation, r.Policy.Ladder
	v.Threshold = r.Policy.Gates.threshold(v.Kind)
	before := cmp.Or(e.Level, LevelNone)
	switch {
	case why == "":
		e.passed(ladder, v.Score)
		r.state.Metrics.VerificationsPassed++
	case v.Local:
		e.local(ladder)
		r.state.Metrics.VerificationsFailed++
	default:
		e.rejected(ladder, v.Score)
		r.state.Metrics.VerificationsFailed++
	}
	v.Level = e.Level
	r.verdicts = append(r.verdicts, *v)
	c.Emit(EventWorkJudged, Event{Target: v.Target, Verdict: v, Text: prompt.OneLine(why)})
	if e.Level.Above(LevelNone) {
		g := &Guidance{Level: e.Level, Text: advice(*v, why), Issues: e.Issues, Of: ladder.AbortAt}
		r.guidance[judged] = g
		r.send(c, Header{Message: Correction, From: Supervisor, To: judged, Target: v.Target}, g)
	}
	if e.Level.Above(before) {
		r.send(c, Header{Message: EscalationSent, From: Supervisor, To: conductor, Target: v.Target}, *e)
	}
	if e.Level == LevelAbort {
		r.send(c, Header{Message: Abort, From: Supervisor, To: everybody, Target: v.Target}, *e)
		return errAborted
	}
	return nil
}

// advice is the supervisor's correction for the role that was judged.
func advice(v Verdict, why string) string {
	lines := []string{}
	for _, line := range slices.Concat([]string{why, v.Reason, v.Recommendation}, fixes(v.Findings)) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return "The work passed with a low score: take more care."
	}
	return strings.Join(lines, "\n")
}

// guided returns the guidance for a role's next request, and clears it.
func (r *run) guided(role Role, data *promptData) *Guidance {
	g := r.guidance[role]
	delete(r.guidance, role)
	if g != nil {
		data.Level, data.Issues, data.AbortAt = g.Level, g.Issues, g.Of
	}
	return g
}

// fresh reports whether the next request leaves out earlier output.
func (g *Guidance) fresh() bool { return g != nil && g.Level.Fresh() }

// summaries are the steps of all approved plans.
func (r *run) summaries() []StepSummary { return r.state.report(nil, nil).Steps }
