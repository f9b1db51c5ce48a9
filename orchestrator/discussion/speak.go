package discussion

import (
	"errors"
	"strconv"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
)

// speech is one turn of a member.
type speech struct {
	role    Role
	kind    MessageType
	prompt  string
	turn    int
	missing int // ideas, for the prompt

	// Of turns that answer in JSON: the schema, and what reads the answer. An answer
	// that cannot be read is sent back once (DX5).
	output []byte
	read   func(text string) error
}

var errSilent = errors.New("the agent's answer is empty")

// say has a member speak: it gets the discussion and its task, and what it answers
// becomes a message (D5, D36, D38). An answer that cannot be read is a message, too;
// its error is orchestrator.ErrMalformed.
func (r *run) say(c *orchestrator.Context, s speech) (Message, error) {
	m, _ := r.cfg.member(s.role)
	text, err := r.fill(c, s)
	if err != nil {
		return Message{}, err
	}
	event := Event{Role: s.role, Round: r.round, Turn: s.turn}
	r.emit(c, "agent.started", event)
	r.state.Speaking = s.role
	defer func() { r.state.Speaking = "" }()
	req := agent.Request{
		Prompt: text, Output: s.output, Temperature: m.Temperature,
		Limits: agent.Limits{Total: r.cfg.Limits.CallTimeout},
	}
	_, resp, err := orchestrator.AskWith(c, m.Agent, req, func(resp agent.Response) (struct{}, error) {
		if s.read == nil {
			return struct{}{}, nil
		}
		return struct{}{}, s.read(content(resp))
	})
	unread := errors.Is(err, orchestrator.ErrMalformed)
	if err == nil && content(resp) == "" {
		err = errSilent // DC29
	}
	if err != nil && (!unread || content(resp) == "") {
		return Message{}, err
	}
	r.emit(c, "agent.finished", event)
	said := r.add(c, Message{From: s.role, Content: content(resp), Type: s.kind, Round: r.round, Turn: s.turn, Usage: resp.Usage})
	return said, err
}

// content is the text of an answer, or its data.
func content(resp agent.Response) string {
	if text := strings.TrimSpace(resp.Text); text != "" {
		return text
	}
	return string(resp.Data)
}

// fill makes the prompt of a turn.
func (r *run) fill(c *orchestrator.Context, s speech) (string, error) {
	text, elided := buildContext(r.out.Discussion, r.cfg.Limits.ContextBytes)
	if elided != r.elided {
		r.elided = elided
		r.emit(c, "context.elided", Event{Count: elided})
	}
	return r.prompts.Fill(s.prompt, promptData{
		Context: text, Topic: r.in.Topic, Size: len(r.cfg.Team), Members: r.cfg.speakers(),
		Round: r.round, Rounds: r.cfg.MaxRounds, Missing: s.missing, Final: r.out.FinalIdea, Scored: r.scored(),
	})
}

// add appends a message (D36).
func (r *run) add(c *orchestrator.Context, m Message) Message {
	d := &r.out.Discussion
	m.ID, m.To, m.Timestamp = "msg-"+strconv.Itoa(len(d.Messages)+1), "team", c.Now()
	d.Messages = append(d.Messages, m)
	r.state.Messages = len(d.Messages)
	r.emit(c, "message.added", Event{Message: &m})
	return m
}

// try is say where a failure is a warning (D45): it returns an error only if the run
// cannot go on.
func (r *run) try(c *orchestrator.Context, s speech) (m Message, ok bool, err error) {
	m, err = r.say(c, s)
	switch {
	case err == nil:
		return m, true, nil
	case stops(err):
		return m, false, err
	case m.ID != "":
		r.warn(c, "ideas.unparsed", s.role, Event{Turn: s.turn, Text: err.Error()})
		return m, true, nil
	}
	r.warn(c, "agent.failed", s.role, Event{Turn: s.turn, Text: err.Error()})
	return m, false, nil
}
