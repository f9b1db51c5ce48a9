package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/wire"
)

// responsesAnswer is an answer, or the end of a stream.
type responsesAnswer struct {
	Status     string `json:"status"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Error  wire.Said         `json:"error"`
	Output []json.RawMessage `json:"output"`
	Usage  struct {
		Input   wire.Count `json:"input_tokens"`
		Output  wire.Count `json:"output_tokens"`
		Details struct {
			Cached  wire.Count `json:"cached_tokens"`
			Written wire.Count `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		OutputDetails struct {
			Reasoning wire.Count `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
	} `json:"usage"`
}

// responsesEvent is an event of a stream: its fields are those of the types that
// are read.
type responsesEvent struct {
	Type     string          `json:"type"`
	Delta    json.RawMessage `json:"delta"`
	Item     json.RawMessage `json:"item"`
	Response responsesAnswer `json:"response"`
	Error    wire.Said       `json:"error"`
}

// Whole implements [wire.Talk].
func (r *responses) Whole(a *wire.Answer, body []byte) error {
	var answer responsesAnswer
	err := json.Unmarshal(body, &answer)
	r.count(a, answer)
	if err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return r.finish(a, answer)
}

// Event implements [wire.Talk].
func (r *responses) Event(a *wire.Answer, _ string, data []byte) (bool, error) {
	if string(data) == "[DONE]" {
		return true, nil
	}
	var e responsesEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return false, fmt.Errorf("read event: %w", err)
	}
	switch e.Type {
	case "response.output_text.delta":
		return false, a.Say(textIn(e.Delta))
	case "response.refusal.delta":
		a.Refusal.WriteString(textIn(e.Delta))
	case "response.output_item.done":
		r.items = append(r.items, bytes.Clone(e.Item))
	case "response.completed", "response.incomplete", "response.failed":
		r.count(a, e.Response)
		return true, r.finish(a, e.Response)
	case "error":
		if e.Error.Present() {
			return false, &e.Error
		}
		said := &wire.Said{}
		_ = json.Unmarshal(data, said) // it reads every object
		said.Type = ""                 // the type says only that it is an error
		return false, said
	default:
		if strings.HasSuffix(e.Type, ".delta") { // thoughts, and the inputs of tools
			a.Heard(len(e.Delta))
		}
	}
	return false, nil
}

func (r *responses) count(a *wire.Answer, answer responsesAnswer) {
	u := answer.Usage
	a.Usage = wire.Counted(providers.Usage{
		Input: int64(u.Input), Output: int64(u.Output), CacheRead: int64(u.Details.Cached), CacheWrite: int64(u.Details.Written),
		Reasoning: int64(u.OutputDetails.Reasoning),
	})
}

// outputItem has the fields of an item that are read.
type outputItem struct {
	Type    string `json:"type"`
	Content []struct {
		Type, Text, Refusal string
	} `json:"content"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// finish reads the answer as a whole. Text that was passed on already is not repeated.
func (r *responses) finish(a *wire.Answer, answer responsesAnswer) error {
	if answer.Error.Present() {
		return &answer.Error
	}
	if a.Stop = answer.Incomplete.Reason; a.Stop == "" {
		a.Stop = answer.Status
	}
	items := answer.Output
	if len(items) == 0 {
		items = r.items
	}
	told := a.Text() != ""
	refused := a.Refusal.Len() > 0
	var before []json.RawMessage // items before the next call
	for _, raw := range items {
		var it outputItem
		if err := json.Unmarshal(raw, &it); err != nil {
			return fmt.Errorf("read item: %w", err)
		}
		for _, part := range it.Content {
			if !refused {
				a.Refusal.WriteString(part.Refusal)
			}
			if it.Type == "message" && !told && part.Text != "" {
				if err := a.Say(part.Text); err != nil {
					return err
				}
			}
		}
		switch it.Type {
		case "function_call":
			call := a.Call(len(a.Calls))
			call.ID, call.Name, call.Extra = it.CallID, it.Name, r.keep(before)
			if err := a.Input(call, it.Arguments); err != nil {
				return err
			}
			before = nil
		case "reasoning", "message":
			before = append(before, raw)
		}
	}
	return nil
}

// keep returns the items that must be sent back, nil if none of them is reasoning.
func (r *responses) keep(items []json.RawMessage) json.RawMessage {
	for _, raw := range items {
		if typeOf(raw) != "reasoning" {
			continue
		}
		data, err := json.Marshal(items)
		if err != nil {
			return nil // impossible: they were read as JSON
		}
		return wire.Remember(r.model.spec.Provider, data)
	}
	return nil
}

func typeOf(raw json.RawMessage) string {
	var it outputItem
	_ = json.Unmarshal(raw, &it) // then it has no type
	return it.Type
}

// textOf returns the text of a message.
func textOf(raw json.RawMessage) string {
	var it outputItem
	if json.Unmarshal(raw, &it) != nil || it.Type != "message" {
		return ""
	}
	var text strings.Builder
	for _, part := range it.Content {
		text.WriteString(part.Text)
	}
	return text.String()
}

func textIn(data json.RawMessage) string {
	var text string
	_ = json.Unmarshal(data, &text) // then there is none
	return text
}
