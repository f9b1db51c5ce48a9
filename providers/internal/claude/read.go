package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/wire"
)

// reader assembles an answer.
type reader struct {
	open   map[int]*opened
	before []json.RawMessage // blocks before the next tool call
	usage  usage
}

// opened is an unfinished block.
type opened struct {
	kind                      string
	text, thinking, signature strings.Builder
	raw                       json.RawMessage // the block as it began
	call                      *wire.Call
}

// usage counts cached tokens apart from the input's. Its counts come in several
// events, of which the last one counts.
type usage struct {
	Input      *wire.Count `json:"input_tokens"`
	Output     *wire.Count `json:"output_tokens"`
	CacheRead  *wire.Count `json:"cache_read_input_tokens"`
	CacheWrite *wire.Count `json:"cache_creation_input_tokens"`
	Details    struct {
		Thinking *wire.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// count copies the counts of u.
func (r *reader) count(a *wire.Answer, u usage) {
	for _, p := range []struct{ to, from **wire.Count }{
		{&r.usage.Input, &u.Input},
		{&r.usage.Output, &u.Output},
		{&r.usage.CacheRead, &u.CacheRead},
		{&r.usage.CacheWrite, &u.CacheWrite},
		{&r.usage.Details.Thinking, &u.Details.Thinking},
	} {
		if *p.from != nil {
			*p.to = *p.from
		}
	}
	n := func(p *wire.Count) int64 {
		if p == nil {
			return 0
		}
		return int64(*p)
	}
	out := wire.Counted(providers.Usage{
		Input: n(r.usage.Input), Output: n(r.usage.Output), CacheRead: n(r.usage.CacheRead), CacheWrite: n(r.usage.CacheWrite),
		Reasoning: n(r.usage.Details.Thinking),
	})
	out.Input += out.CacheRead + out.CacheWrite
	a.Usage = out
}

// answer is a whole answer, or what a stream begins with.
type answer struct {
	Content []json.RawMessage `json:"content"`
	Reason  string            `json:"stop_reason"`
	Usage   usage             `json:"usage"`
	Error   wire.Said         `json:"error"`
}

// Whole implements [wire.Talk].
func (t *Talk) Whole(a *wire.Answer, body []byte) error {
	var whole answer
	err := json.Unmarshal(body, &whole)
	t.count(a, whole.Usage)
	switch {
	case err != nil:
		return fmt.Errorf("read answer: %w", err)
	case whole.Error.Present():
		return &whole.Error
	}
	a.Stop = whole.Reason
	for _, raw := range whole.Content {
		var b block
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "text":
			t.before = append(t.before, raw)
			if err := a.Say(b.Text); err != nil {
				return err
			}
		case "thinking", "redacted_thinking":
			t.before = append(t.before, raw)
		case "tool_use":
			call := t.call(a, b)
			if !wire.IsSet(b.Input) {
				continue
			}
			if err := a.Input(call, string(b.Input)); err != nil {
				return err
			}
		}
	}
	return nil
}

// call begins a tool call.
func (t *Talk) call(a *wire.Answer, b block) *wire.Call {
	c := a.Call(len(a.Calls))
	c.ID, c.Name, c.Extra = b.ID, b.Name, t.keep()
	return c
}

// keep returns the blocks before a call that must be sent back, nil if none of them is a
// thought.
func (t *Talk) keep() json.RawMessage {
	blocks := t.before
	t.before = nil
	for _, raw := range blocks {
		if typeOf(raw) == "text" {
			continue
		}
		data, err := json.Marshal(blocks)
		if err != nil {
			return nil // impossible: they were read as JSON
		}
		return wire.Remember(t.Provider, data)
	}
	return nil
}

// event is one of a stream: its fields are those of the types that are read.
type event struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message answer `json:"message"`
	Delta   struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		Thinking  string `json:"thinking"`
		Signature string `json:"signature"`
		Input     string `json:"partial_json"`
		Reason    string `json:"stop_reason"`
	} `json:"delta"`
	Block json.RawMessage `json:"content_block"`
	Usage usage           `json:"usage"`
	Error wire.Said       `json:"error"`
}

// Event implements [wire.Talk].
func (t *Talk) Event(a *wire.Answer, _ string, data []byte) (bool, error) {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return false, fmt.Errorf("read event: %w", err)
	}
	switch e.Type {
	case "error":
		return false, &e.Error
	case "message_start":
		t.count(a, e.Message.Usage)
	case "content_block_start":
		return false, t.start(a, e)
	case "content_block_delta":
		return false, t.delta(a, e)
	case "content_block_stop":
		t.end(e.Index)
	case "message_delta":
		a.Stop = cmp.Or(e.Delta.Reason, a.Stop)
		t.count(a, e.Usage)
	case "message_stop":
		return true, nil
	}
	return false, nil // no text, or an unknown event
}

func (t *Talk) start(a *wire.Answer, e event) error {
	var b block
	_ = json.Unmarshal(e.Block, &b) // an unreadable one counts as unknown
	if t.open == nil {
		t.open = map[int]*opened{}
	}
	o := &opened{kind: b.Type, raw: bytes.Clone(e.Block)}
	t.open[e.Index] = o
	switch b.Type {
	case "tool_use":
		o.call = t.call(a, b)
		if input := string(bytes.TrimSpace(b.Input)); input != "" && input != "{}" && input != "null" {
			return a.Input(o.call, input)
		}
	case "text":
		return t.say(a, o, b.Text)
	}
	return nil
}

func (t *Talk) say(a *wire.Answer, o *opened, text string) error {
	if text == "" {
		return nil
	}
	o.text.WriteString(text)
	return a.Say(text)
}

func (t *Talk) delta(a *wire.Answer, e event) error {
	o := t.open[e.Index]
	if o == nil {
		o = &opened{kind: "text"}
		if t.open == nil {
			t.open = map[int]*opened{}
		}
		t.open[e.Index] = o
	}
	d := e.Delta
	o.signature.WriteString(d.Signature)
	o.thinking.WriteString(d.Thinking)
	a.Heard(len(d.Thinking) + len(d.Signature))
	if o.call != nil && d.Input != "" {
		return a.Input(o.call, d.Input)
	}
	return t.say(a, o, d.Text)
}

// end keeps a complete block, for the next tool call.
func (t *Talk) end(index int) {
	o := t.open[index]
	if o == nil {
		return
	}
	delete(t.open, index)
	switch o.kind {
	case "text":
		t.keepBlock(&block{Type: "text", Text: o.text.String()})
	case "redacted_thinking":
		t.before = append(t.before, o.raw)
	case "thinking":
		var began struct{ Thinking, Signature string }
		_ = json.Unmarshal(o.raw, &began) // began is empty as a rule
		t.keepBlock(struct {
			Type      string `json:"type"`
			Thinking  string `json:"thinking"`
			Signature string `json:"signature"`
		}{"thinking", began.Thinking + o.thinking.String(), began.Signature + o.signature.String()})
	}
}

func (t *Talk) keepBlock(b any) {
	if data, err := json.Marshal(b); err == nil {
		t.before = append(t.before, data)
	}
}
