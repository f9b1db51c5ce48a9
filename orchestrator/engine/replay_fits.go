package engine

import (
	"cmp"
	"encoding/json"
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

// asked tells whether the log has the question of op. A nil p is behind the log.
func (p *Replay) asked(op *Op) bool {
	return p != nil && p.own[ownID{runlog.Asked, effectID{op.Branch, op.N}}].kind != ""
}

// isPast tells whether the log has more than the flow has repeated. A nil p is behind it.
func (p *Replay) isPast() bool { return p != nil && p.next < len(p.Records) }

// repeatAsk compares a question with the one on record. If another one is accepted, it is
// asked anew, and no answer to the one on record serves it; unless its time was over then.
func (p *Replay) repeatAsk(rec *runlog.Record, there own) {
	id := effectID{rec.Branch, rec.N}
	changed := p.effect(rec.Branch, rec.N).hash
	switch {
	case rec.Hash == there.hash || rec.Hash == changed:
		delete(p.own, ownID{runlog.Changed, id})
		return
	case !p.Accept:
		var then, now Ask
		_ = json.Unmarshal(p.Records[there.seq].Data, &then)
		_ = json.Unmarshal(rec.Data, &now)
		p.fault = p.diverged(&p.Records[there.seq], "now the question %q differs (restore it, or set Config.Requests.AcceptChanged to ask it anew): recorded was %s, now it is %s",
			rec.Name, then.words(), now.words())
		return
	}
	p.anew = cmp.Or(p.anew, rec.Name)
	delete(p.own, ownID{runlog.Changed, id})
	p.fresh = append(p.fresh, runlog.Record{Kind: runlog.Changed, Branch: rec.Branch, N: rec.N, Name: rec.Name, Hash: rec.Hash})
	if p.effects[id].seq == 0 {
		delete(p.own, ownID{runlog.Withdrawn, id})
		anew := runlog.Record{Kind: runlog.Asked, Branch: rec.Branch, N: rec.N, Name: rec.Name, Hash: rec.Hash, Data: askedAgain(rec.Data)}
		p.fresh = append(p.fresh, anew)
	}
}

// words is what a question says, for a message.
func (a Ask) words() string {
	q := Question{Key: a.Key, Text: a.Text, Options: a.Options, Data: a.Data, Secret: a.Secret}.Shown()
	return text.Shorten(string(agent.JSON(q))+" for a "+string(a.Schema), 400)
}

func (p *Replay) diverged(rec *runlog.Record, format string, args ...any) error {
	what := fmt.Sprintf("record %d is %q of effect %s", rec.Seq, rec.Kind, Key(rec.Branch, rec.N))
	if rec.Name != "" {
		what += fmt.Sprintf(" (%s)", rec.Name)
	}
	why := fmt.Sprintf(format, args...)
	if p.anew != "" {
		why += fmt.Sprintf("; the question %q differs from the one on record, so it is asked anew, and what followed its answer does not fit: restore the question, or raise the flow's Version", p.anew)
	}
	return agent.ErrorOf(fmt.Errorf("%w: run %q: %s: %s", ErrDiverged, p.Started.Run, what, why))
}
