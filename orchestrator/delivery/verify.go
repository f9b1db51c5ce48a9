package delivery

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/convene-go/convene/grading"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/orchestrator/team/page"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// standing is the result of a gate.
type standing int

const (
	rejected   standing = iota
	unverified          // kept without a grade
	approved
)

// kept returns the move of work that is kept: that of graded work, or its "…_unverified".
func (s standing) kept(graded move) move {
	if s == unverified {
		return graded[:strings.LastIndex(string(graded), "_")] + "_unverified"
	}
	return graded
}

// ruling is the result of a gate, and why work was rejected or has no grade.
type ruling struct {
	standing

	verdict  *Verdict // nil: there is none
	why      string
	decision grading.Decision // decision of the gate; "": it was not asked
}

// try is the ruling as the Retrier sees it.
func (g ruling) try(agent string) orchestrator.Try {
	t := orchestrator.Try{Agent: agent, Decision: string(g.decision), Feedback: g.why}
	if g.verdict != nil && !g.verdict.Local {
		t.Score = &g.verdict.Score
	}
	return t
}

// review is work for the supervisor to judge.
type review struct {
	gate    string
	target  string
	piece   string // name that all tries of the work have in common; "": target
	judged  Role   // role to correct
	until   time.Duration
	input   VerifyInput // work, without what all gates get
	revises bool        // the verdict can name later steps: it is on a step of a root plan
	backup  bool        // the work is from Rules.Fallback
}

// verify asks for a verdict on work, and returns the ruling.
func (r *run) verify(c *orchestrator.Context, w review) (ruling, error) {
	if w.gate == gateTest && r.Policy.SkipTestReview {
		if w.backup {
			return ruling{standing: r.unverified(w.target)}, nil
		}
		return ruling{standing: approved}, nil
	}
	got, err := r.grade(c, w)
	if err != nil {
		return ruling{}, err
	}
	if cause := got.failed; cause != nil {
		return r.ungraded(c, w, cause), nil
	}
	v := &got.value
	v.Kind, v.Target, v.Local, v.Level = w.gate, w.target, false, ""
	why, d, err := r.gate(c, w, v)
	if err != nil {
		return ruling{}, err
	}
	if !got.backup { // a verdict of Rules.Fallback is neither an issue nor a proof
		err = r.judge(c, v, w.judged, why)
	}
	gate := ruling{verdict: v, why: why, decision: d}
	switch {
	case why != "":
		gate.standing = rejected
	case got.backup || w.backup:
		gate.standing = r.unverified(w.target)
	default:
		gate.standing = approved
	}
	return gate, err
}

// grade returns the verdict of the host's Grader, or else of the supervisor.
func (r *run) grade(c *orchestrator.Context, w review) (answered[Verdict], error) {
	in := r.withProgress(w.input)
	in.Gate, in.Threshold = w.gate, r.Policy.Thresholds.of(w.gate)
	if own := r.Rules.Graders.of(w.gate); own != nil {
		if err := r.late(c, w.until); err != nil {
			return answered[Verdict]{}, err
		}
		ask := func() (Verdict, error) { return own.Grade(c, in) }
		v, failed, err := team.Grade(r.kernel, c, w.target, "Rules.Graders."+w.gate, ask, Verdict.scored)
		return answered[Verdict]{value: v, failed: failed}, r.part(err)
	}
	got, err := ask[verdictAnswer](r, c, call{
		role: Supervisor, op: OpVerify, tmpl: "verify.tmpl", target: w.target, until: w.until, request: verifyRequest, reply: verifyResponse,
		data: promptData{Gate: w.gate, Threshold: in.Threshold, Revisions: w.revises && r.Policy.Revisions > 0}, input: in, noFallback: w.gate == gateGoal,
	})
	return answered[Verdict]{got.value.verdict(), got.backup, got.failed}, err
}

// withProgress returns the input of a supervisor with how far the run is.
func (r *run) withProgress(in VerifyInput) VerifyInput {
	in.Goal, in.Context = r.state.PrimaryGoal, r.in.Context
	in.Last = r.out.Report.Verdicts[max(0, len(r.out.Report.Verdicts)-5):]
	in.Steps, in.StepsLeft = r.state.recent()
	return in
}

// verdict is the answer as a Verdict.
func (a verdictAnswer) verdict() Verdict {
	return Verdict{
		Approved: a.Approved, Score: a.Score, Findings: a.Findings, Evidence: a.Evidence, Progress: a.Progress,
		GoalAlignment: a.GoalAlignment, Reason: a.Reason, Recommendation: a.Recommendation, Revise: a.Revise,
	}
}

// scored returns what is wrong with the score of a host's verdict, or nil.
func (v Verdict) scored() error {
	if !(v.Score >= 0 && v.Score <= 100) { // NaN is refused, too
		return fmt.Errorf("its score is %v, want 0 to 100", v.Score)
	}
	return nil
}

// ungraded returns the ruling for work that could not be graded.
func (r *run) ungraded(c *orchestrator.Context, w review, cause error) ruling {
	why := "not graded: " + prompt.OneLine(cause.Error())
	if r.Policy.assumes(w.gate) && !w.backup {
		r.warn(c, "assumed-score", w.target, "%s: its score is assumed to be %v: %s", w.gate, *r.Policy.AssumeScore, why)
		return ruling{standing: approved}
	}
	r.warn(c, "ungraded", w.target, "%s: %s", w.gate, why)
	return ruling{standing: r.unverified(w.target), why: why}
}

// unverified records work that is kept without a grade.
func (r *run) unverified(target string) standing {
	if !slices.Contains(r.state.Unverified, target) {
		r.state.Unverified = append(r.state.Unverified, target)
	}
	return unverified
}

// reject rejects work by a rule, without asking a model.
func (r *run) reject(c *orchestrator.Context, w review, why string) (ruling, error) {
	v := &Verdict{Kind: w.gate, Target: w.target, Reason: why, Local: true}
	return ruling{standing: rejected, verdict: v, why: why}, r.judge(c, v, w.judged, why)
}

// judge counts a verdict, which rejects the work if why is not empty, and intervenes at its
// level. The error is errAborted, or that of the Ladder.
func (r *run) judge(c *orchestrator.Context, v *Verdict, judged Role, why string) error {
	e := &r.state.Escalation
	before, passed := cmp.Or(e.Level, LevelNone), why == ""
	r.looked, r.changes = c.Elapsed(), nil
	if v.Kind != gateMonitor { // a look passes no gate
		r.countVerdict(v, why)
	}
	s := Escalating{Gate: v.Kind, Target: v.Target, Score: v.Score, Passed: passed, Local: v.Local, Issues: e.Issues, Before: e.Level}
	level, broken := team.Decide(r.kernel, c, v.Target, "Rules.Ladder", r.Rules.Ladder, s, levels...)
	if broken = r.part(broken); broken == nil {
		e.Level = level
	}
	v.Level = e.Level
	r.out.Report.Verdicts = append(r.out.Report.Verdicts, *v)
	title := r.title(v.Target)
	if v.Kind == gatePlan {
		title = "" // its plan stands before it
	}
	r.tell(title, v.turn(prompt.OneLine(why)))
	r.emit(c, EventWorkJudged, Event{Event: team.Event{Text: prompt.OneLine(why)}, Header: Header{Target: v.Target}, Verdict: v})
	if broken != nil {
		return broken
	}
	if e.Level.above(LevelNone) {
		g := &guidance{Level: e.Level, Text: advice(*v, why), Issues: e.Issues, Of: r.abortAt()}
		r.guidance[judged] = g
		r.send(c, Header{Message: correction, From: Supervisor, To: judged, Target: v.Target}, g)
		r.tell("", page.Turn{Who: "Supervisor", What: strings.ToLower(string(g.Level)), Text: g.Text})
	}
	if e.Level.above(before) {
		r.send(c, Header{Message: escalationSent, From: Supervisor, To: conductor, Target: v.Target}, *e)
	}
	if e.Level == LevelAbort {
		r.send(c, Header{Message: abortSent, From: Supervisor, To: everybody, Target: v.Target}, *e)
		return errAborted
	}
	return nil
}

// countVerdict counts a verdict, which rejects the work if why is not empty.
func (r *run) countVerdict(v *Verdict, why string) {
	v.Threshold = r.Policy.Thresholds.of(v.Kind)
	r.names(v)
	if why == "" {
		r.state.Escalation.Issues = 0
		r.state.Metrics.VerificationsPassed++
		return
	}
	r.state.Escalation.Issues++
	r.state.Metrics.VerificationsFailed++
}

// abortAt is the number of rejections in a row at which the run ends, for models; -1: it is
// not known.
func (r *run) abortAt() int {
	l, _ := r.Rules.Ladder.(Ladder)
	return cmp.Or(max(0, l.AbortAt), off)
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

// guided returns the guidance for a role, and puts it into its request. It is for one request:
// the first that is answered.
func (r *run) guided(q *call) *guidance {
	g := r.guidance[q.role]
	delete(r.guidance, q.role)
	if q.guidance = g; g != nil {
		q.data.Level, q.data.Issues, q.data.AbortAt = g.Level, g.Issues, g.Of
	}
	return g
}

// fresh reports whether the next request leaves out earlier output and older feedback.
func (g *guidance) fresh() bool { return g != nil && g.Level.above(LevelCorrect) }
