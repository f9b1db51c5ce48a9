package langchain

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/convene-go/convene/providers"
)

// chat is OpenAI's format: chat completions.
type chat struct{}

// chatMessage is one message of a request.
type chatMessage struct {
	Role      string     `json:"role"`
	Content   string     `json:"content"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
	ToolID    string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Function chatFunction    `json:"function"`
	Extra    json.RawMessage `json:"extra_content,omitempty"`
}

type chatFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

func (chat) patch(ex *exchange, _ fields) (object, error) {
	req, v := ex.req, ex.model.vendor
	changes := object{
		"messages":              chatMessages(ex),
		"temperature":           nil, // unset, langchaingo sends 0, which some models refuse
		"max_tokens":            nil,
		"max_completion_tokens": nil,
	}
	if req.Temperature != nil {
		changes["temperature"] = *req.Temperature
	}
	if req.MaxTokens > 0 {
		changes[v.maxTokens] = req.MaxTokens
	}
	if ex.typed.format != nil {
		changes["response_format"] = ex.typed.format
	}
	if choice := chatChoice(req); choice != nil {
		changes["tool_choice"] = choice
	}
	if ex.streams() {
		changes["stream"] = true
		changes["stream_options"] = object{"include_usage": true}
	}
	return changes, nil
}

func chatChoice(req providers.Request) any {
	switch {
	case req.ToolChoice == "" || len(req.Tools) == 0:
		return nil
	case req.ToolChoice == "none" || req.ToolChoice == "required":
		return req.ToolChoice
	}
	return object{"type": "function", "function": object{"name": req.ToolChoice}}
}

func chatMessages(ex *exchange) []chatMessage {
	out := make([]chatMessage, 0, len(ex.req.Messages)+1)
	for _, m := range ex.req.Messages {
		if m.Role == providers.Assistant && m.Text == "" && len(m.ToolCalls) == 0 {
			continue // it said nothing, which some servers refuse
		}
		to := chatMessage{Role: string(m.Role), Content: m.Text, ToolCalls: chatCalls(ex, m.ToolCalls)}
		if m.Role == providers.ToolRole {
			to.ToolID = wireID(m.ToolID)
		}
		out = append(out, to)
	}
	if ex.typed.prompt == "" {
		return out
	}
	if len(out) == 0 || out[0].Role != string(providers.System) {
		return slices.Insert(out, 0, chatMessage{Role: string(providers.System), Content: ex.typed.prompt})
	}
	out[0].Content += "\n\n" + ex.typed.prompt
	return out
}

func chatCalls(ex *exchange, calls []providers.ToolCall) []chatCall {
	var out []chatCall
	for i, c := range calls {
		extra := ex.seenAgain(c)
		if extra == nil && ex.stamp && i == 0 { // the first of parallel calls has the thought
			extra = json.RawMessage(ex.model.vendor.unsigned)
		}
		out = append(out, chatCall{
			ID: wireID(c.ID), Type: "function", Extra: extra,
			Function: chatFunction{Name: c.Name, Arguments: arguments(c.Input)},
		})
	}
	return out
}

// chatAnswer is what is read of an answer.
type chatAnswer struct {
	Choices []*struct {
		Message struct {
			Refusal   string `json:"refusal"`
			ToolCalls []struct {
				ID       string          `json:"id"`
				Function chatFunction    `json:"function"`
				Extra    json.RawMessage `json:"extra_content"`
			} `json:"tool_calls"`
		} `json:"message"`
	} `json:"choices"`
	Usage chatUsage  `json:"usage"`
	Error vendorSays `json:"error"`
}

// chatUsage counts cached tokens as part of the prompt's.
type chatUsage struct {
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`
	Total      int64 `json:"total_tokens"`
	Details    struct {
		Cached int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	OutputDetails struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func (chat) read(ex *exchange, body []byte) wire {
	var a chatAnswer
	err := json.Unmarshal(body, &a)
	if ex.model.vendor.thoughtsLeft {
		a.Usage = a.Usage.withThoughts()
	}
	if err != nil {
		return wire{usage: a.Usage.usage(), err: err} // nothing else is sure
	}
	w := wire{usage: a.Usage.usage(), fault: a.Error}
	if len(a.Choices) == 0 || a.Choices[0] == nil {
		return w
	}
	said := a.Choices[0].Message
	w.refusal = said.Refusal
	for i, c := range said.ToolCalls {
		w.calls = append(w.calls, providers.ToolCall{
			ID:    cmp.Or(c.ID, ex.newID(i)),
			Name:  c.Function.Name,
			Input: toolInput(c.Function.Arguments),
			Extra: ex.remember(c.Extra),
		})
	}
	return w
}

func (u chatUsage) usage() providers.Usage {
	return counted(providers.Usage{
		Input: u.Prompt, Output: u.Completion, CacheRead: u.Details.Cached, Reasoning: u.OutputDetails.Reasoning,
	})
}

// withThoughts returns u with what the model thought as part of the completion,
// where only the total has it.
func (u chatUsage) withThoughts() chatUsage {
	if thought := u.Total - u.Prompt - u.Completion; thought > 0 {
		u.Completion += thought
		u.OutputDetails.Reasoning = max(u.OutputDetails.Reasoning, thought)
	}
	return u
}

func (chat) stream() assembler { return &chatStream{} }
