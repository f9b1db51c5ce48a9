package discussion

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
)

// turn is one turn of a member.
type turn struct {
	role    Role
	kind    MessageType
	prompt  string
	number  int  // of the role's turns in the round; 0: outside of the rounds
	onIdeas bool // only if there are ideas
	missing int  // ideas, for the prompt

	// For turns that answer in JSON: the schema, and the function that reads the answer. An
	// answer that cannot be read is sent back once.
	output json.RawMessage
	read   func(text string) error
}

var errSilent = errors.New("the agent's answer is empty")

// say gives a member its turn: it gets the discussion and its task, and its answer becomes
// a message. An answer that cannot be read is a message, too, beside the error.
func (r *run) say(c *orchestrator.Context, t turn) (Message, error) {
	m, _ := r.cfg.member(t.role)
	text, err := r.fill(c, t)
	if err != nil {
		return Message{}, err
	}
	event := Event{Role: t.role, Round: r.round, Turn: t.number}
	r.emit(c, EventAgentStarted, event)
	r.speaking = t.role
	said := ""
	_, resp, err := orchestrator.AskWith(c, m.Agent, agent.Request{
		Task: string(t.kind), Prompt: text, Output: t.output, Temperature: m.Temperature,
		Limits: agent.Limits{Total: r.cfg.Limits.CallTimeout, Estimate: m.Estimate},
	}, func(resp agent.Response) (struct{}, error) {
		said = content(resp)
		if t.read == nil {
			return struct{}{}, nil
		}
		return struct{}{}, t.read(said)
	})
	r.speaking = ""
	if err == nil && said == "" {
		err = errSilent
	}
	if err != nil && (said == "" || team.Ends(err)) {
		event.Text = err.Error()
		r.emit(c, EventAgentFailed, event)
		return Message{}, err
	}
	r.emit(c, EventAgentFinished, event)
	return r.add(c, Message{From: t.role, Content: said, Type: t.kind, Round: r.round, Turn: t.number, Usage: resp.Usage}), err
}

// content is the text of an answer, or its data.
func content(resp agent.Response) string {
	if text := strings.TrimSpace(resp.Text); text != "" {
		return text
	}
	return string(resp.Data)
}

// fill makes the prompt of a turn.
func (r *run) fill(c *orchestrator.Context, t turn) (string, error) {
	text, elided := buildContext(r.out.Discussion, r.cfg.Limits.ContextBytes)
	if elided != r.elided {
		r.elided = elided
		r.emit(c, EventContextElided, Event{Count: elided})
	}
	return r.prompts.Fill(t.prompt, promptData{
		Context: text, Size: len(r.cfg.Team), Members: r.cfg.directed(), Round: r.round, Rounds: r.cfg.Rounds.Max,
		Missing: t.missing, Final: r.out.FinalIdea, Scored: r.scored(),
	})
}

// add appends a message.
func (r *run) add(c *orchestrator.Context, m Message) Message {
	d := &r.out.Discussion
	m.ID, m.To, m.Timestamp = "msg-"+strconv.Itoa(len(d.Messages)+1), "team", c.Now()
	d.Messages = append(d.Messages, m)
	r.emit(c, EventMessageAdded, Event{Message: &m})
	return m
}

// try is say with failures as warnings: then the Message is the zero one. An error says
// that the run cannot continue.
func (r *run) try(c *orchestrator.Context, t turn) (Message, error) {
	m, err := r.say(c, t)
	if err == nil || team.Ends(err) {
		return m, err
	}
	code := WarnAgentFailed
	if m.ID != "" {
		code = WarnIdeasUnparsed
	}
	r.warn(c, code, string(t.role), fmt.Sprintf("round %d: %v", r.round, err))
	return m, nil
}
