package delivery

import (
	"time"

	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/team/page"
)

// gateMonitor is the VerifyInput.Gate of a look between verdicts, which is no gate.
const gateMonitor = "monitor"

// shownChanges is how many things that were said a look is told of: the last ones.
const shownChanges = 20

// changed keeps what a member said, other than verdicts, for the next look.
func (r *run) changed(title string, turn page.Turn) {
	if r.Policy.MonitorEvery <= 0 || turn.Who == "Supervisor" || turn.Who == "Check" {
		return
	}
	line := turn.Who + ", " + turn.What + ": " + text.Shorten(text.OneLine(turn.Text), 200)
	if title != "" {
		line = text.Shorten(title, 100) + ": " + line
	}
	r.changes = append(r.changes, line)
	r.changes = r.changes[max(0, len(r.changes)-shownChanges):]
}

// monitor asks the supervisor how well the work still leads to the goal, before a request to a
// role, if no verdict was given for Policy.MonitorEvery and something was said since. The level
// moves by the score. Without an answer nothing changes.
func (r *run) monitor(c *orchestrator.Context, role Role, target string, until time.Duration) error {
	every := r.Policy.MonitorEvery
	if every <= 0 || c.Elapsed()-r.looked < every || len(r.changes) == 0 {
		return nil
	}
	got, err := ask[verdictAnswer](r, c, call{
		role: Supervisor, op: OpVerify, tmpl: "verify.tmpl", target: target, until: until, request: verifyRequest, reply: verifyResponse,
		data: promptData{Gate: gateMonitor}, input: r.withProgress(VerifyInput{Gate: gateMonitor, Changes: r.changes}), noFallback: true,
	})
	r.looked = c.Elapsed()
	if err != nil || got.failed != nil {
		return err
	}
	v := got.value.verdict()
	v.Kind, v.Target = gateMonitor, target
	return r.judge(c, &v, role, "")
}
