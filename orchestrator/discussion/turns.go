package discussion

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
)

// turn is one turn of a member.
type turn struct {
	by       Member
	kind     MessageType
	prompt   string
	number   int      // number of the member's turn in the round; 0: outside of the rounds
	missing  int      // number of missing ideas, for the prompt
	only     []string // IDs of the ideas to grade, for the prompt; nil: all
	agent    string   // who speaks; "": the member's
	feedback string   // advice at the end of the prompt

	// For turns that answer in JSON: the schema, and the function that reads the answer and
	// returns the names of the fields that it leaves out. An answer that cannot be read is sent
	// back as often as repairs says; 0: once.
	output  json.RawMessage
	read    func(text string) (extra []string, err error)
	repairs int
}

// say gives a member its turn: it gets the discussion and its task, and its answer becomes
// a message. An answer that cannot be read is a message, too, beside the error.
func (r *run) say(c *orchestrator.Context, t turn) (Message, error) {
	m := t.by
	var dropped []string
	member := team.Seat[struct{}]{
		Who: m.ID, Agent: cmp.Or(t.agent, m.Agent), Prompt: t.prompt,
		Request: agent.Request{
			Task: string(t.kind), Output: t.output, Temperature: m.Temperature,
			Limits: agent.Limits{Total: r.cfg.Bounds.CallTimeout, Estimate: m.Estimate, Repairs: t.repairs},
		},
		Read: func(resp agent.Response) (none struct{}, err error) {
			if t.read != nil {
				dropped, err = t.read(team.TextOf(resp))
			}
			return none, err
		},
		On: team.Hooks{
			Before: func(c *orchestrator.Context, req *agent.Request) (*orchestrator.Context, error) {
				for _, more := range []string{m.Task, t.feedback} {
					if more != "" {
						req.Prompt += "\n\n" + more
					}
				}
				return c, nil
			},
			Event: func(e team.Event) team.Telling { return &Event{Event: e, Round: r.round, Turn: t.number} },
		},
	}
	r.speaking = m.ID
	said, err := member.Call(c, r.Run, r.data(c, t))
	r.speaking = ""
	if err == nil {
		r.WarnDropped(c, cmp.Or(t.agent, m.Agent), dropped)
	}
	if err != nil && (said.Text == "" || team.Ends(err)) {
		return Message{}, err
	}
	return r.add(c, Message{From: m.Role, By: m.by(), Content: said.Text, Type: t.kind, Round: r.round, Turn: t.number, Usage: said.Response.Usage}), err
}

// data returns what the prompt of a turn is made of.
func (r *run) data(c *orchestrator.Context, t turn) promptData {
	text, elided := r.read.text(r.out.Discussion, r.cfg.Bounds.ContextBytes)
	if elided != r.elided {
		r.elided = elided
		r.Emit(c, EventContextElided, &Event{Count: elided})
	}
	return promptData{
		Context: text, Size: len(r.cfg.Team), Members: r.cfg.directed(), Round: r.round, Rounds: r.cfg.Rounds.Max,
		Missing: t.missing, Only: t.only, Final: r.out.FinalIdea, Scored: r.scored(), Criteria: r.cfg.criteria(),
		Name: t.by.name(), Role: strings.ReplaceAll(string(t.by.Role), "_", " "),
	}
}

// add appends a message.
func (r *run) add(c *orchestrator.Context, m Message) Message {
	d := &r.out.Discussion
	m.ID, m.To, m.Timestamp = "msg-"+strconv.Itoa(len(d.Messages)+1), "team", c.Now()
	d.Messages = append(d.Messages, m)
	r.largest = r.largest.most(needOf(m.Usage))
	r.Emit(c, EventMessageAdded, &Event{Message: &m})
	return m
}

// try is say with failures as warnings: then the Message is the zero one. An error says
// that the run cannot continue.
func (r *run) try(c *orchestrator.Context, t turn) (Message, error) {
	m, err := r.say(c, t)
	if err == nil || team.Ends(err) {
		return m, err
	}
	code := r.Code("agent-failed")
	if m.ID != "" {
		code = r.Code("ideas-unparsed")
	}
	r.Warn(c, code, t.by.ID, "round %d: %v", r.round, err)
	return m, nil
}
