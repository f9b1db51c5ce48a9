package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/wire"
)

// chatReader assembles an answer.
type chatReader struct {
	indexes []int // indexes of the calls, as the server counts them
	besides []*beside
	content strings.Builder // text of reasoning_content
	reason  strings.Builder // text of reasoning
	said    thoughts        // the fields of thoughts that came
}

// chatEvent is an answer, or a piece of one.
type chatEvent struct {
	Choices []*struct {
		Index        int      `json:"index"`
		Delta        chatSaid `json:"delta"`
		Message      chatSaid `json:"message"`
		FinishReason string   `json:"finish_reason"`
	} `json:"choices"`
	Usage *chatUsage `json:"usage"`
	Error wire.Said  `json:"error"`
}

type chatSaid struct {
	Content words  `json:"content"`
	Refusal string `json:"refusal"`
	thoughts
	ToolCalls []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments input  `json:"arguments"`
		} `json:"function"`
		Extra json.RawMessage `json:"extra_content"`
	} `json:"tool_calls"`
}

// words are a text; some servers send a list of parts.
type words string

// UnmarshalJSON reads a text, or the texts in a list.
func (w *words) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte("[")) {
		return json.Unmarshal(data, (*string)(w))
	}
	var parts []struct {
		Type, Text string
	}
	err := json.Unmarshal(data, &parts)
	for _, p := range parts {
		if p.Type == "text" || p.Type == "output_text" {
			*w += words(p.Text)
		}
	}
	return err
}

// input is the input of a tool, as a text with JSON in it; some servers send JSON.
type input string

// UnmarshalJSON reads a text, or takes an object as it is.
func (i *input) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("{")) {
		*i = input(data)
		return nil
	}
	return json.Unmarshal(data, (*string)(i))
}

// chatUsage counts cached tokens as part of the prompt's.
type chatUsage struct {
	Prompt     wire.Count `json:"prompt_tokens"`
	Completion wire.Count `json:"completion_tokens"`
	Total      wire.Count `json:"total_tokens"`
	CacheHit   wire.Count `json:"prompt_cache_hit_tokens"` // DeepSeek's
	Details    struct {
		Cached  wire.Count `json:"cached_tokens"`
		Written wire.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	OutputDetails struct {
		Reasoning wire.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// withThoughts returns u with the reasoning tokens as part of the completion, where only
// the total includes them.
func (u chatUsage) withThoughts() chatUsage {
	if thought := u.Total - u.Prompt - u.Completion; thought > 0 {
		u.Completion += thought
		u.OutputDetails.Reasoning = max(u.OutputDetails.Reasoning, thought)
	}
	return u
}

func (u chatUsage) usage() providers.Usage {
	return wire.Counted(providers.Usage{
		Input: int64(u.Prompt), Output: int64(u.Completion), Reasoning: int64(u.OutputDetails.Reasoning),
		CacheRead: int64(max(u.Details.Cached, u.CacheHit)), CacheWrite: int64(u.Details.Written),
	})
}

// Whole implements [wire.Talk].
func (c *chat) Whole(a *wire.Answer, body []byte) error {
	_, err := c.add(a, body, "answer")
	if err == nil {
		c.read.finish(c, a)
	}
	return err
}

// Event implements [wire.Talk].
func (c *chat) Event(a *wire.Answer, name string, data []byte) (bool, error) {
	switch {
	case string(data) == "[DONE]":
		c.read.finish(c, a)
		return true, nil
	case name == "error":
		return false, wire.SaidIn(bytes.Clone(data))
	}
	done, err := c.add(a, data, "event")
	if done {
		c.read.finish(c, a)
	}
	return false, err
}

// add reads an answer, or a piece of one, and says whether the model has finished.
func (c *chat) add(a *wire.Answer, data []byte, what string) (finished bool, err error) {
	var e chatEvent
	err = json.Unmarshal(data, &e)
	if e.Usage != nil {
		if c.model.vendor.thoughtsLeft {
			*e.Usage = e.Usage.withThoughts()
		}
		a.Usage = e.Usage.usage()
	}
	switch {
	case err != nil:
		return false, fmt.Errorf("read %s: %w", what, err)
	case e.Error.Present():
		return false, &e.Error
	case len(e.Choices) == 0 && what == "answer":
		return false, errors.New("the answer holds no choice")
	}
	for _, choice := range e.Choices {
		if choice == nil || choice.Index != 0 {
			continue
		}
		if choice.FinishReason != "" {
			a.Stop = choice.FinishReason
			finished = true
		}
		for _, said := range []*chatSaid{&choice.Delta, &choice.Message} {
			if err := c.read.add(c, a, said); err != nil {
				return false, err
			}
		}
	}
	return finished, nil
}

func (r *chatReader) add(c *chat, a *wire.Answer, s *chatSaid) error {
	r.think(a, s.thoughts)
	a.Refusal.WriteString(s.Refusal)
	if s.Content != "" {
		if err := a.Say(string(s.Content)); err != nil {
			return err
		}
	}
	for _, t := range s.ToolCalls {
		i := r.place(a, t.Index, t.ID, t.Function.Name)
		call := a.Call(i)
		if t.ID != "" {
			call.ID = t.ID
		}
		if t.Function.Name != "" {
			call.Name = t.Function.Name
		}
		if c.model.vendor.extras && wire.IsSet(t.Extra) {
			r.besides[i].Extra = bytes.Clone(t.Extra)
		}
		if err := a.Input(call, string(t.Function.Arguments)); err != nil {
			return err
		}
	}
	return nil
}

// place returns the call that a piece belongs to. Some servers give no index, or the same
// one for all calls, which come whole then.
func (r *chatReader) place(a *wire.Answer, index *int, id, name string) int {
	last := len(r.indexes) - 1
	at := -1
	if index == nil {
		at = last
	} else {
		for i, known := range r.indexes {
			if known == *index {
				at = i // the last one of that index
			}
		}
	}
	isNew := at < 0
	if !isNew {
		old := a.Call(at)
		isNew = id != "" && old.ID != "" && id != old.ID || id == "" && name != "" && old.Name != "" && old.HasInput()
	}
	if !isNew {
		return at
	}
	n := len(r.indexes)
	if index != nil {
		n = *index
	}
	r.indexes, r.besides = append(r.indexes, n), append(r.besides, &beside{})
	return len(r.indexes) - 1
}

// think adds to the model's reasoning.
func (r *chatReader) think(a *wire.Answer, t thoughts) {
	if t.ReasoningContent != nil {
		r.said.ReasoningContent = t.ReasoningContent
		r.content.WriteString(*t.ReasoningContent)
		a.Heard(len(*t.ReasoningContent))
	}
	if t.Reasoning != nil {
		r.said.Reasoning = t.Reasoning
		r.reason.WriteString(*t.Reasoning)
		a.Heard(len(*t.Reasoning))
	}
	for _, d := range t.Details {
		r.said.Details = addDetail(r.said.Details, bytes.Clone(d))
	}
}

// addDetail adds a piece of structured reasoning: pieces with the same index are one, and
// their texts are joined.
func addDetail(all []json.RawMessage, piece json.RawMessage) []json.RawMessage {
	var p, last map[string]any
	if len(all) == 0 || json.Unmarshal(piece, &p) != nil || json.Unmarshal(all[len(all)-1], &last) != nil ||
		p["index"] == nil || p["index"] != last["index"] || p["type"] != last["type"] {
		return append(all, piece)
	}
	for name, value := range p {
		more, isText := value.(string)
		before, _ := last[name].(string)
		switch {
		case value == nil:
		case isText && (name == "text" || name == "summary" || name == "data"):
			last[name] = before + more
		default:
			last[name] = value
		}
	}
	if data, err := json.Marshal(last); err == nil {
		all[len(all)-1] = data
	}
	return all
}

// finish gives the calls the fields that must be sent back.
func (r *chatReader) finish(c *chat, a *wire.Answer) {
	if r.said.ReasoningContent != nil {
		r.said.ReasoningContent = new(r.content.String())
	}
	if r.said.Reasoning != nil {
		r.said.Reasoning = new(r.reason.String())
	}
	if r.said.Details != nil {
		r.said.Reasoning, r.said.ReasoningContent = nil, nil // the details say it all
	}
	for i, b := range r.besides {
		if i == 0 {
			b.thoughts = r.said
		}
		data, err := json.Marshal(b)
		if err == nil && string(data) != "{}" {
			a.Call(i).Extra = wire.Remember(c.model.spec.Provider, data)
		}
	}
}
