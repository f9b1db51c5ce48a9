package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/internal/text"
	"github.com/convene-go/convene/orchestrator/agent"
)

// kinds are how the log and messages name effects.
var kinds = [...]struct{ completed, asked string }{
	0:     {"", "an effect of kind 0"},
	Call:  {runlog.Called, "a call of agent %q"},
	Sleep: {runlog.Slept, "a sleep"},
	Limit: {runlog.Slept, "a time limit"},
	Await: {runlog.Expired, "an answer to the question %q"},
	Child: {runlog.Called, "a child run of flow %q"},
}

// fits tells whether e is what rec was made for.
func (p *Replay) fits(rec *runlog.Record, e *onRecord) error {
	op := e.op
	if kinds[op.Kind].completed != rec.Kind || op.Name != rec.Name {
		return p.diverged(rec, "now the flow asks for %s", strings.ReplaceAll(kinds[op.Kind].asked, "%q", strconv.Quote(op.Name)))
	}
	if op.Kind != Call {
		return nil
	}
	switch hash := RequestHash(op.Name, op.Request); {
	case hash == rec.Hash || hash == e.hash || rec.Hash == "": // a log in memory has none
		delete(p.own, ownID{runlog.Changed, effectID{rec.Branch, rec.N}})
		return nil
	case p.Accept:
		p.Emit(runlog.Record{Kind: runlog.Changed, Branch: op.Branch, N: op.N, Name: op.Name, Hash: hash})
		return nil
	}
	then := ""
	if p.Request != nil {
		then = p.Request(p.answer(rec.Seq))
	}
	if then == "" {
		then = "hash " + rec.Hash
	}
	parts, err := SplitRequest(op.Request)
	if err != nil {
		return err
	}
	return p.diverged(rec, "now the request to %q differs (restore it, or set Config.Requests.AcceptChanged to use the recorded answer): recorded was %s, now it is %s", op.Name, then, text.Shorten(string(parts[0]), 400))
}

func (p *Replay) diverged(rec *runlog.Record, format string, args ...any) error {
	what := fmt.Sprintf("record %d is %q of effect %s", rec.Seq, rec.Kind, Key(rec.Branch, rec.N))
	if rec.Name != "" {
		what += fmt.Sprintf(" (%s)", rec.Name)
	}
	return agent.ErrorOf(fmt.Errorf("%w: run %q: %s: %s", ErrDiverged, p.Started.Run, what, fmt.Sprintf(format, args...)))
}
