package bedrock

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/wire"
)

// reader assembles an answer.
type reader struct {
	open   map[int]*opened
	before []json.RawMessage // blocks before the next call
}

// opened is an unfinished part.
type opened struct {
	text, thought, signature strings.Builder
	redacted                 []byte
	call                     *wire.Call
}

type converseAnswer struct {
	Output struct {
		Message struct {
			Content []json.RawMessage `json:"content"`
		} `json:"message"`
	} `json:"output"`
	StopReason string        `json:"stopReason"`
	Usage      converseUsage `json:"usage"`
}

// converseUsage counts as Anthropic does: cached tokens are not part of the input.
type converseUsage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadInputTokens"`
	CacheWrite int64 `json:"cacheWriteInputTokens"`
}

func (u converseUsage) usage() providers.Usage {
	out := wire.Counted(providers.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite})
	out.Input += out.CacheRead + out.CacheWrite
	return out
}

type toolUse struct {
	ID    string `json:"toolUseId"`
	Name  string
	Input json.RawMessage
}

// Whole implements [wire.Talk].
func (c *converse) Whole(a *wire.Answer, body []byte) error {
	var answer converseAnswer
	err := json.Unmarshal(body, &answer)
	a.Usage = answer.Usage.usage()
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	a.Stop = answer.StopReason
	for _, raw := range answer.Output.Message.Content {
		var part struct {
			Text             string
			ReasoningContent json.RawMessage
			ToolUse          *toolUse
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		switch {
		case part.ToolUse != nil:
			call := c.call(a, *part.ToolUse)
			if !wire.IsSet(part.ToolUse.Input) {
				continue
			}
			if err := a.Input(call, string(part.ToolUse.Input)); err != nil {
				return err
			}
		case part.Text != "":
			c.before = append(c.before, raw)
			if err := a.Say(part.Text); err != nil {
				return err
			}
		case part.ReasoningContent != nil:
			c.before = append(c.before, raw)
		}
	}
	return nil
}

// call begins a tool call, with the parts before it if one of them is a thought.
func (c *converse) call(a *wire.Answer, t toolUse) *wire.Call {
	call := a.Call(len(a.Calls))
	call.ID, call.Name = t.ID, t.Name
	for _, raw := range c.before {
		if _, isText := textIn(raw); isText {
			continue
		}
		if data, err := json.Marshal(c.before); err == nil {
			call.Extra = wire.Remember(remembered, data)
		}
		break
	}
	c.before = nil
	return call
}

// Frames implements [wire.Framed]. The usage comes after the end.
func (c *converse) Frames(a *wire.Answer, in io.Reader) error {
	return readFrames(in, func(name string, data []byte) (bool, error) { return c.Event(a, name, data) })
}

type converseEvent struct {
	Index int `json:"contentBlockIndex"`
	Start struct {
		ToolUse *toolUse
	}
	Delta struct {
		Text      string
		ToolUse   struct{ Input string }
		Reasoning struct {
			Text      string
			Signature string
			Redacted  []byte `json:"redactedContent"`
		} `json:"reasoningContent"`
	}
	StopReason string
	Usage      converseUsage
}

// Event implements [wire.Talk].
func (c *converse) Event(a *wire.Answer, name string, data []byte) (bool, error) {
	var e converseEvent
	if !events[name] {
		return false, nil
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return false, fmt.Errorf("read event: %w", err)
	}
	switch name {
	case "contentBlockStart":
		if e.Start.ToolUse != nil {
			c.part(e.Index).call = c.call(a, *e.Start.ToolUse)
		}
	case "contentBlockDelta":
		return false, c.delta(a, e)
	case "contentBlockStop":
		c.end(e.Index)
	case "messageStop":
		a.Stop = e.StopReason
	case "metadata":
		a.Usage = e.Usage.usage()
		return a.Stop != "", nil
	}
	return false, nil
}

var events = map[string]bool{"contentBlockStart": true, "contentBlockDelta": true, "contentBlockStop": true, "messageStop": true, "metadata": true}

func (c *converse) part(index int) *opened {
	if c.open == nil {
		c.open = map[int]*opened{}
	}
	if c.open[index] == nil {
		c.open[index] = &opened{}
	}
	return c.open[index]
}

func (c *converse) delta(a *wire.Answer, e converseEvent) error {
	o, d := c.part(e.Index), e.Delta
	o.thought.WriteString(d.Reasoning.Text)
	o.signature.WriteString(d.Reasoning.Signature)
	o.redacted = append(o.redacted, d.Reasoning.Redacted...)
	a.Heard(len(d.Reasoning.Text) + len(d.Reasoning.Signature) + len(d.Reasoning.Redacted))
	if o.call != nil {
		return a.Input(o.call, d.ToolUse.Input)
	}
	if d.Text == "" {
		return nil
	}
	o.text.WriteString(d.Text)
	return a.Say(d.Text)
}

// end keeps a complete part, for the next tool call.
func (c *converse) end(index int) {
	o := c.open[index]
	if o == nil || o.call != nil {
		return
	}
	delete(c.open, index)
	part := object{"text": o.text.String()}
	switch {
	case len(o.redacted) > 0:
		part = object{"reasoningContent": object{"redactedContent": o.redacted}}
	case o.thought.Len() > 0 || o.signature.Len() > 0:
		thought := object{"text": o.thought.String()}
		if o.signature.Len() > 0 {
			thought["signature"] = o.signature.String()
		}
		part = object{"reasoningContent": object{"reasoningText": thought}}
	case o.text.Len() == 0:
		return
	}
	if data, err := json.Marshal(part); err == nil {
		c.before = append(c.before, data)
	}
}
